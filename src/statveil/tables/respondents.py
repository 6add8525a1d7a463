"""Who is behind single cells of a table, respondent by respondent: for those who judge what a release gives away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import pyarrow as pa

from statveil.core.arrays import AnyArray, IntArray
from statveil.data.largest import UNWAIVED
from statveil.data.microdata import Microdata
from statveil.data.queries.tabulation import amounts_in, refuse_large_sums
from statveil.tables.coding import CodedLayout, TableUnits, keep_coded, settle_units
from statveil.tables.columns import check_columns
from statveil.tables.linked import Response, responses_of
from statveil.tables.positions import Grid, combinations
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table, UnionCell, View


@dataclass(frozen=True, kw_only=True)
class CellRespondents:
    """Confidential: one row for each respondent of each cell, by cell. `amount` is what the rules look at, in units of 10**-rule_scale.

    `copies`: how many equal units a record stands for, where its weight says so; otherwise one. `unwaived`: has not waived protection.
    """

    cell: IntArray = field(repr=False)
    amount: IntArray = field(repr=False)
    copies: IntArray = field(repr=False)
    unwaived: AnyArray = field(repr=False)

    def take(self, rows: AnyArray) -> CellRespondents:
        return CellRespondents(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})


def respondents_of(data: Microdata, specs: Sequence[TableSpec], table: Table, cells: IntArray) -> CellRespondents:
    """The respondents of these cells (ascending numbers) of a table that was tabulated from the data by the specs."""
    wanted = np.unique(np.concatenate([cells, *(union.members for union in _unions(table, cells))]))
    with data.engine.session() as session:
        columns = check_columns(session, data, specs)
        responses = responses_of(specs)
        units = settle_units(specs[0], responses, columns)
        grids = [Grid(dimensions=view.dimensions) for view in table.views]
        keep_coded(session, data, specs[0], columns, layout=CodedLayout(grids=grids, responses=responses, units=units))
        refuse_large_sums(session, len(responses))
        rows = list[_RespondentRows]()
        for number, (spec, view) in enumerate(zip(specs, table.views, strict=True)):
            here = np.intersect1d(wanted, view.cell)
            wanted = np.setdiff1d(wanted, here)
            response, below = responses.index(Response(spec.measure, spec.shadow)), _leaves_below(view, here)
            amounts = amounts_in(session, number, response, below, holdings=spec.holding is not None)
            rows += _rows_of_view(amounts, view, here)
    return _added_up(_with_unions(_joined(rows), table, cells), units)


@dataclass(frozen=True, kw_only=True)
class _RespondentRows:
    """What respondents give to cells, in parts."""

    cell: IntArray
    holder: IntArray
    amount: IntArray
    copies: IntArray
    flags: AnyArray

    def take(self, rows: AnyArray) -> _RespondentRows:
        return _RespondentRows(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})


def _joined(parts: Sequence[_RespondentRows]) -> _RespondentRows:
    none = np.zeros(0, dtype=np.int64)
    return _RespondentRows(
        **{each.name: np.concatenate([none, *(getattr(part, each.name) for part in parts)]) for each in fields(_RespondentRows)}
    )


def _leaves_below(view: View, cells: IntArray) -> IntArray:
    """The keys of the leaf cells of which these cells are made."""
    grid = Grid(dimensions=view.dimensions)
    wanted = np.unique(grid.keys(view.coordinates[np.isin(view.cell, cells)]))
    inner = np.ones(len(view.coordinates), dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        inner &= np.isin(view.coordinates[:, axis], [dimension.position[code] for code in dimension.trees[0].leaves])
    leaves = view.coordinates[inner]
    held = np.zeros(len(leaves), dtype=np.bool_)
    for position in combinations(grid, leaves) if len(leaves) else ():
        held |= np.isin(position, wanted)
    return grid.keys(leaves[held])


def _rows_of_view(amounts: pa.Table, view: View, cells: IntArray) -> Iterator[_RespondentRows]:
    """The rows of each combination of levels; positions that show the same cell hold the same records, so one of them is enough."""
    grid = Grid(dimensions=view.dimensions)
    place = np.flatnonzero(np.isin(view.cell, cells))
    _, first = np.unique(view.cell[place], return_index=True)
    place = place[first]
    keys = grid.keys(view.coordinates[place])
    order = np.argsort(keys)
    keys, cell = keys[order], view.cell[place][order]
    arrays = {name: amounts[name].to_numpy() for name in ("key", "holding", "amount", "copies", "flags")}
    leaves, leaf = np.unique(arrays["key"], return_inverse=True)
    for position in combinations(grid, grid.coordinates(leaves)) if keys.size else ():
        at = np.minimum(np.searchsorted(keys, position), keys.size - 1)
        inside = np.flatnonzero((keys[at] == position)[leaf])
        numbers = {name: arrays[name][inside].astype(np.int64) for name in ("amount", "copies", "flags")}
        yield _RespondentRows(cell=cell[at[leaf[inside]]], holder=arrays["holding"][inside].astype(np.int64), **numbers)


def _unions(table: Table, cells: IntArray) -> list[UnionCell]:
    """The sets of cells among these that no view shows."""
    return [union for union in table.unions if union.cell >= table.shown and union.cell in cells]


def _with_unions(rows: _RespondentRows, table: Table, cells: IntArray) -> _RespondentRows:
    """The rows of the cells asked for; those of a set are its members'."""
    parts = [rows.take(np.isin(rows.cell, cells))]
    for union in _unions(table, cells):
        members = rows.take(np.isin(rows.cell, union.members))
        parts.append(_RespondentRows(**{**vars(members), "cell": np.full(members.cell.size, union.cell)}))
    return _joined(parts)


def _added_up(rows: _RespondentRows, units: TableUnits) -> CellRespondents:
    """Each respondent once a cell."""
    order = np.lexsort((rows.holder, rows.cell))
    rows = rows.take(order)
    start = np.flatnonzero((np.diff(rows.cell, prepend=-1) != 0) | (np.diff(rows.holder, prepend=-1) != 0))
    one = units.one if units.repeats else 1
    return CellRespondents(
        cell=rows.cell[start],
        amount=(np.add.reduceat(rows.amount, start) if start.size else rows.amount) * one,
        copies=np.maximum(rows.copies[start] // one, 1),
        unwaived=(np.bitwise_or.reduceat(rows.flags, start) if start.size else rows.flags) & UNWAIVED != 0,
    )
