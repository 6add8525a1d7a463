"""Polygons that know capacities stay below the optimum and are no worse than polygons alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.protect.network.bounds.capacity_bound import CapacityProgram
from statveil.protect.network.bounds.cover_bound import dual_bound, shortages
from statveil.protect.network.bounds.polygon_bound import PolygonBlocks
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import NO_MULTIPLIERS
from tests.protect.network.bounds.covered import network_of, open_somewhere
from tests.protect.network.tables import small_hierarchies
from tests.protect.problems import problem_of
from tests.reference.cta import cheapest_cost


def bounds_of(problem: ProtectionProblem, worth: float) -> tuple[float, float]:
    """By polygons alone, and with capacities."""
    shortage, everything = shortages(problem), np.ones(problem.size, dtype=np.bool_)
    blocks = PolygonBlocks(problem, shortage, NO_MULTIPLIERS, worth=worth)
    blocks.raise_block(np.arange(problem.rhs.size), everything, seconds=60)
    program = CapacityProgram(problem, network_of(problem).relation[:-1], shortage, blocks.multipliers)
    proofs = program.rounds(seconds=60)
    aware = max((dual_bound(problem, proof, shortage, worth=worth) for proof in proofs), default=0.0)
    return dual_bound(problem, blocks.multipliers, shortage, worth=worth), aware


def test_a_cell_without_room_to_fall_cannot_take_up_a_rise():
    """1 + 1 + 50 = 52 with the first to rise by 10: the second can fall by 1 only, the third is dear, the total rises."""
    problem = problem_of(
        [1, 1, 50, 52], [[1, 1, 1, -1]], levels={0: 10}, lower=np.array([0, 0, 0, 0]), weight=np.array([1.0, 1.0, 5.0, 5.0])
    )
    polygons, aware = bounds_of(problem, np.inf)
    assert polygons == pytest.approx(20, rel=1e-3)  # by size alone the second cell could take it all
    assert aware == pytest.approx(cheapest_cost(problem), rel=1e-3)
    assert cheapest_cost(problem) == 10 + 1 + 45


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=small_hierarchies())
def test_bounds_stay_below_the_optimum(problem):
    if not open_somewhere(problem):
        return
    best = cheapest_cost(problem)
    for worth in (np.inf, best + 1.0) if np.isfinite(best) else (np.inf,):
        assert max(bounds_of(problem, worth)) <= best + 1e-6
