from __future__ import annotations

from pathlib import Path

import numpy as np

from statveil.serve.dataset import ServedData
from statveil.serve.settle import settle, settled
from tests.serve.test_stage_one import cells_of, load
from tests.serve.village import VILLAGE, Record

TWINS: tuple[Record, ...] = tuple((f"t{n}{side}", f"t{n}{side}", region, trade, 1000 + 7 * n)
    for n, (region, trade) in enumerate([("N1", "food"), ("N1", "metal"), ("N2", "food"), ("N2", "metal"), ("S1", "food"), ("S2", "metal")])
    for side in "ab")  # fmt: skip
"""Six cells of two respondents each, as large as each other: in about half of them the changes point against each other."""


def unsafe(data: ServedData) -> int:
    cells = cells_of(data, "region", "trade")
    moved = np.abs(cells.reference - cells.table.value)
    return int((cells.sensitivity.sensitive & (moved < cells.sensitivity.upper_level)).sum())


def test_changes_that_cancel_are_settled(tmp_path: Path) -> None:
    data = load(tmp_path, TWINS)
    assert unsafe(data) > 0
    assert unsafe(settled(data)) == 0


def test_a_settled_change_keeps_its_direction_and_is_never_smaller(tmp_path: Path) -> None:
    """T21: what is permanent stays so."""
    before = load(tmp_path, TWINS)
    block, after = before.block("turnover"), settled(before).block("turnover")
    change, now = block.reference - block.value, after.reference - after.value
    assert (np.sign(change) == np.sign(now)).all()
    assert (np.abs(now) >= np.abs(change)).all()
    assert (np.abs(now) <= np.ceil(0.5 * block.value)).all()
    assert (now != change).any()


def test_what_needs_no_settling_is_left_alone(tmp_path: Path) -> None:
    data = load(tmp_path)
    assert settled(data).block("units") is data.block("units")
    paper = load(tmp_path, VILLAGE, mode="section4")
    assert settled(paper) is paper
    again = settle(settled(data).block("turnover"), data.dimensions, cap=2.0)
    assert (again.reference == settled(data).block("turnover").reference).all()
