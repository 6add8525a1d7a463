"""The positions that a reader sees: all combinations of codes, or those that tell no more than the released numbers do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statveil.data.hierarchy import Hierarchy
from statveil.tables.from_cells import table_from_cells
from statveil.tables.shown.positions import EMPTY, STRUCTURAL, all_positions, public_positions

TABLE = table_from_cells(
    {"row": Hierarchy.flat(["a", "b"]), "column": Hierarchy.flat(["x", "y"])}, {("a", "x"): 1, ("a", "y"): 2, ("b", "x"): 3}
)
"""By rows: the total's 6, 4, 2; a's 3, 1, 2; b's 3, 3 and nothing (b, y), where nothing can be."""
VIEW = replace(TABLE.views[0], structural=np.array([[2, 2]]))


def test_a_small_grid_is_shown_whole_and_an_impossible_position_is_marked() -> None:
    positions = all_positions(VIEW)
    assert positions.is_grid
    assert positions.pick(TABLE.value).tolist() == [6, 4, 2, 3, 1, 2, 3, 3, 0]
    assert positions.structural.tolist() == [False] * 8 + [True]


def test_an_empty_position_is_told_from_an_impossible_one() -> None:
    assert all_positions(TABLE.views[0]).cell[8] == EMPTY
    assert all_positions(VIEW).cell[8] == STRUCTURAL


def test_of_a_large_grid_a_released_zero_looks_like_an_empty_position() -> None:
    released = TABLE.value.copy()
    released[VIEW.cell[(VIEW.coordinates == [1, 1]).all(axis=1)]] = 0
    listed = all_positions(VIEW, largest_grid=8)
    public = public_positions(VIEW, released, largest_grid=8)
    assert not listed.is_grid
    assert listed.coordinates.tolist() == sorted(listed.coordinates.tolist())
    assert {tuple(place) for place in listed.coordinates.tolist()} - {tuple(place) for place in public.coordinates.tolist()} == {(1, 1)}
    assert [2, 2] in public.coordinates.tolist(), "what is impossible is no secret"
