"""Stage one: everything about the cells of a table that is local to each cell (S2 section 4; docs/science.md, section 8).

What a cell is (its print), what it adds up to, who leads it, whether it is sensitive and how far it must move: none of it depends
on the table that the cell stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, IntArray, frozen_array
from statveil.core.secret import SecretKey
from statveil.risk.assess import assess
from statveil.risk.rules import contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.server.dataset.dataset import MeasureBlock
from statveil.server.dataset.keyed import cell_ids
from statveil.server.dataset.layout import Layout
from statveil.tables.positions import Grid, combinations, merge_marks
from statveil.tables.table import Table, View


@dataclass(frozen=True, kw_only=True, repr=False)
class ServedCells:
    """The distinct cells of a table, confidential, in the order of their ids: neither labels nor requests decide an order.

    `table` holds them for the rules; `leader` the number of the holding that contributes most; `low` and `high` their prints.
    """

    table: Table
    sensitivity: Sensitivity
    ids: tuple[bytes, ...]
    leader: IntArray
    low: AnyArray
    high: AnyArray

    @property
    def size(self) -> int:
        return self.table.size

    @property
    def view(self) -> View:
        return self.table.views[0]


def tabulate_cells(key: SecretKey, block: MeasureBlock, layout: Layout, axes: Sequence[int]) -> ServedCells:
    """All cells of the table that hold a record with a value; `axes` are the numbers of its dimensions in the block."""
    grid = Grid(dimensions=layout.cuts)
    sums, _, _ = add_up(block, layout, axes, grid)
    filled = np.flatnonzero(sums.records)
    position_cell, firsts = merge_marks((sums.low[filled], sums.high[filled], sums.records[filled]))
    at = filled[firsts]
    ids = cell_ids(key, block.space, sums.low[at], sums.high[at], sums.records[at])
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    at = at[order]
    view = View(
        name=block.id,
        dimensions=layout.cuts,
        coordinates=frozen_array(grid.coordinates(filled)),
        cell=frozen_array(rank[position_cell]),
        structural=np.zeros((0, len(layout.cuts)), dtype=np.int64),
    )
    table = replace(rules_table(block, sums, at), views=(view,))
    return ServedCells(
        table=table,
        sensitivity=assess(table, block.rules),
        ids=tuple(ids[place] for place in order),
        leader=frozen_array(sums.leader[at]),
        low=frozen_array(sums.low[at]),
        high=frozen_array(sums.high[at]),
    )


def rules_table(block: MeasureBlock, sums: CellSums, at: IntArray) -> Table:
    """What the rules ask about the cells at these positions."""
    value, top = sums.value[at], np.maximum(sums.top[at], 0)
    return Table(
        views=(),
        value=frozen_array(value),
        scale=block.decimals,
        decimals=block.decimals,
        records=frozen_array(sums.records[at]),
        respondents=frozen_array(sums.respondents[at]),
        frequency=frozen_array(sums.respondents[at]),
        frequency_scale=0,
        magnitude=frozen_array(sums.magnitude[at]),
        top=frozen_array(top),
        largest_unwaived=frozen_array(top[:, 0]),
        largest_requested=frozen_array(np.full(at.size, -1, dtype=np.int64)),
        rule_scale=block.decimals,
        has_shadow=False,
        input_hash="",
    )


class CellSums(NamedTuple):
    """By position of the grid, empty ones too; `records` is their number."""

    value: IntArray
    magnitude: IntArray
    records: IntArray
    low: AnyArray
    high: AnyArray
    respondents: IntArray
    leader: IntArray
    top: IntArray


def add_up(block: MeasureBlock, layout: Layout, axes: Sequence[int], grid: Grid) -> tuple[CellSums, IntArray, IntArray]:
    """The sums, the positions of the leaf cells that hold a record, and the number of each record's leaf cell."""
    keys = np.zeros(block.value.size, dtype=np.int64)
    for axis, level, stride in zip(axes, layout.levels, grid.strides, strict=True):
        keys += level.position[block.leaf[axis]] * stride
    size = int(np.prod(grid.shape))
    present = np.zeros(size, dtype=np.bool_)
    present[keys] = True
    leaves = np.flatnonzero(present)
    number = np.zeros(size, dtype=np.int64)
    number[leaves] = np.arange(leaves.size)
    top = max(2, contributions_needed(block.rules))
    whole = {name: np.zeros(size, dtype=np.int64) for name in ("value", "magnitude", "records", "respondents")}
    sums = CellSums(
        **whole,
        leader=np.full(size, -1, dtype=np.int64),
        low=np.zeros(size, dtype=np.uint64),
        high=np.zeros(size, dtype=np.uint64),
        top=np.full((size, top), -1, dtype=np.int64),
    )
    leaf, scratch = number[keys], _Scratch(np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64))
    records = _RecordColumns(block.start, leaf, block.value, block.prints[:, 0], block.prints[:, 1], block.tie)
    for ancestor in combinations(grid, grid.coordinates(leaves)):
        _add_level(records, ancestor, sums, scratch)
    return sums, leaves, leaf


class _RecordColumns(NamedTuple):
    """A block's records, with the number of the leaf cell of each; `start` and `tie` are by holding."""

    start: IntArray
    leaf: IntArray
    value: IntArray
    low: AnyArray
    high: AnyArray
    tie: AnyArray


class _Scratch(NamedTuple):
    """By position: the last holding seen there, and what it has there so far."""

    holding: IntArray
    amount: IntArray


@numba.njit(cache=True, nogil=True)
def _add_level(records, ancestor, sums, scratch) -> None:  # type: ignore[no-untyped-def]
    """One combination of levels: sums and prints per position, and the largest holdings; a holding's records are added up first."""
    start = records.start
    touched = np.empty(start.size, np.int64)
    for holding in range(start.size - 1):
        count = 0
        for row in range(start[holding], start[holding + 1]):
            where = ancestor[records.leaf[row]]
            if where < 0:
                continue
            sums.value[where] += records.value[row]
            sums.records[where] += 1
            before = sums.low[where]
            sums.low[where] = before + records.low[row]
            sums.high[where] += records.high[row] + np.uint64(1 if sums.low[where] < before else 0)
            if scratch.holding[where] != holding:
                scratch.holding[where] = holding
                scratch.amount[where] = 0
                if count == touched.size:
                    touched = np.append(touched, np.empty(touched.size, np.int64))
                touched[count] = where
                count += 1
            scratch.amount[where] += records.value[row]
        for where in touched[:count]:
            sums.respondents[where] += 1
            amount = abs(scratch.amount[where])  # gains and losses of one holding are one amount
            sums.magnitude[where] += amount
            _rank(sums.top[where], sums.leader, where, amount, holding, records.tie)


@numba.njit(cache=True, nogil=True)
def _rank(largest: Any, leader: Any, where: int, amount: int, holding: int, tie: Any) -> None:
    """Put the amount among the largest; of equal leaders the one whose keyed number is the larger leads."""
    if amount > largest[0] or (amount == largest[0] and tie[holding] > tie[leader[where]]):
        leader[where] = holding
    place = largest.size
    while place > 0 and largest[place - 1] < amount:
        if place < largest.size:
            largest[place] = largest[place - 1]
        place -= 1
    if place < largest.size:
        largest[place] = amount
