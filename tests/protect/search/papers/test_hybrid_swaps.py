"""Swaps between groups: conflicts apart, what moves as one together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from statveil.protect.search.papers import hybrid, hybrid_swaps
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of
from tests.protect.search.stories import search_of, two_by_two


def plain_score(sides: np.ndarray, group: np.ndarray) -> int:
    """Totals in common, pair by pair."""
    pairs = combinations(range(group.size), 2)
    return int(sum((sides[one] * sides[two]).sum() for one, two in pairs if group[one] == group[two]))


def test_swaps_bring_the_diagonals_together() -> None:
    """Dealt, each row is a group and its cells share the row's total; on the diagonals nothing is shared."""
    problem = two_by_two()
    before = hybrid_swaps.Swaps(hybrid_swaps.sides(problem), hybrid.deal(problem, 2))
    assert (before.group.tolist(), before.score) == ([0, 0, 1, 1], 2)
    group = hybrid_swaps.swapped_groups(search_of(problem), 2, seconds=60)
    assert group[0] == group[3] != group[1] == group[2]
    assert hybrid_swaps.Swaps(hybrid_swaps.sides(problem), group).score == 0


@pytest.mark.parametrize("seed", range(4))
def test_no_swap_of_two_cells_is_left_that_lowers_the_score(seed: int) -> None:
    problem = random_problem((5, 5), seed=seed, sensitive=0.6)
    sides = hybrid_swaps.sides(problem).toarray()
    dealt, group = hybrid.deal(problem, 3), hybrid_swaps.swapped_groups(search_of(problem), 3, seconds=60)
    assert np.array_equal(np.bincount(group), np.bincount(dealt))
    score = plain_score(sides, group)
    assert score == hybrid_swaps.Swaps(hybrid_swaps.sides(problem), group).score <= plain_score(sides, dealt)
    for one, two in combinations(range(group.size), 2):
        swapped = group.copy()
        swapped[one], swapped[two] = group[two], group[one]
        assert plain_score(sides, swapped) >= score


def test_a_part_and_its_total_do_not_conflict() -> None:
    """They stand on opposite sides of their relation: moving both the same way is what additivity wants. The parts conflict."""
    problem = problem_of([20, 30, 50], [[1, 1, -1]], levels={0: 4, 1: 5, 2: 6})
    assert hybrid_swaps.Swaps(hybrid_swaps.sides(problem), np.array([0, 1, 0])).score == 0
    assert hybrid_swaps.Swaps(hybrid_swaps.sides(problem), np.array([0, 0, 1])).score == 1


def test_a_cell_equal_to_its_total_shares_its_group_where_the_zero_beside_it_may_move() -> None:
    """S0's exception: 10 + 0 = 10, the zero open; 40 in the same column is dealt for itself. So is it where zeros are sensitive too."""
    rows = [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]]
    problem = problem_of([10, 0, 10, 40, 50], rows, levels={0: 2, 2: 2, 3: 8})
    assert hybrid.moved_as_one(problem).tolist() == [0, 0, 1]
    assert hybrid.deal(problem, 16).tolist() == [1, 1, 0]
    open_zero = problem_of([10, 0, 10, 40, 50], rows, levels={0: 2, 1: 1, 2: 2, 3: 8}, lower=np.full(5, -99))
    assert hybrid.moved_as_one(open_zero).tolist() == [0, 1, 0, 2]


def test_a_sum_moves_with_its_only_sensitive_part_whatever_the_other_holds() -> None:
    """30 and 50 are one; the two parts of 70 are both sensitive, and neither equals it."""
    problem = problem_of([30, 20, 50, 30, 40, 70], [[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]], levels={0: 3, 2: 5, 3: 3, 4: 4, 5: 7})
    assert hybrid.moved_as_one(problem).tolist() == [0, 0, 1, 2, 3]
    assert [count for count, _ in hybrid.group_counts(search_of(problem), 16, 8)] == [4]


def test_swaps_leave_together_what_moves_as_one() -> None:
    problem = problem_of([30, 20, 50, 60, 110], [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]], levels={0: 3, 2: 5, 3: 6, 4: 9})
    group = hybrid_swaps.swapped_groups(search_of(problem), 2, seconds=60)
    bundle = hybrid.moved_as_one(problem)
    assert all(np.unique(group[bundle == one]).size == 1 for one in bundle)
