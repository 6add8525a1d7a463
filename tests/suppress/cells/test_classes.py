"""Cells that move together, and cells that cannot move."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.suppress.cells.classes import classes_of
from tests.suppress.cells.stories import grid, of_arrays


def test_a_total_and_its_only_part_are_one_class():
    relations = np.array([[1, 1, -1, 0], [1, 0, 0, -1]])
    system = classes_of(of_arrays(relations, np.array([5, 7, 12, 5]), {3: 2}))
    assert system.of_cell[0] == system.of_cell[3]
    assert system.size == 3
    assert system.free.tolist().count(True) == 1
    assert {(need.sense, need.amount) for need in system.needs} == {(1, 2), (-1, 2)}


def test_zeros_and_frozen_cells_are_no_partners():
    system = classes_of(grid([[5, 0, 7], [4, 6, 8]], {0: 1}, frozen=(9,)))
    assert system.of_cell[1] == -1
    assert system.of_cell[9] == -1


def test_a_cell_that_published_ones_show_is_refused():
    with pytest.raises(sv.InfeasibleProblem, match="cannot be protected"):
        classes_of(grid([[5, 0], [4, 6]], {0: 1}, frozen=(2,)))


def test_a_cell_without_a_level_must_not_be_shown_exactly():
    system = classes_of(grid([[5, 3], [4, 6]], {0: 0}))
    assert [(need.sense, need.amount) for need in system.needs] == [(1, 1)]
