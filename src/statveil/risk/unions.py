"""Sets of cells: unions that one holding dominates although no table shows them.

Cells that are safe one by one may not be so together: a holding that is alone in two cells can be moved up in one and down in
the other by the same amount, and what it has in both is then published as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.linked import CellSet
from statveil.tables.positions import Grid
from statveil.tables.table import Table, View


def candidate_sets(table: Table, sensitivity: Sensitivity) -> list[CellSet]:
    """Two or more sensitive parts of one total that share a leader, for every total, in the order of the table."""
    leaders = np.zeros((0, 2), dtype=np.int64) if table.leaders is None else table.leaders
    leaders = leaders[sensitivity.sensitive[leaders[:, 0]]]
    found = [(view, rows) for view in table.views for rows in dict.fromkeys(_shared(view, leaders))]
    return [CellSet(view=view.name, cells=[_labels(view, row) for row in rows]) for view, rows in found]


def _shared(view: View, leaders: IntArray) -> Iterator[tuple[int, ...]]:
    """Rows of the view's positions that have the same total and the same leader, one tuple per set."""
    grid = Grid(dimensions=view.dimensions)
    keys = grid.keys(view.coordinates)
    first, last = (np.searchsorted(leaders[:, 0], view.cell, side=side) for side in ("left", "right"))
    for axis, dimension in enumerate(view.dimensions):
        codes = view.coordinates[:, axis]
        for tree in range(len(dimension.trees)):
            above = dimension.parents(tree)[codes]
            groups: dict[tuple[int, int], list[int]] = {}
            for row in np.flatnonzero((above >= 0) & (last > first)).tolist():
                total = int(keys[row] + grid.strides[axis] * (above[row] - codes[row]))
                for holding in leaders[first[row] : last[row], 1].tolist():
                    groups.setdefault((total, holding), []).append(row)
            yield from sorted({tuple(rows) for rows in groups.values() if len(rows) > 1})


def _labels(view: View, row: int) -> dict[str, str]:
    return {dimension.name: dimension.codes[code] for dimension, code in zip(view.dimensions, view.coordinates[row], strict=True)}


def unsafe_sets(sets: Sequence[CellSet], judged: Table, sensitivity: Sensitivity) -> list[CellSet]:
    """Those of these sets that are sensitive in a table tabulated with them, and that no table shows as a cell."""
    unsafe: dict[int, CellSet] = {}
    for each, union in zip(sets, judged.unions, strict=True):  # both by view, and within it in the order of the table
        if sensitivity.sensitive[union.cell] and union.cell >= judged.shown:
            unsafe.setdefault(union.cell, each)
    return list(unsafe.values())


def without_safe_unions(table: Table, sensitivity: Sensitivity) -> Table:
    """The table with its sensitive sets of cells only."""
    unions = [union for union in table.unions if sensitivity.sensitive[union.cell]]
    cells = np.array([*range(table.shown), *sorted({union.cell for union in unions if union.cell >= table.shown})], dtype=np.int64)
    arrays: dict[str, Any] = {
        field.name: frozen_array(value[cells])
        for field in fields(table)
        if field.name != "leaders" and isinstance(value := getattr(table, field.name), np.ndarray)
    }
    renumbered = [replace(union, cell=int(np.searchsorted(cells, union.cell))) for union in unions]
    return replace(table, **arrays, unions=tuple(renumbered))
