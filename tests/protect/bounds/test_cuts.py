"""The bound by polygons and covers: what neighbours must bear of a cell that moves, and never more than the best table costs."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect.bounds.cuts import bound_by_cuts
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of, two_by_two
from tests.reference.cta import cheapest_cost


def bounded(problem: object, senses: np.ndarray) -> tuple[float, float]:
    """(what is proved, what the table of these senses costs)"""
    search = search_of(problem)  # type: ignore[arg-type]
    assert search.try_senses(senses)
    bound_by_cuts(search)
    return search.proved, search.objective


def test_a_lone_cell_takes_as_much_again_of_its_neighbours() -> None:
    problem = problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4})
    proved, cost = bounded(problem, np.array([1, 0, 0]))
    assert proved == pytest.approx(8)
    assert cost == 8


@pytest.mark.parametrize("make", [five_in_a_row, two_by_two])
def test_the_bound_is_never_above_the_best_of_all_senses(make: object) -> None:
    problem = make()  # type: ignore[operator]
    proved, _ = bounded(problem, problem.all_up())
    assert 0 < proved <= cheapest_cost(problem) + 1e-6


def test_levels_that_balance_cost_no_more_than_themselves() -> None:
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 4, 1: 4})
    proved, _ = bounded(problem, np.array([1, -1, 0]))
    assert proved == pytest.approx(8)
