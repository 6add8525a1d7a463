"""Tables to round."""

from __future__ import annotations

import itertools

import statveil as sv
from statveil.tables.table import Table


def grid(shape: tuple[int, ...], values: list[int]) -> Table:
    codes = [[f"{'abc'[axis]}{place}" for place in range(size)] for axis, size in enumerate(shape)]
    cells = dict(zip(itertools.product(*codes), values, strict=True))
    return sv.table_from_cells({f"axis{axis}": sv.Hierarchy.flat(each) for axis, each in enumerate(codes)}, cells)
