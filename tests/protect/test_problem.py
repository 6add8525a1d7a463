"""The problem's own facts: what its bounds allow."""

from __future__ import annotations

import numpy as np

from statveil.protect.options import NO_LIMIT
from tests.protect.problems import problem_of

LARGEST = 2**53 - 1


def test_a_cell_near_the_largest_exact_number_cannot_pass_it_though_it_has_no_bound():
    free = np.full(3, NO_LIMIT)
    problem = problem_of([LARGEST - 7, -LARGEST + 7, 5], [[1, 1, 0]], levels={0: 20}, lower=-free, upper=free)
    assert problem.free.high.tolist() == [7, NO_LIMIT, NO_LIMIT]
    assert problem.free.low.tolist() == [-NO_LIMIT, -7, -NO_LIMIT]
    assert not problem.can_go_up[0]
    assert problem.can_go_down[0]


def test_a_bound_that_is_given_counts_where_it_is_tighter():
    problem = problem_of([LARGEST - 7], [[1]], levels={}, lower=np.array([0]), upper=np.array([LARGEST - 5]))
    assert problem.free.high.tolist() == [2]


def test_all_up_and_all_down_leave_cells_the_only_way_they_have():
    """A level of 3 is more than a value of 2, which cannot fall below zero; and one that has no room cannot rise."""
    problem = problem_of([20, 2, 30, 52], [[1, 1, 1, -1]], levels={0: 3, 1: 3, 2: 3}, upper=np.array([NO_LIMIT, NO_LIMIT, 30, NO_LIMIT]))
    assert problem.all_up().tolist() == [1, 1, -1, 0]
    assert problem.all_down().tolist() == [-1, 1, -1, 0]
