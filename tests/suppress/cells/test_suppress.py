"""Suppression as a whole: patterns that pass the audit, bounds below every optimum, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.suppress.cells.suppress import suppress_cells
from tests.suppress.cells.squares import INNER
from tests.suppress.cells.stories import grid, random_grid

pytestmark = pytest.mark.slow


def test_one_cell_of_a_square_needs_three_others():
    found = suppress_cells(grid(INNER, {4: 4}), None, "optimal")
    assert found.secondary.sum() == 3
    assert (found.cost, found.certified_bound, found.ending) == (3.0, 3.0, "optimal")
    assert found.audit.passed


def test_the_same_question_has_the_same_answer():
    problem = random_grid(np.random.default_rng(3))
    one, two = (suppress_cells(problem, None, "auto") for _ in range(2))
    assert np.array_equal(one.suppressed, two.suppressed)
