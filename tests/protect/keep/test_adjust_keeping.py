"""From a problem and wishes to a verified table, or to an error that names the wish."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.core.errors import InfeasibleProblem, InputError, NoTableFound, OutOfTime
from statveil.protect.keep import adjust_keeping as keeping
from statveil.protect.keep import programs, verdict
from statveil.protect.keep.adjust_keeping import adjust_keeping
from statveil.protect.keep.keeping_search import ENDED, NOT_WHOLE, KeepingMessage, KeepingTask, search_keeping
from statveil.protect.keep.problems import with_cap
from statveil.protect.keep.tabu import search
from statveil.protect.keep.wishes import targets_of
from statveil.solve.processes import Halt
from tests.protect.keep.tables import AMPLE, small_table

S = "sensitive"


def end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search in this process end by itself after a few kicks."""
    monkeypatch.setattr(search, "TUNING", search.TUNING._replace(fruitless=3))


def search_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a table is looked for: what is refused at once needs none."""

    def looked_for(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(keeping, "_plain", looked_for)
    monkeypatch.setattr(verdict, "TUNING", verdict.TUNING._replace(share=1.0, most_seconds=300.0))


@pytest.mark.slow
def test_the_mean_is_kept_to_the_unit() -> None:
    problem = small_table()
    found = sv.adjust(problem, keep=sv.keep.Keep(mean=S, by="programs"), limits=AMPLE)
    assert problem.accepts(found.deviation)
    assert found.deviation[problem.sensitive].sum() == 0
    assert found.quality is not None
    assert found.quality.kept[0].mean_off == 0
    assert found.quality.price >= 0
    assert "mean kept exactly" in found.quality.in_words()[0]


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_keeping_is_no_worse_than_the_plain_table_in_what_is_kept() -> None:
    problem = small_table()
    found = sv.adjust(problem, keep=sv.keep.Keep(slope=S), limits=AMPLE, method=sv.Method(seed=1))
    assert found.quality is not None
    (plain,), (kept,) = found.quality.plain, found.quality.kept
    assert abs(kept.slope - 1) <= abs(plain.slope - 1)
    assert found.objective >= found.quality.plain_objective
    assert found.bound <= found.quality.plain_objective


@pytest.mark.slow
@pytest.mark.shared
def test_a_mean_that_cannot_be_kept_is_named_with_what_to_widen(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    search_nothing(monkeypatch)
    with pytest.raises(InfeasibleProblem, match="mean of the sensitive cells cannot be kept within the bounds") as failure:
        sv.adjust(problem, keep=sv.keep.Keep(mean=S), method="exact", limits=AMPLE)
    assert "further than exactly their levels" in failure.value.hint


@pytest.mark.slow
@pytest.mark.shared
def test_caps_are_widened_step_by_step_and_that_is_said(shared_data: Path) -> None:
    problem = dataclasses.replace(sv.read_jj(shared_data / "csplib" / "cox_kelly_4x9.jj"), variant="exact")
    keep = sv.keep.Keep(mean=S, widen=(1.5, 2), by="programs")
    found = sv.adjust(problem, keep=keep, method="exact", limits=AMPLE)
    assert found.quality is not None
    assert found.quality.cap == 1.5
    assert any("1.5 times their level" in line for line in found.quality.in_words())
    assert with_cap(problem, 1.5).accepts(found.deviation)
    assert (np.abs(found.deviation) <= np.maximum(problem.upper_level * 3 // 2, 0))[problem.sensitive].all()


def narrow_table() -> sv.ProtectionProblem:
    problem = small_table()
    value = problem.value
    return dataclasses.replace(
        problem,
        lower=np.where(problem.sensitive, value - problem.lower_level, value - value // 2),
        upper=np.where(problem.sensitive, value + problem.upper_level, value + value // 2),
    )


@pytest.mark.slow
def test_a_slope_out_of_reach_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of half the value and bounds at the levels: each of the eight choices of senses leaves the slope far from one."""
    search_nothing(monkeypatch)
    with pytest.raises(InfeasibleProblem, match=r"slope of the sensitive cells cannot be kept .* no safe table comes nearer"):
        sv.adjust(narrow_table(), keep=sv.keep.Keep(slope=S, within=0.001), limits=AMPLE)


@pytest.mark.slow
def test_a_search_starts_from_any_safe_table_and_refuses_others(monkeypatch: pytest.MonkeyPatch) -> None:
    end_soon(monkeypatch)
    problem = small_table()
    plain = sv.adjust(problem, limits=AMPLE)
    found = adjust_keeping(problem, sv.keep.Keep(slope=S, by="tabu"), limits=AMPLE, table=plain.deviation)
    assert problem.accepts(found.deviation)
    with pytest.raises(InputError, match="not a safe table"):
        adjust_keeping(problem, sv.keep.Keep(slope=S), limits=AMPLE, table=np.zeros(12, dtype=np.int64))


