"""A first table without a program: parts raised until every sensitive cell is far enough up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import Parts, parts_of
from statveil.protect.search.start.lift import lifted
from statveil_lab.tables import linked_problem
from tests.protect.problems import problem_of, small_problems


def lift(problem: ProtectionProblem) -> IntArray | None:
    parts = parts_of(problem)
    assert parts is not None
    return lifted(problem, parts)


def test_one_part_serves_the_cell_and_its_total() -> None:
    """The first part must rise by 4 and the total by 3: raising the first alone serves both."""
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4, 2: 3}))
    assert found is not None
    assert found.tolist() == [4, 0, 4]


def test_a_total_that_is_still_short_raises_one_of_its_parts() -> None:
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4, 2: 9}))
    assert found is not None
    assert found[0] >= 4
    assert found[2] == 9


def test_a_part_without_room_is_passed_over() -> None:
    """The total must rise by 5; the first part may rise by 2 only."""
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([12, 90, 90])))
    assert found is not None
    assert found.tolist() == [0, 5, 5]


def test_a_fixed_total_is_kept_by_lowering_another_part() -> None:
    found = lift(problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, upper=np.array([90, 90, 90, 60])))
    assert found is not None
    assert found.tolist() == [4, 0, -4, 0], "the part with most to spare gives"


def test_a_part_with_little_to_spare_gives_what_it_can() -> None:
    """The total is fixed; the second part can fall by 20, the third by 3."""
    found = lift(problem_of([90, 20, 3, 113], [[1, 1, 1, -1]], levels={0: 22}, upper=np.array([999, 90, 90, 113])))
    assert found is not None
    assert found.tolist() == [22, -20, -2, 0]


@pytest.mark.parametrize(
    "problem",
    [
        problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([12, 22, 90])),
        problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([90, 90, 32])),
        problem_of([30, 10, 20], [[1, -1, -1]], levels={1: 5}, lower=np.array([0, 0, 20]), upper=np.array([32, 90, 20])),
    ],
    ids=["no part has room", "the cell cannot go up", "the total has no room and the other part cannot move"],
)
def test_no_table_where_there_is_no_room(problem: ProtectionProblem) -> None:
    assert lift(problem) is None


def test_no_table_where_sums_subtract() -> None:
    """A profit, turnover less costs, falls when the costs rise."""
    problem = problem_of([30, 20, 10], [[1, -1, -1]], levels={0: 3, 2: 3})
    profit = Parts(part=np.array([0, 1]), sums=csr_matrix(np.array([[1, 0], [0, 1], [1, -1]])), constant=np.zeros(3, dtype=np.int64))
    assert lifted(problem, profit) is None


def test_linked_codes_in_three_dimensions() -> None:
    """2,197 cells with overlapping codes, bounds at twice the value: safe in exact integers."""
    problem = linked_problem(3, seed=1)
    found = lift(problem)
    assert found is not None
    assert problem.accepts(found)
    assert (found >= 0).all()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_whatever_it_finds_is_safe(problem: ProtectionProblem) -> None:
    parts = parts_of(problem)
    found = None if parts is None else lifted(problem, parts)
    assert found is None or problem.accepts(found)
