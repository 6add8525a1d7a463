"""The last touch: leaf cells go where their rows cost least, and what holds keeps holding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from statveil.server.cube.lattice import Members
from statveil.server.cube.solve.adjust import Limits
from statveil.server.cube.solve.polish import polish
from statveil.server.cube.solve.program import FREE, Program

pytestmark = pytest.mark.slow  # compiles


def one_row(**other: Any) -> Program:
    """Two leaf cells in one row that would best not move at all."""
    rows = {"size": [10.0], "weight": [1.0], "short": [1.0], "pace": [1.0], "floor": [0.0], "target": [0.0], "most": [FREE]}
    leaves = {"leaf_size": [5.0, 5.0], "low": [-5.0, -5.0], "high": [5.0, 5.0]}
    parts = {name: np.array(each) for name, each in (rows | leaves | other).items()}
    sense = parts.pop("sense", np.array([0]))
    return Program(rows_of=Members(np.array([0, 1, 2]), np.array([0, 0], np.int32)), sense=sense, **parts)


def polished(program: Program, floor: int, change: list[int], *, most: int = 100) -> list[int]:
    limits = Limits(np.array([0]), np.array([False]), np.array([most]), np.array([0, 0]))
    return polish(program, np.array([floor]), limits, np.array([5, 5]), np.array(change)).tolist()


def test_a_row_that_nobody_asked_to_move_comes_back_to_where_it_was() -> None:
    assert sum(polished(one_row(), 0, [3, 2])) == 0


def test_a_sensitive_row_comes_down_to_its_floor_and_no_further() -> None:
    up = one_row(sense=[1], floor=[4.0])
    assert sum(polished(up, 4, [5, 5])) == 4


def test_a_row_that_falls_short_already_is_not_pushed_further_off() -> None:
    up = one_row(sense=[1], floor=[4.0], high=[0.0, 0.0])
    assert sum(polished(up, 4, [0, 0])) == 0


def test_no_leaf_cell_passes_its_bounds() -> None:
    down = one_row(sense=[-1], floor=[8.0], low=[-1.0, -2.0])
    assert polished(down, 8, [0, 0]) == [-1, -2]