@pytest.mark.slow
def test_a_function_of_the_users_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    end_soon(monkeypatch)

    def largest_moves(true: np.ndarray, released: np.ndarray) -> float:
        return abs(float(released[4] - true[4])) / 100

    problem = small_table()
    found = sv.adjust(problem, keep=sv.keep.Keep(measures=[largest_moves]), limits=AMPLE)
    assert found.quality is not None
    ((name, plain, kept),) = found.quality.measures
    assert name == "largest_moves"
    assert kept <= plain
    assert problem.accepts(found.deviation)


class Scripted:
    """In place of the child: these messages, and this end."""

    def __init__(self, *messages: KeepingMessage, halt: Halt = Halt.FINISHED) -> None:
        self.messages, self.halt, self.caps = messages, halt, list[np.ndarray]()

    def __call__(self, calls: Any, *, seconds: float, on_message: Callable[[Any], object]) -> Halt:
        ((_, (task,)),) = calls
        self.caps.append(task.problem.upper)
        for each in self.messages:
            on_message(each)
        return self.halt


def ask_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing could be proved beforehand."""
    monkeypatch.setattr(keeping, "refuse_the_impossible", lambda *_, **__: None)


CLOSE = sv.keep.Keep(slope=S, within=0.001, widen=(2, 3))


@pytest.mark.slow
def test_lack_of_time_is_not_called_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cap that the user allows has its share of the time; where all are used up, that is what is said."""
    ask_no_verdict(monkeypatch)
    child = Scripted(KeepingMessage("tabu search"))  # it stops itself at its limit, so it has finished, but it has not tried all
    monkeypatch.setattr(keeping, "run_isolated", child)
    with pytest.raises(OutOfTime, match="No table that keeps the slope"):
        sv.adjust(narrow_table(), keep=CLOSE, limits=AMPLE)
    assert [int(upper[0]) for upper in child.caps] == [110, 120, 130]


@pytest.mark.slow
def test_a_search_that_tried_all_goes_on_to_wider_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_no_verdict(monkeypatch)
    child = Scripted(KeepingMessage(ENDED))
    monkeypatch.setattr(keeping, "run_isolated", child)
    with pytest.raises(NoTableFound, match="No table was found that keeps the slope"):
        sv.adjust(narrow_table(), keep=CLOSE, limits=AMPLE)
    assert [int(upper[0]) for upper in child.caps] == [110, 120, 130]


@pytest.mark.slow
def test_a_hint_does_not_repeat_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_no_verdict(monkeypatch)
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage(ENDED)))
    with pytest.raises(NoTableFound) as tried:
        sv.adjust(narrow_table(), keep=CLOSE, limits=AMPLE)
    assert "beyond the 3 levels tried" in tried.value.hint
    assert "Keep(widen" not in tried.value.hint
    keep = dataclasses.replace(CLOSE, widen=())
    with pytest.raises(NoTableFound) as together:
        adjust_keeping(narrow_table(), keep, targets=targets_of(keep, narrow_table()), limits=AMPLE)
    assert together.value.hint.startswith("Give the options wider bounds or a wider cap.")


@pytest.mark.slow
def test_ctrl_c_does_not_go_on_to_wider_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_no_verdict(monkeypatch)
    child = Scripted(halt=Halt.INTERRUPTED)
    monkeypatch.setattr(keeping, "run_isolated", child)
    with pytest.raises(OutOfTime, match="Stopped before a table was found that keeps the slope"):
        sv.adjust(narrow_table(), keep=CLOSE, limits=AMPLE)
    assert len(child.caps) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("by", "seconds", "ended"), [("programs", 300.0, True), ("programs", 0.0, False), ("tabu", 0.0, False)])
def test_a_child_says_whether_it_ended_by_itself(by: Any, seconds: float, ended: bool) -> None:
    problem, keep = small_table(), sv.keep.Keep(slope=S, by=by)
    plain = sv.adjust(problem, limits=AMPLE)
    heard: list[KeepingMessage] = []
    search_keeping(KeepingTask(problem, targets_of(keep, problem), keep, plain.deviation, plain.objective, seconds, 0), heard.append)
    assert (KeepingMessage(ENDED) in heard) is ended


AS_CLOSE_AS_CAN_BE = sv.keep.Keep(slope=S, by="programs")


@pytest.mark.slow
def test_a_child_says_that_no_solution_could_be_made_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "make_whole", lambda *_, **__: None)
    problem, keep = small_table(), AS_CLOSE_AS_CAN_BE
    plain = sv.adjust(problem, limits=AMPLE)
    heard: list[KeepingMessage] = []
    search_keeping(KeepingTask(problem, targets_of(keep, problem), keep, plain.deviation, plain.objective, 300.0, 0), heard.append)
    assert KeepingMessage(NOT_WHOLE) in heard
    assert all(each.table is None for each in heard)


