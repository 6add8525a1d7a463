"""One clock: whoever works for a plan gets no more than what is left of its time, and parameters of the searches are the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.records import plan as plan_module
from statveil.records.coding import code_file
from statveil.records.recode.branch_and_bound import RecodingBoxSearch
from statveil.records.recode.evaluate import Evaluator
from statveil.records.recode.local_search import RecodingSpace, annealing, tabu
from statveil.records.suppress import integer_programs, wildcard_bound
from tests.records.stories import halves, microdata, random_records, released
from tests.reference.files import tables_up_to, unsafe

ROWS = random_records(7, records=80, sizes=(6, 5, 4, 2))
SIZES = dict(zip("abcd", (6, 5, 4, 2), strict=True))


def keys(**settings: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields={name: halves(size) for name, size in SIZES.items()}, **{"threshold": 3, "order": 3, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["recount", "wildcard"])
def test_a_solver_gets_no_more_than_the_time_that_is_left(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grace of five seconds, and a second at least, were added for each of many solvers: 22 s of 10 s, and no end at 200 s of 60."""
    given: list[float] = []
    for module in (integer_programs, wildcard_bound):
        real: Callable[..., Any] = module.run_isolated
        monkeypatch.setattr(module, "run_isolated", lambda calls, seconds, on_message, real=real: (
            given.append(seconds), real(calls, seconds=seconds, on_message=on_message)))  # fmt: skip
    sv.plan_recoding(microdata(ROWS[:30]), keys(rule=rule, order=2), limits=sv.Limits(seconds=20))
    assert given
    assert max(given) <= 20


@pytest.mark.parametrize("rule", ["original", "recount"])
@pytest.mark.parametrize("method", ["auto", "tabu", "restricted"])
def test_without_time_there_is_a_safe_plan_with_a_bound(rule: str, method: str) -> None:
    coded = code_file(microdata(ROWS), keys(rule=rule))
    plan = sv.plan_recoding(coded, method=method, limits=sv.Limits(seconds=1e-6))
    assert unsafe(*released(plan), tables_up_to(4, 3, 3), rule) == 0
    assert 0 < plan.bound <= plan.cost


@pytest.mark.parametrize(("rule", "kept"), [("original", False), ("recount", True)])
def test_where_counting_is_slow_the_search_leaves_time_for_recounts(rule: str, kept: bool) -> None:
    """600,000 records ended 3 s after their 10 on a busy machine, where each recount took two seconds."""
    planning = plan_module._Planning(
        code_file(microdata(ROWS), keys(rule=rule)), sv.Limits(seconds=60), 0, None, plan_module.time.monotonic()
    )
    assert not planning._searched()
    planning.counting = 11.0
    assert planning._searched() == kept


def test_a_recoding_is_priced_once() -> None:
    """Priced again when its time was up, it had a lower bound, which the proof could not go beyond."""
    evaluator, bounds = Evaluator(coded=code_file(microdata(ROWS), sv.KeyVariables(fields=dict.fromkeys("abcd")))), [4.0, 2.0]
    search = RecodingBoxSearch(evaluator=evaluator, leaf=lambda _levels: (5.0, bounds.pop(0)), blanks=lambda _levels: 1.0,
                               stopped=lambda: False, on_bound=lambda _bound: None)  # fmt: skip
    search.offer((0, 0, 0, 0))
    assert search.run()
    assert (search.value, search.bound, bounds) == (5.0, 4.0, [2.0])


def test_the_time_of_reading_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock starts with the call, not with the search: after a slow reading the rest is short."""
    ticks = iter([0.0])
    monkeypatch.setattr(plan_module.time, "monotonic", lambda: next(ticks, 1e6))
    plan = sv.plan_recoding(microdata(ROWS), keys())
    assert plan.seconds == 1e6
    assert not plan.facts["proved"]


def test_parameters_of_the_searches_are_the_users() -> None:
    coded = code_file(microdata(ROWS), keys())

    def evaluations(method: str, **options: Any) -> int:
        search = sv.recode.RecodingSearchOptions(**options)
        return int(sv.plan_recoding(coded, method=method, search=search, seed=1).facts["searched"])

    assert evaluations("annealing", steps=1) < evaluations("annealing", steps=40)
    assert evaluations("tabu", patience=1) < evaluations("tabu", patience=200)
    assert evaluations("repeated-improvement", restarts=1) < evaluations("repeated-improvement", restarts=10)


def test_heat_leads_annealing_and_a_long_tenure_tabu_search_out_of_a_valley() -> None:
    """Prices rise from a corner of a square of levels: how far each gets from there."""

    def farthest(search: Callable[[RecodingSpace, tuple[int, ...]], object], **options: Any) -> int:
        seen: list[int] = []

        def price(levels: tuple[int, ...]) -> float:
            seen.append(sum(levels))
            return float(sum(levels))

        rng, chosen = np.random.default_rng(0), sv.recode.RecodingSearchOptions(**options)
        search(RecodingSpace(menu=(10, 10), price=price, rng=rng, options=chosen), (0, 0))
        return max(seen)

    assert farthest(annealing, hottest=1e-6, coldest=1e-6) == 1
    assert farthest(annealing, hottest=100.0, coldest=100.0) > 10
    assert farthest(tabu, tenure=1, patience=15) < farthest(tabu, tenure=50, patience=15)


@pytest.mark.parametrize("wrong", [{"restarts": 0}, {"tenure": 0}, {"patience": 1.5}, {"steps": True}, {"coldest": 0.0}, {"hottest": 1e-9}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(sv.InputError):
        sv.recode.RecodingSearchOptions(**wrong)
