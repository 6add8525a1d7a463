"""The lifted bound: above that of cuts where signs of several relations hang together, never above the best there is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.limits import Limits
from statveil.formats.certificate import Alike
from statveil.protect.adjust import adjust_problem
from statveil.protect.bounds import lifted
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers, LiftedMultipliers, leaves_of, renumbered
from tests.protect.bounds.copies import bounds_of, three_way
from tests.protect.problems import small_problems
from tests.reference.cta import cheapest_cost


@pytest.mark.slow
def test_signs_of_several_relations_together_prove_more() -> None:
    problem = three_way()
    cuts, copies, certified = bounds_of(problem)
    assert copies > 1.02 * cuts
    assert certified is not None
    assert certified.bound == pytest.approx(copies, rel=1e-4)
    assert certified.bound <= adjust_problem(problem, method="exact", limits=Limits(seconds=60)).objective


def test_looks_that_would_take_all_the_time_leave_it_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a thousand copies once took ten of thirteen seconds for a bound that did not move, and the search had none."""
    clock = [0.0]
    monkeypatch.setattr(lifted.time, "monotonic", lambda: clock[0])

    def look() -> None:
        clock[0] += 1.0

    ascent = SimpleNamespace(look=look)
    assert not lifted._looked(ascent, end=4.0)  # type: ignore[arg-type]
    assert clock[0] == 1.0  # six looks of a second: given up after the first
    assert lifted._looked(ascent, end=7.0)  # type: ignore[arg-type]
    assert clock[0] == 7.0


@pytest.mark.slow
@given(small_problems(additive=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_never_above_the_best_there_is(problem: ProtectionProblem) -> None:
    if not reduce_problem(problem).feasible or (best := cheapest_cost(problem)) == float("inf") or best == 0:
        return
    _, copies, certified = bounds_of(problem, worth=best + 1)
    assert certified is not None
    assert certified.bound <= best * (1 + 1e-9)
    assert copies <= best * (1 + 1e-6)


def test_a_part_of_a_problem_in_the_numbers_of_the_whole() -> None:
    plain = DualMultipliers(np.zeros(0), np.array([1]), np.array([0]), np.array([2.0]))
    none = np.zeros((0, 3), dtype=np.int64)
    proof = LiftedMultipliers(plain, np.array([1, 0]), np.array([[3, 0], [0, 4]]), np.array([5, 6]), none, none, np.zeros(0))
    whole = renumbered(Alike(0, 1, proof, plain), rows=np.array([5, 2]), cells=np.array([7, 9]), count=6)
    assert isinstance(whole, Alike)
    assert (whole.cell, whole.other, len(leaves_of(whole))) == (7, 9, 2)
    same = whole.same
    assert isinstance(same, LiftedMultipliers)
    assert same.cells.tolist() == [9, 7]
    assert same.plain.cut_relation.tolist() == [2]
    assert same.copies[[5, 2]].tolist() == [[3, 0], [0, 4]]
    assert np.count_nonzero(same.copies) == 2
    assert same.bits[[5, 2]].tolist() == [5, 6]
