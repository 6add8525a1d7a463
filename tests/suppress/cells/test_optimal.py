"""The optimal pattern is the one that trying everything finds."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.suppress.cells.suppress import suppress_cells
from tests.reference.suppression import cheapest_pattern, is_safe
from tests.suppress.cells.squares import INNER
from tests.suppress.cells.stories import grid, random_grid

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(12))
def test_optimal_is_what_trying_everything_finds_and_no_bound_is_above_it(seed):
    problem = random_grid(np.random.default_rng(seed))
    least = cheapest_pattern(problem)
    if least is None:
        for method in ("optimal", "auto"):
            with pytest.raises((sv.InfeasibleProblem, sv.NoTableFound)):
                suppress_cells(problem, None, method)
        return
    best, quick = suppress_cells(problem, None, "optimal"), suppress_cells(problem, None, "auto")
    assert best.cost * 1000 == best.certified_bound * 1000 == least
    assert quick.certified_bound * 1000 <= least <= quick.cost * 1000
    assert is_safe(problem, best.suppressed)
    assert is_safe(problem, quick.suppressed)


def test_what_is_suppressed_already_costs_nothing_and_stays():
    """Of three partners two are given: one is left to choose."""
    problem = grid(INNER, {4: 4})
    given = np.zeros(problem.size, dtype=bool)
    given[[0, 1]] = True
    found = suppress_cells(problem, None, "optimal", already=given)
    assert found.cost == 1.0
    assert (found.secondary & given).sum() == 2
    assert found.secondary.sum() == 3
    with pytest.raises(sv.InputError, match="must be published"):
        suppress_cells(grid(INNER, {4: 4}, frozen=(0,)), None, already=given)
