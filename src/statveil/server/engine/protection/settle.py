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

import numba
import numpy as np

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.risk.assess import assess
from statveil.server.engine.dataset import MeasureBlock, ServedData
from statveil.server.engine.layout import Layout, ServedDimension
from statveil.server.engine.protection.stage_one import Sums, add_up, rules_table
from statveil.tables.levels import Grid, combinations

LARGEST = 1_000_000
"""Positions of a table up to which it is settled; larger ones are settled by the tables of fewer dimensions."""
MOST = 0.5
"""No respondent's change is raised beyond this share, unless a cell has to be lifted."""
ROUNDS = 3
"""So often changes are raised again after lifting; then there is only lifting."""
PASSES = 3


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
    leaf, tables = _leaf_cells(block), _tables(dimensions)
    reference = _small_counts_rounded(block, leaf) if block.counts else block.reference.copy()
    for turn in count():
        changed, prints = 0, []
        for axes in tables:
            table = _Table.of(block, dimensions, axes, reference, cap)
            order = table.order if turn else table.order[table.is_leaf[table.order]]
            if turn <= ROUNDS and not block.counts:  # a count of one cannot be changed by more than itself
                changed += table.raise_changes(order, block, reference)
            changed += table.lift(order, block, leaf, reference)
            prints.append(np.stack([table.sums.low[table.order], table.sums.high[table.order]], axis=1))
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
            if not inside and prod(len(dimensions[axis].full.codes) for axis in axes) <= LARGEST:
                found.append(axes)
    return found


@dataclass(frozen=True, kw_only=True)
class _Table:
    """One table with all its totals: its sums, the levels of its sensitive cells and the floors above them, all by position.

    `order`: its cells, those with the smallest leaders first. `leaf`: the leaf cell of each record in this table, `cells_of` the
    positions that each leaf cell is part of.
    """

    sums: Sums
    order: IntArray
    up: IntArray
    down: IntArray
    floor: IntArray
    is_leaf: BoolArray
    leaf: IntArray
    cells_of: IntArray

    @classmethod
    def of(cls, block: MeasureBlock, dimensions: Sequence[ServedDimension], axes: Sequence[int], reference: IntArray, cap: float) -> _Table:
        layout = Layout(
            dataset="",
            measure=block.id,
            dimensions=tuple(dimensions[axis] for axis in axes),
            levels=tuple(dimensions[axis].lowest for axis in axes),
        )
        grid = Grid(dimensions=layout.cuts)
        sums, leaves, leaf = add_up(replace(block, reference=reference), layout, axes, grid)
        filled = np.flatnonzero(sums.count)
        found = assess(rules_table(block, sums, filled), block.rules)
        up, down = np.zeros(sums.value.size, np.int64), np.zeros(sums.value.size, np.int64)
        up[filled] = np.where(found.sensitive, np.maximum(found.upper_level, 1), 0)
        down[filled] = np.where(found.sensitive, np.maximum(found.lower_level, 1), 0)
        level = np.maximum(up, down)
        return cls(
            sums=sums,
            order=filled[np.lexsort((sums.low[filled], sums.high[filled], block.tie[sums.leader[filled]], sums.top[filled, 0]))],
            up=up,
            down=down,
            floor=np.maximum(np.ceil(level * (1.0 + (cap - 1.0) * block.floor[np.maximum(sums.leader, 0)])), level).astype(np.int64),
            is_leaf=np.isin(np.arange(sums.value.size), leaves),
            leaf=leaf,
            cells_of=np.stack(list(combinations(grid, grid.coordinates(leaves)))),
        )

    def raise_changes(self, order: IntArray, block: MeasureBlock, reference: IntArray) -> int:
        """Raise the changes of those who lead unsafe cells of these, in their own directions, as far as that may go; tells how many."""
        sums, raised = self.sums, 0
        for _ in range(PASSES):
            more = _raise_changes(
                order, self.up, self.down, self.floor, sums.leader, block.start, self.leaf, self.cells_of, block.value, reference,
                sums.value, sums.reference, MOST,
            )  # fmt: skip
            raised += more
            if not more:
                break
        return raised

    def lift(self, order: IntArray, block: MeasureBlock, leaf: IntArray, reference: IntArray) -> int:
        """Lift every one of these cells that is not safe; tells how many were lifted."""
        sums, lifted = self.sums, 0
        in_leaf = np.zeros(int(leaf.max()) + 1, np.int64)
        np.add.at(in_leaf, leaf, reference)
        while True:
            rising = in_leaf[leaf] > 0 if block.counts else reference > block.value
            risers = _largest_of(rising, self.leaf, self.cells_of, block.value, block.low, sums.value.size)
            more = _lift(
                order, self.up, self.down, self.floor, block.smallest, block.counts, sums.leader, risers, block.start, block.floor,
                self.leaf, self.cells_of, leaf, in_leaf, block.value, block.low, reference, sums.value, sums.reference,
            )  # fmt: skip
            if not more:
                return lifted
            lifted += more


