"""Rows over the smallest cells, on a village small enough to add up by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statveil.server.cube.depth import Depth
from statveil.server.cube.lattice import build_lattice, numbered
from tests.server.cube.stories import village


@pytest.mark.parametrize("size", [8, 1000])
def test_keys_are_numbered_alike_by_marks_and_by_sorting(size: int) -> None:
    found, number = numbered(np.array([5, 2, 5, 7]), size)
    assert found.tolist() == [2, 5, 7]
    assert number.tolist() == [1, 0, 1, 2]


def test_a_holding_has_one_amount_in_each_smallest_cell(tmp_path: Path) -> None:
    records = [("a", "H", "N1", "food", 10), ("b", "H", "S1", "food", 5), ("c", "H", "N1", "food", 7), ("d", "K", "N1", "food", 1)]
    data = village(tmp_path, records)
    lattice = build_lattice(data, data.block("turnover"), Depth())
    amounts = sorted(
        lattice.pairs.amount[start:end].tolist() for start, end in zip(lattice.pairs.start, lattice.pairs.start[1:], strict=False)
    )
    assert amounts in ([[1], [5, 17]], [[1], [17, 5]])
    assert sorted(lattice.leaf_value.tolist()) == [5, 18]
    assert not lattice.coarse


def test_a_depth_that_ends_above_the_smallest_cells_is_coarse(tmp_path: Path) -> None:
    data = village(tmp_path)
    assert build_lattice(data, data.block("turnover"), Depth(dimensions=1)).coarse
