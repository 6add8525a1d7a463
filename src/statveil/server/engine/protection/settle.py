"""Settling the anchor: permanent changes under which every cell of every table is safe, so that no table needs repair.

All cells that can be asked for are sums over leaf cells. A reference that is safe in the table of all dimensions, totals included, is
therefore the answer to every request: the same number in whatever table and order it is asked for.

Where two large respondents move in opposite directions, what is left of a cell's change may be less than its level. The larger
one's change is then raised, once and for ever. What is still not safe after that, or would vanish, is lifted above its value, by the
largest record in it that rises anyway. Lifting can push other cells off their safe side, whose leaders' changes are raised in turn, or
which are lifted too; none that was lifted falls back when only lifting is left, so that it ends. Leaf cells come first: what becomes of
those depends on nobody outside of them, and so is the same in every edition that has the same respondents there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations as subsets
from itertools import count
from math import prod
from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen_array
from statveil.risk.assess import assess
from statveil.server.engine.dataset import MeasureBlock, ServedData
from statveil.server.engine.layout import Layout, ServedDimension
from statveil.server.engine.protection.stage_one import add_up, rules_table
from statveil.tables.positions import Grid, combinations


class SettleTuning(NamedTuple):
    """All by judgement."""

    largest: int = 1_000_000
    """Positions of a table up to which it is settled; larger ones are settled by the tables of fewer dimensions."""
    most: float = 0.5
    """No respondent's change is raised beyond this share, unless a cell has to be lifted."""
    rounds: int = 3
    """So often changes are raised again after lifting; then there is only lifting."""
    passes: int = 3
    """Over the cells of a table, each time changes are raised."""


TUNING = SettleTuning()


def settled(data: ServedData) -> ServedData:
    """The dataset with its anchors settled; in the paper's mode there are none."""
    if data.part.mode != "anchored":
        return data
    cap = float(data.part.cap)
    return replace(data, blocks={name: settle(block, data.dimensions, cap=cap) for name, block in data.blocks.items()})


def settle(block: MeasureBlock, dimensions: Sequence[ServedDimension], *, cap: float) -> MeasureBlock:
    """The block with its reference settled."""
    if not block.value.size:
        return block
    leaf = _leaf_cells(block)
    reference = _small_counts_rounded(block, leaf) if block.counts else block.reference.copy()
    layouts = {axes: _lowest_layout(block, dimensions, axes) for axes in _tables(dimensions)}
    for turn in count():
        changed, prints = 0, []
        for axes, layout in layouts.items():
            table = _TableWithTotals.of(replace(block, reference=reference), layout, axes, leaf, cap)
            order = table.order if turn else table.order[table.is_leaf[table.order]]
            if turn <= TUNING.rounds and not block.counts:  # a count of one cannot be changed by more than itself
                changed += table.raise_changes(order)
            changed += table.lift(order, block)
            prints.append(table.prints)
        if turn and not changed:
            break
    low, high = np.unique(np.concatenate(prints), axis=0).T
    return replace(block, reference=frozen_array(reference), settled=(frozen_array(low.copy()), frozen_array(high.copy())))


def _leaf_cells(block: MeasureBlock) -> IntArray:
    """For each record the number of the cell it stands in by all dimensions at their lowest level."""
    number = np.zeros(block.value.size, dtype=np.int64)
    for places in block.leaf:
        number = np.unique(np.stack([number, places]), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def _small_counts_rounded(block: MeasureBlock, leaf: IntArray) -> IntArray:
    """Counts whose leaf cells are zero or not below the smallest count published; so is then every sum of them.

    A small one is the smallest count or zero, the likelier the nearer it is, and others change by no more than they could fall, so
    that sums are right on average. The draw is made by the permanent numbers of its holdings: it is the same in every edition (T21).
    """
    size = int(leaf.max(initial=-1)) + 1
    counted, noised, drawn = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.uint64)
    holding = np.repeat(np.arange(block.start.size - 1), np.diff(block.start))
    np.add.at(counted, leaf, block.value)
    np.add.at(noised, leaf, block.reference)
    np.add.at(drawn, leaf, block.tie[holding].astype(np.uint64))
    up = (drawn >> np.uint64(11)).astype(np.float64) * block.smallest < counted * 2.0**53
    room = counted - block.smallest
    rounded = np.where(room < 0, np.where(up, block.smallest, 0), counted + np.clip(noised - counted, -room, room))
    reference = block.reference.copy()
    reference[np.unique(leaf, return_index=True)[1]] += rounded - noised
    return reference