@numba.njit(cache=True)
def _is_safe(moved, up, down):  # type: ignore[no-untyped-def]
    """A cell that has moved so far; levels are zero where it is not sensitive."""
    return moved >= up if moved > 0 else -moved >= down


@numba.njit(cache=True)
def _raise_changes(order, up, down, floor, leader, start, leaf, cells_of, value, reference, sum_value, sum_reference, most):  # type: ignore[no-untyped-def]
    """One pass; tells how many changes were raised: of all records of a leader that move as its part of the cell does, by their size."""
    raised = 0
    for cell in order:
        moved = sum_reference[cell] - sum_value[cell]
        if _is_safe(moved, up[cell], down[cell]):
            continue
        who, own, change = leader[cell], 0, 0
        for row in range(start[who], start[who + 1]):
            if _stands_in(cell, row, leaf, cells_of):
                own += value[row]
                change += reference[row] - value[row]
        sign = np.sign(change)
        share = (floor[cell] - sign * moved) / own
        for row in range(start[who], start[who + 1]):
            change = reference[row] - value[row]
            larger = min(abs(change) + np.int64(np.ceil(share * value[row])), max(np.int64(np.ceil(most * value[row])), abs(change)))
            if change * sign <= 0 or larger == abs(change):
                continue
            raised += 1
            _add(sign * larger - change, row, leaf, cells_of, reference, sum_reference)
    return raised


@numba.njit(cache=True)
def _largest_of(chosen, leaf, cells_of, value, low, size):  # type: ignore[no-untyped-def]
    """Of the records chosen, the largest in each cell, or -1; of equal ones the one with the larger print."""
    largest = np.full(size, -1, np.int64)
    for row in range(value.size):
        if chosen[row]:
            for combination in range(cells_of.shape[0]):
                cell = cells_of[combination, leaf[row]]
                if cell >= 0 and _is_larger(row, largest[cell], value, low):
                    largest[cell] = row
    return largest


@numba.njit(cache=True)
def _is_larger(row, other, value, low):  # type: ignore[no-untyped-def]
    return other < 0 or value[row] > value[other] or (value[row] == value[other] and low[row] > low[other])


@numba.njit(cache=True)
def _lift(  # type: ignore[no-untyped-def]
    order, up, down, floor, smallest, counts, leader, risers, start, raised, leaf, cells_of, lowest, in_lowest, value, low, reference,
    sum_value, sum_reference
):  # fmt: skip
    """One pass; tells how many cells were lifted, by the largest record that rises anyway.

    Where none does, the leader's largest record is turned: it ends further above its value than it was below, not as far, for the
    two must not meet in the middle (T21). A count's leaf cell is never left below the smallest count.
    """
    lifted = 0
    for cell in order:
        moved = sum_reference[cell] - sum_value[cell]
        vanishes = sum_reference[cell] < smallest and not counts
        if not vanishes and _is_safe(moved, up[cell], down[cell]):
            continue
        lifted += 1
        who, row = leader[cell], risers[cell]
        if row < 0:
            for each in range(start[who], start[who + 1]):
                if _stands_in(cell, each, leaf, cells_of) and _is_larger(each, row, value, low):
                    row = each
        rise = smallest - sum_reference[cell] if vanishes else np.int64(1)
        if up[cell] > 0:
            rise = max(rise, floor[cell] - moved)
        if counts:
            rise = max(rise, smallest - in_lowest[lowest[row]])
        elif reference[row] < value[row]:
            rise = max(rise, np.int64(np.ceil((value[row] - reference[row]) * (2.0 + raised[who]))))
        in_lowest[lowest[row]] += rise
        _add(rise, row, leaf, cells_of, reference, sum_reference)
    return lifted


@numba.njit(cache=True)
def _stands_in(cell, row, leaf, cells_of):  # type: ignore[no-untyped-def]
    return (cells_of[:, leaf[row]] == cell).any()


@numba.njit(cache=True)
def _add(change, row, leaf, cells_of, reference, sum_reference):  # type: ignore[no-untyped-def]
    """Change a record's reference, and the sums that it is part of."""
    reference[row] += change
    for combination in range(cells_of.shape[0]):
        where = cells_of[combination, leaf[row]]
        if where >= 0:
            sum_reference[where] += change
