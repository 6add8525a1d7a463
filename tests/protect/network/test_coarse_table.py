"""The coarse table: which cells are totals of inner rows, what merging costs, and that its bound holds for the whole table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.protect.network.bounds.capacity_bound import CoarseBound
from statveil.protect.network.bounds.cover_bound import dual_bound, shortages
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.problem import ProtectionProblem
from tests.protect.network.bounds.covered import network_of, open_somewhere
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.reference.cta import cheapest_cost

RELAXED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROOT, FIRST, SECOND = range(3), range(3, 6), range(6, 9)
"""The cells of the root and of the two inner rows of `small_hierarchy`, the total of the columns last."""


def coarse_of(problem: ProtectionProblem) -> Coarsening:
    return Coarsening(problem, network_of(problem))


def cheapest_coarse(coarse: Coarsening) -> float:
    """By every choice of the totals' senses, with the levels of the merged sensitive cells."""
    program, problem = coarse.program(), coarse.table.problem
    choices = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    best = np.inf
    for signs in product((1, -1), repeat=choices.size):
        senses = problem.all_up()
        senses[choices] = signs
        if program.solve(senses) is not None:
            best = min(best, program.value)
    whole = coarse.problem
    inside = whole.sensitive & ~coarse.totals
    least = np.minimum(np.where(whole.can_go_up, whole.up.low, 2**60), np.where(whole.can_go_down, -whole.down.high, 2**60))
    return best + float(whole.weight[inside] @ least[inside])


def test_the_totals_are_the_cells_of_root_and_inner_rows() -> None:
    coarse = coarse_of(small_hierarchy(levels={9: 3}))
    assert np.flatnonzero(coarse.totals).tolist() == [*ROOT, *FIRST, *SECOND]


def test_a_subtable_is_one_row_in_the_coarse_table() -> None:
    """Nine totals, and for each of the two subtables one merged cell a column: 9 + 2 * 3."""
    table = coarse_of(small_hierarchy(levels={0: 5})).table
    assert table.problem.size == 9 + 2 * 3
    assert not table.free.any()


def test_a_sensitive_leaf_may_be_anywhere_between_its_levels_at_no_cost() -> None:
    """Cell 9 is in the first column of the first subtable; its level of 3 is free both ways, what is beyond is a further cell."""
    table = coarse_of(small_hierarchy(levels={9: 3})).table
    (free,) = np.flatnonzero(table.free)
    assert (table.problem.lower[free], table.problem.upper[free]) == (-3, 3)


def test_a_total_with_leaves_to_move_costs_the_same_coarse_and_whole() -> None:
    problem = small_hierarchy(levels={3: 7})
    assert cheapest_coarse(coarse_of(problem)) == cheapest_cost(problem)


@RELAXED
@given(problem=small_hierarchies())
def test_the_coarse_table_costs_at_most_what_the_whole_does(problem: ProtectionProblem) -> None:
    if open_somewhere(problem):
        assert cheapest_coarse(coarse_of(problem)) <= cheapest_cost(problem) * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@RELAXED
@given(problem=small_hierarchies())
def test_the_coarse_bound_holds_for_the_whole_table(problem: ProtectionProblem) -> None:
    coarse, shortage = coarse_of(problem), shortages(problem)
    if not (open_somewhere(problem) and (problem.sensitive & coarse.totals).any()):
        return
    best = cheapest_cost(problem)
    multipliers = CoarseBound(coarse, shortage).multipliers(seconds=60)
    if multipliers is not None:
        assert dual_bound(problem, multipliers, shortage) <= best + 1e-6


def test_the_coarse_bound_knows_what_moves_with_a_total() -> None:
    """The first inner row's first cell moves by 7, the one beside it the other way; so do a leaf below and the root above each: 42."""
    problem = small_hierarchy(levels={3: 7})
    coarse, shortage = coarse_of(problem), shortages(problem)
    multipliers = CoarseBound(coarse, shortage).multipliers(seconds=60)
    assert multipliers is not None
    assert dual_bound(problem, multipliers, shortage) > 0.999 * cheapest_cost(problem)
    assert cheapest_cost(problem) == 42