def _tables(dimensions: Sequence[ServedDimension]) -> list[tuple[int, ...]]:
    """The largest sets of dimensions whose tables, with all totals, are not too large; each contains the tables of its subsets."""
    found: list[tuple[int, ...]] = []
    for size in range(len(dimensions), 0, -1):
        for axes in subsets(range(len(dimensions)), size):
            inside = any(set(axes) <= set(other) for other in found)
            if not inside and prod(len(dimensions[axis].full.codes) for axis in axes) <= TUNING.largest:
                found.append(axes)
    return found


def _lowest_layout(block: MeasureBlock, dimensions: Sequence[ServedDimension], axes: Sequence[int]) -> Layout:
    chosen = tuple(dimensions[axis] for axis in axes)
    return Layout(dataset="", measure=block.id, dimensions=chosen, levels=tuple(each.lowest for each in chosen))


class SettleCells(NamedTuple):
    """By position: levels of sensitive cells and the floors above them, the holdings that lead, true sums, sums of the reference."""

    up: IntArray
    down: IntArray
    floor: IntArray
    leader: IntArray
    value: IntArray
    reference: IntArray


class SettleRecords(NamedTuple):
    """By record: value, reference, print, its leaf cell in this table (`leaf`) and by all dimensions (`lowest`).

    By holding: where its records start, and how far floors are raised. `cells_of`: the positions that each leaf cell is part of.
    """

    value: IntArray
    reference: IntArray
    low: AnyArray
    leaf: IntArray
    lowest: IntArray
    start: IntArray
    raised: FloatArray
    cells_of: IntArray


@dataclass(frozen=True, kw_only=True)
class _TableWithTotals:
    """One table with all its totals. `order`: its cells, those with the smallest leaders first; `is_leaf`: those of no further parts."""

    order: IntArray
    is_leaf: BoolArray
    prints: AnyArray
    cells: SettleCells
    records: SettleRecords

    @classmethod
    def of(cls, block: MeasureBlock, layout: Layout, axes: Sequence[int], lowest: IntArray, cap: float) -> _TableWithTotals:
        grid = Grid(dimensions=layout.cuts)
        sums, leaves, leaf = add_up(block, layout, axes, grid)
        filled = np.flatnonzero(sums.records)
        found = assess(rules_table(block, sums, filled), block.rules)
        up, down = np.zeros(sums.value.size, np.int64), np.zeros(sums.value.size, np.int64)
        up[filled] = np.where(found.sensitive, np.maximum(found.upper_level, 1), 0)
        down[filled] = np.where(found.sensitive, np.maximum(found.lower_level, 1), 0)
        level = np.maximum(up, down)
        floor = np.maximum(np.ceil(level * (1.0 + (cap - 1.0) * block.floor[np.maximum(sums.leader, 0)])), level).astype(np.int64)
        order = filled[np.lexsort((sums.low[filled], sums.high[filled], block.tie[sums.leader[filled]], sums.top[filled, 0]))]
        cells_of = np.stack(list(combinations(grid, grid.coordinates(leaves))))
        return cls(
            order=order,
            is_leaf=np.isin(np.arange(sums.value.size), leaves),
            prints=np.stack([sums.low[order], sums.high[order]], axis=1),
            cells=SettleCells(up, down, floor, sums.leader, sums.value, sums.reference),
            records=SettleRecords(block.value, block.reference, block.low, leaf, lowest, block.start, block.floor, cells_of),
        )

    def raise_changes(self, order: IntArray) -> int:
        """Raise the changes of those who lead unsafe cells of these, in their own directions, as far as that may go; tells how many."""
        raised = 0
        for _ in range(TUNING.passes):
            more = _raise_changes(order, self.cells, self.records, TUNING.most)
            raised += more
            if not more:
                break
        return raised

    def lift(self, order: IntArray, block: MeasureBlock) -> int:
        """Lift every one of these cells that is not safe; tells how many were lifted."""
        records, lifted = self.records, 0
        in_lowest = np.zeros(int(records.lowest.max()) + 1, np.int64)
        np.add.at(in_lowest, records.lowest, records.reference)
        while True:
            rising = in_lowest[records.lowest] > 0 if block.counts else records.reference > records.value
            risers = _largest_of(rising, records, self.cells.value.size)
            more = _lift(order, self.cells, records, risers, in_lowest, block.smallest, block.counts)
            if not more:
                return lifted
            lifted += more


