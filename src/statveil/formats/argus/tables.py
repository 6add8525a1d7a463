"""A cell table as a `Table`: exact sums checked or made anew, and what the file tells about respondents."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.formats.argus.cells import Amounts, CellTable
from statveil.tables.from_cells import UNKNOWN, table_from_cells
from statveil.tables.levels import Grid
from statveil.tables.table import Table

EMPTY = -1


def table_of(cells: CellTable, *, recompute: bool = False, non_additive: bool = False, decimals: int | None = None) -> Table:
    """The table that the cells make. `recompute` takes the inner cells alone and adds all totals up; `non_additive` takes all as it is.

    `decimals` are those to publish (by default all there are). Cells of which the file tells no frequency, and totals that it does
    not hold, are of unknown respondents: rules that ask about them refuse.
    """
    used = np.flatnonzero(~cells.value.missing & (_inner(cells) if recompute else True))
    numbers = {cells.codes(row): Decimal(int(cells.value.units[row])).scaleb(-cells.value.decimals) for row in used.tolist()}
    if not numbers:
        raise InputError("The table has no cell with a value.", hint="Inner cells are needed to add totals up.")
    trees = {dimension.name: dimension.trees for dimension in cells.dimensions}
    table = table_from_cells(trees, numbers, decimals=cells.value.decimals, name=cells.response, non_additive=non_additive)
    published = cells.value.decimals if decimals is None else min(decimals, cells.value.decimals)
    return replace(_with_respondents(table, cells), decimals=published)


def cell_of_rows(table: Table, cells: CellTable) -> IntArray:
    """Which cell of the table each row of the file is, EMPTY where the table has none."""
    view = table.views[0]
    grid = Grid(dimensions=view.dimensions)
    own, asked = grid.keys(view.coordinates), grid.keys(cells.coordinates)
    at = np.minimum(np.searchsorted(own, asked), max(own.size - 1, 0))
    return np.where(own[at] == asked, view.cell[at], EMPTY)


def _inner(cells: CellTable) -> BoolArray:
    leaves = [set(dimension.trees[0].leaves) for dimension in cells.dimensions]
    masks = [
        np.array([code in fine for code in dimension.codes])[cells.coordinates[:, axis]]
        for axis, (dimension, fine) in enumerate(zip(cells.dimensions, leaves, strict=True))
    ]
    return np.asarray(np.logical_and.reduce(masks))


def _with_respondents(table: Table, cells: CellTable) -> Table:
    cell = cell_of_rows(table, cells)
    frequency = _frequency(table, cells, cell)
    whole = cells.shadow or cells.value
    scale = max([whole.decimals, *(top.decimals for top in cells.top)])
    magnitude = _spread(table, cell, np.abs(_units(whole, scale)), told=True)
    tops = [_spread(table, cell, _units(top, scale), told=True) for top in cells.top]
    top = np.maximum(np.stack(tops, axis=1) if tops else np.zeros((table.size, 0), np.int64), 0)
    # Counts add up; the largest contributions of a total cannot be told from those of its parts.
    unknown = (magnitude == UNKNOWN) & bool(cells.top)
    return replace(
        table,
        records=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        respondents=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        frequency=frozen_array(np.where(unknown, UNKNOWN, frequency)),
        magnitude=frozen_array(np.where(magnitude == UNKNOWN, np.abs(table.value) * 10 ** max(scale - table.scale, 0), magnitude)),
        top=frozen_array(top),
        largest_unwaived=frozen_array(top[:, 0] if tops else np.zeros(table.size, np.int64)),
        rule_scale=scale,
        has_shadow=cells.shadow is not None,
    )


def _frequency(table: Table, cells: CellTable, cell: IntArray) -> IntArray:
    """As the file tells; a total that it does not hold has the sum of its parts."""
    told = _spread(table, cell, cells.frequency, told=bool(cells.top))
    if cells.frequency is None or not (told == UNKNOWN).any():
        return told
    inner = np.flatnonzero(_inner(cells) & ~cells.value.missing)
    counts = {cells.codes(row): int(cells.frequency[row]) for row in inner.tolist()}
    sums = table_from_cells({dimension.name: dimension.trees for dimension in cells.dimensions}, counts)
    return np.where(told == UNKNOWN, sums.value, told) if sums.size == table.size else told


def _units(column: Amounts, decimals: int) -> IntArray:
    return np.asarray(np.where(column.missing, 0, column.units) * 10 ** (decimals - column.decimals))


def _spread(table: Table, cell: IntArray, column: IntArray | None, *, told: bool) -> IntArray:
    """A column of the file by cell, UNKNOWN where no row tells; without the column, one where a row stands (if rows tell anything)."""
    found = np.full(table.size, UNKNOWN, dtype=np.int64)
    rows = np.flatnonzero(cell >= 0)
    if column is not None:
        np.maximum.at(found, cell[rows], column[rows])
    elif told:
        found[cell[rows]] = 1
    return found
