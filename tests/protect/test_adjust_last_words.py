"""What a run says at its end: the last event tells what is answered, and advice names only what was set."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.audit.certificate_checker import check_bound
from statveil.core.limits import Ending, Limits, Progress
from statveil.protect import adjust
from statveil.protect.adjust import adjust_problem
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.components import components_of
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.run_record import RunRecord
from statveil.solve.processes import Halt
from tests.protect.problems import problem_of


@pytest.mark.slow
def test_the_last_event_tells_the_answer_and_that_no_time_is_left() -> None:
    heard: list[Progress] = []
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5})
    found = adjust_problem(problem, limits=Limits(seconds=60), on_progress=heard.append)
    assert (heard[-1].objective, heard[-1].bound, heard[-1].seconds_left) == (found.objective, found.bound, 0.0)
    assert heard[-1].seconds <= found.seconds


def test_so_does_that_of_a_run_stopped_before_its_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjust, "_made_ready", lambda *_: Halt.INTERRUPTED)
    heard: list[Progress] = []
    found = adjust_problem(problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5}), on_progress=heard.append)
    assert (heard[-1].objective, heard[-1].bound, heard[-1].seconds_left) == (found.objective, 5.0, 0.0)
    assert heard[-1].stage == "stopped before a search"


def test_its_certificate_proves_what_levels_cost_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for a certificate, such a run ended without any file."""
    monkeypatch.setattr(adjust, "_made_ready", lambda *_: Halt.INTERRUPTED)
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5, 1: 3}, weight=np.array([1.0, 0.5, 2.0]))
    found = adjust_problem(problem)
    assert found.certificate is not None
    assert found.certified_bound == 5 + 3 * 0.5 == check_bound(problem, found.certificate)
    assert found.ending is Ending.FEASIBLE


def test_nobody_is_told_to_widen_bounds_that_nobody_set() -> None:
    free = {"lower": np.zeros(3, dtype=np.int64), "upper": np.full(3, NO_LIMIT)}
    frozen = {"lower": np.array([0, 50, 0]), "upper": np.array([NO_LIMIT, 50, NO_LIMIT])}
    bounded = {"lower": np.zeros(3, dtype=np.int64), "upper": np.array([60, NO_LIMIT, NO_LIMIT])}
    both = {"lower": np.array([0, 50, 0]), "upper": np.array([60, 50, NO_LIMIT])}
    for bounds, words in (
        (free, "Lower the levels"),
        ({**free, "variant": "exact"}, "Let sensitive cells move by more than their level (variant 'at-least')"),
        (frozen, "Free frozen cells"),
        (bounded, "Widen the bounds or the cap"),
        (both, "Widen the bounds or the cap, or free frozen cells"),
    ):
        problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5}, **bounds)
        assert adjust._ways_out(problem) == words
        assert adjust._is_bounded(problem) == ("bounds" in words)


@pytest.mark.parametrize(("infeasible", "passed", "given"), [(True, 4.0, 7.0), (True, 12.0, 1.0), (False, 12.0, 1.0), (True, 0.0, 11.0)])
def test_why_there_is_no_table_is_looked_for_within_the_limit(
    monkeypatch: pytest.MonkeyPatch, infeasible: bool, passed: float, given: float
) -> None:
    """What is left of ten seconds, and a second beyond: a clash once took thirty, whatever the limit."""
    asked: list[float] = []
    monkeypatch.setattr("statveil.protect.infeasible.explain.explain", lambda _, seconds: asked.append(seconds))
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5})
    record = RunRecord(Limits(seconds=10), None)
    reduction = reduce_problem(problem)
    record.expect(reduction, components_of(reduction.problem))
    record.infeasible = infeasible
    monkeypatch.setattr(RunRecord, "seconds", passed)
    adjust._no_table(problem, record, Halt.OUT_OF_TIME, Limits(seconds=10))
    assert asked == [pytest.approx(given)]