@numba.njit(cache=True)
def _is_safe(cells, cell):  # type: ignore[no-untyped-def]
    """Whether a cell has moved far enough; levels are zero where it is not sensitive."""
    moved = cells.reference[cell] - cells.value[cell]
    return moved >= cells.up[cell] if moved > 0 else -moved >= cells.down[cell]


@numba.njit(cache=True)
def _raise_changes(order, cells, records, most):  # type: ignore[no-untyped-def]
    """One pass; tells how many changes were raised: of all records of a leader that move as its part of the cell does, by their size."""
    raised = 0
    for cell in order:
        if _is_safe(cells, cell):
            continue
        moved = cells.reference[cell] - cells.value[cell]
        who, own, change = cells.leader[cell], 0, 0
        for row in range(records.start[who], records.start[who + 1]):
            if _stands_in(cell, row, records):
                own += records.value[row]
                change += records.reference[row] - records.value[row]
        sign = np.sign(change)
        share = (cells.floor[cell] - sign * moved) / own
        for row in range(records.start[who], records.start[who + 1]):
            value = records.value[row]
            change = records.reference[row] - value
            larger = min(abs(change) + np.int64(np.ceil(share * value)), max(np.int64(np.ceil(most * value)), abs(change)))
            if change * sign <= 0 or larger == abs(change):
                continue
            raised += 1
            _add(sign * larger - change, row, records, cells)
    return raised


@numba.njit(cache=True)
def _largest_of(chosen, records, size):  # type: ignore[no-untyped-def]
    """Of the records chosen, the largest in each cell, or -1; of equal ones the one with the larger print."""
    largest = np.full(size, -1, np.int64)
    for row in range(records.value.size):
        if chosen[row]:
            for combination in range(records.cells_of.shape[0]):
                cell = records.cells_of[combination, records.leaf[row]]
                if cell >= 0 and _is_larger(row, largest[cell], records):
                    largest[cell] = row
    return largest


@numba.njit(cache=True)
def _is_larger(row, other, records):  # type: ignore[no-untyped-def]
    """Whether a record is larger than another one, or there is no other (-1)."""
    value, low = records.value, records.low
    return other < 0 or value[row] > value[other] or (value[row] == value[other] and low[row] > low[other])


@numba.njit(cache=True)
def _lift(order, cells, records, risers, in_lowest, smallest, counts):  # type: ignore[no-untyped-def]
    """One pass; tells how many cells were lifted, by the largest record that rises anyway.

    Where none does, the leader's largest record is turned: it ends further above its value than it was below, not as far, for the
    two must not meet in the middle (T21). A count's leaf cell is never left below the smallest count.
    """
    lifted = 0
    for cell in order:
        vanishes = cells.reference[cell] < smallest and not counts
        if not vanishes and _is_safe(cells, cell):
            continue
        lifted += 1
        who, row = cells.leader[cell], risers[cell]
        if row < 0:
            for each in range(records.start[who], records.start[who + 1]):
                if _stands_in(cell, each, records) and _is_larger(each, row, records):
                    row = each
        rise = smallest - cells.reference[cell] if vanishes else np.int64(1)
        if cells.up[cell] > 0:
            rise = max(rise, cells.floor[cell] - (cells.reference[cell] - cells.value[cell]))
        fallen = records.value[row] - records.reference[row]
        if counts:
            rise = max(rise, smallest - in_lowest[records.lowest[row]])
        elif fallen > 0:
            rise = max(rise, np.int64(np.ceil(fallen * (2.0 + records.raised[who]))))
        in_lowest[records.lowest[row]] += rise
        _add(rise, row, records, cells)
    return lifted


@numba.njit(cache=True)
def _stands_in(cell, row, records):  # type: ignore[no-untyped-def]
    """Whether a record is part of a cell."""
    return (records.cells_of[:, records.leaf[row]] == cell).any()


@numba.njit(cache=True)
def _add(change, row, records, cells):  # type: ignore[no-untyped-def]
    """Change a record's reference, and the sums that it is part of."""
    records.reference[row] += change
    for combination in range(records.cells_of.shape[0]):
        where = records.cells_of[combination, records.leaf[row]]
        if where >= 0:
            cells.reference[where] += change