@pytest.mark.slow
def test_a_solution_that_cannot_be_made_whole_is_an_error_and_not_the_plain_table(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_no_verdict(monkeypatch)
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage(NOT_WHOLE), KeepingMessage(ENDED)))
    with pytest.raises(OutOfTime, match="no whole table was found next to their solution") as failure:
        sv.adjust(small_table(), keep=AS_CLOSE_AS_CAN_BE, limits=AMPLE)
    assert "by='both'" in failure.value.hint
    with pytest.raises(OutOfTime, match="keep the slope of the sensitive cells, but no whole table"):
        sv.adjust(narrow_table(), keep=sv.keep.Keep(slope=S, within=0.001), limits=AMPLE)


@pytest.mark.slow
def test_programs_that_came_to_nothing_in_time_are_an_error_and_not_the_plain_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage("linear programs"), halt=Halt.OUT_OF_TIME))
    with pytest.raises(OutOfTime, match="No table that keeps what is asked was found within 300 seconds"):
        sv.adjust(small_table(), keep=AS_CLOSE_AS_CAN_BE, limits=AMPLE)


@pytest.mark.slow
def test_a_table_found_without_the_programs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage(NOT_WHOLE), KeepingMessage("tabu search"), KeepingMessage(ENDED)))
    found = sv.adjust(small_table(), keep=sv.keep.Keep(slope=S), limits=AMPLE)
    assert found.quality is not None
    assert any("WITHOUT THE LINEAR PROGRAMS" in line for line in found.quality.in_words())


@pytest.mark.slow
def test_where_the_table_of_the_programs_is_no_better_the_plain_one_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_table()
    plain = sv.adjust(problem, limits=AMPLE)
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage("programs", plain.deviation), KeepingMessage(ENDED)))
    found = adjust_keeping(problem, AS_CLOSE_AS_CAN_BE, limits=AMPLE, table=plain.deviation)
    assert found.quality is not None
    assert (found.quality.found_by, found.quality.without_programs) == ("plain", False)


def far_off(problem: sv.ProtectionProblem) -> np.ndarray:
    """A safe table that changes more than it needs to: the plain one and a rectangle on top."""
    deviation = sv.adjust(problem, limits=AMPLE).deviation.copy()
    by = 20 if deviation[5] > 0 else -20
    deviation[[5, 2]] += by
    deviation[[6, 1]] -= by
    assert problem.accepts(deviation)
    return deviation


def all_changes(true: np.ndarray, released: np.ndarray) -> float:
    return float(np.abs(released - true).sum()) / 1000


@pytest.mark.slow
def test_an_own_function_whose_search_ended_is_no_lack_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_no_verdict(monkeypatch)
    end_soon(monkeypatch)
    keep = sv.keep.Keep(slope=S, within=0.001, measures=[all_changes], by="tabu")
    with pytest.raises(NoTableFound, match="No table was found that keeps the slope"):
        sv.adjust(narrow_table(), keep=keep, limits=AMPLE)


@pytest.mark.slow
def test_a_slow_function_of_the_users_own_keeps_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is the function's own: each call takes two hundredths of a second of it."""
    calls = 0

    def slow(true: np.ndarray, released: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return all_changes(true, released)

    problem = small_table()
    start = far_off(problem)
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: 0.02 * calls))
    found = adjust_keeping(problem, sv.keep.Keep(measures=[slow]), table=start, limits=sv.Limits(seconds=1))
    assert calls < 100  # fifty in a second, not two thousand looks
    assert problem.accepts(found.deviation)


@pytest.mark.slow
def test_ctrl_c_in_a_function_of_the_users_own_keeps_what_was_found() -> None:
    calls = 0

    def stopped(true: np.ndarray, released: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        if calls == 150:
            raise KeyboardInterrupt
        return all_changes(true, released)

    problem = small_table()
    found = adjust_keeping(problem, sv.keep.Keep(measures=[stopped]), table=far_off(problem), limits=AMPLE)
    assert found.quality is not None
    ((_, before, after),) = found.quality.measures
    assert after < before
    assert calls < 200


def writes_true(true: np.ndarray, released: np.ndarray) -> float:
    true[:] = 0
    return 0.0


def writes_released(true: np.ndarray, released: np.ndarray) -> float:
    released.sort()
    return 0.0


@pytest.mark.parametrize("measure", [writes_true, writes_released])
def test_an_own_function_cannot_change_the_values(measure: Any) -> None:
    problem = small_table()
    with pytest.raises(InputError, match=f"'{measure.__name__}' changes the values it is given"):
        sv.adjust(problem, keep=sv.keep.Keep(measures=[measure]), limits=AMPLE)
    assert (problem.value == small_table().value).all()


@pytest.mark.parametrize("answer", [None, "0.5", float("nan"), -1.0, np.zeros(2)], ids=["none", "text", "nan", "negative", "two"])
def test_what_an_own_function_may_answer_is_said_before_anything_is_searched(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(true: np.ndarray, released: np.ndarray) -> Any:
        return answer

    search_nothing(monkeypatch)
    with pytest.raises(InputError, match="the measure 'odd' must be a number, zero or more"):
        sv.adjust(small_table(), keep=sv.keep.Keep(measures=[odd]), limits=AMPLE)


def test_an_own_function_that_fails_at_once_is_named_and_its_words_are_not_repeated() -> None:
    def failing(true: np.ndarray, released: np.ndarray) -> float:
        raise RuntimeError(f"{true[0]} is secret")

    with pytest.raises(InputError, match="the measure 'failing' ended in an error: RuntimeError") as failure:
        sv.adjust(small_table(), keep=sv.keep.Keep(measures=[failing]), limits=AMPLE)
    assert "secret" not in str(failure.value)


@pytest.mark.slow
@pytest.mark.parametrize("late", ["raises", "nan"])
def test_an_own_function_that_fails_late_leaves_the_best_table_found(late: str) -> None:
    """After 150 calls it fails for good: the table found so far is kept, with its figures, and the measure is named."""
    calls = 0

    def worn_out(true: np.ndarray, released: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        if calls > 150:
            if late == "raises":
                raise RuntimeError
            return float("nan")
        return all_changes(true, released)

    problem = small_table()
    found = adjust_keeping(problem, sv.keep.Keep(measures=[worn_out]), table=far_off(problem), limits=AMPLE)
    assert found.quality is not None
    ((_, before, after),) = found.quality.measures
    assert after == all_changes(problem.value, problem.value + found.deviation) < before
    assert any("the measure 'worn_out'" in line and "STOPPED EARLY" in line for line in found.quality.in_words())
    assert calls < 160


@pytest.mark.slow
@pytest.mark.usefixtures("ends_soon")
def test_a_function_that_fails_before_a_table_was_found_is_the_reason_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain table misses the slope; the programs' table, which would do, cannot be judged."""
    calls = 0

    def twice(true: np.ndarray, released: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError
        return 0.0

    problem = small_table()
    good = sv.adjust(problem, keep=sv.keep.Keep(slope=S, within=0.01), limits=AMPLE).deviation
    monkeypatch.setattr(keeping, "run_isolated", Scripted(KeepingMessage("programs", good), KeepingMessage(ENDED)))
    with pytest.raises(InputError, match="'twice' ended in an error"):
        adjust_keeping(problem, sv.keep.Keep(slope=S, within=0.01, measures=[twice]), table=far_off(problem), limits=AMPLE)


@pytest.mark.parametrize("name", ["chi-square", "cramers-v"])
def test_a_two_way_measure_without_its_layout_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search_nothing(monkeypatch)
    with pytest.raises(InputError, match="need a two-way table"):
        sv.adjust(small_table(), keep=sv.keep.Keep(measures=[name]), limits=AMPLE)


@pytest.mark.parametrize("layout", [[0, 1], "x", [[0.5, 1.0]], [[0, 1], [2]], [[0, -2]], np.zeros((0, 3), dtype=int)])
def test_what_is_no_layout_is_refused(layout: Any) -> None:
    for measure in (sv.keep.chi_square, sv.keep.cramers_v):
        with pytest.raises(InputError, match="layout"):
            measure(layout)


def test_a_layout_of_cells_that_do_not_exist_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    search_nothing(monkeypatch)
    with pytest.raises(InputError, match="names a cell that does not exist"):
        sv.adjust(small_table(), keep=sv.keep.Keep(measures=[sv.keep.chi_square([[0, 1], [4, 12]])]), limits=AMPLE)


def test_nothing_to_keep_is_a_plain_table() -> None:
    nothing = dataclasses.replace(small_table(), sensitive=np.zeros(12, dtype=np.bool_))
    found = sv.adjust(nothing, keep=sv.keep.Keep(mean=S, slope=S), limits=AMPLE)
    assert (found.objective, found.quality) == (0.0, None)


@pytest.mark.slow
def test_the_mean_of_one_sensitive_cell_is_refused_with_the_reason() -> None:
    one = dataclasses.replace(small_table(), sensitive=np.arange(12) == 4)
    with pytest.raises(InfeasibleProblem, match="one cell, which must move"):
        sv.adjust(one, keep=sv.keep.Keep(mean=S, slope=S), limits=AMPLE)
    found = sv.adjust(one, keep=sv.keep.Keep(slope=S), limits=AMPLE)
    assert one.accepts(found.deviation)
