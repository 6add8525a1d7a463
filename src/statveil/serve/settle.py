"""Settling the anchor: permanent changes under which every cell of every table is safe, so that no table needs repair.

All cells that can be asked for are sums over leaf cells. A reference that is safe in the table of all dimensions, totals included, is
therefore the answer to every request: the same number in whatever table and order it is asked for.

Where two large respondents move in opposite directions, what is left of a cell's change may be less than its level. The larger
one's change is then raised, once and for ever. What is still not safe after that is lifted above its value: lifting can push other
cells off their safe side, which are lifted in turn, but none that was lifted ever falls back, so that it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations as subsets
from math import prod

import numba
import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.risk.assess import assess
from statveil.serve.dataset import MeasureBlock, ServedData
from statveil.serve.layout import Layout, ServedDimension
from statveil.serve.stage_one import Sums, add_up, rules_table
from statveil.table.levels import Grid, combinations

LARGEST = 1_000_000
"""Positions of a table up to which it is settled; larger ones are settled by the tables of fewer dimensions."""
MOST = 0.5
"""No respondent's change is raised beyond this share, unless a cell has to be lifted."""
ROUNDS = 3


def settled(data: ServedData) -> ServedData:
    """The dataset with its anchors settled; in the paper's mode there are none."""
    if data.part.mode != "anchored":
        return data
    cap = float(data.part.cap)
    return replace(data, blocks={name: settle(block, data.dimensions, cap=cap) for name, block in data.blocks.items()})


def settle(block: MeasureBlock, dimensions: Sequence[ServedDimension], *, cap: float) -> MeasureBlock:
    """The block with its reference settled."""
    leaf = _leaf_cells(block)
    reference = _small_counts_rounded(block, leaf) if block.counts else block.reference.copy()
    tables = _tables(dimensions)
    if not block.counts:  # a count of one cannot be changed by more than itself
        for axes in tables:
            _Table.of(block, dimensions, axes, reference, cap).raise_changes(block, reference)
    while sum(_Table.of(block, dimensions, axes, reference, cap).lift(block, leaf, reference) for axes in tables):
        pass
    return replace(block, reference=frozen_array(reference))


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
    count, noised, drawn = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.uint64)
    holding = np.repeat(np.arange(block.start.size - 1), np.diff(block.start))
    np.add.at(count, leaf, block.value)
    np.add.at(noised, leaf, block.reference)
    np.add.at(drawn, leaf, block.tie[holding].astype(np.uint64))
    up = (drawn >> np.uint64(11)) * block.smallest < count * 2.0**53
    room = count - block.smallest
    rounded = np.where(room < 0, np.where(up, block.smallest, 0), count + np.clip(noised - count, -room, room))
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
            order=filled[np.lexsort((block.tie[sums.leader[filled]], sums.top[filled, 0]))],
            up=up,
            down=down,
            floor=np.maximum(np.ceil(level * (1.0 + (cap - 1.0) * block.floor[np.maximum(sums.leader, 0)])), level).astype(np.int64),
            leaf=leaf,
            cells_of=np.stack(list(combinations(grid, grid.coordinates(leaves)))),
        )

    def raise_changes(self, block: MeasureBlock, reference: IntArray) -> None:
        """Raise the changes of those who lead sensitive cells, in their own directions, as far as that may go."""
        sums, level = self.sums, np.maximum(self.up, self.down)
        order = self.order[level[self.order] > 0]
        for _ in range(ROUNDS):
            raised = _raise_changes(
                order, level, self.floor, sums.leader, block.start, block.sign, self.leaf, self.cells_of, block.value, reference,
                sums.value, sums.reference, MOST,
            )  # fmt: skip
            if not raised:
                break

    def lift(self, block: MeasureBlock, leaf: IntArray, reference: IntArray) -> int:
        """Lift every cell that is not safe; tells how many were lifted."""
        sums, lifted = self.sums, 0
        in_leaf = np.zeros(int(leaf.max(initial=-1)) + 1, np.int64)
        np.add.at(in_leaf, leaf, reference)
        while True:
            more = _lift(
                self.order, self.up, self.down, self.floor, block.smallest, block.counts, sums.leader, block.start, self.leaf,
                self.cells_of, leaf, in_leaf, block.value, reference, sums.value, sums.reference,
            )  # fmt: skip
            if not more:
                return lifted
            lifted += more


@numba.njit(cache=True)
def _given(who, cell, start, leaf, cells_of, value):  # type: ignore[no-untyped-def]
    """What the holding contributes to the cell that it leads, and its largest record there."""
    own, largest = 0, -1
    for row in range(start[who], start[who + 1]):
        for combination in range(cells_of.shape[0]):
            if cells_of[combination, leaf[row]] == cell:
                own += value[row]
                if largest < 0 or value[row] > value[largest]:
                    largest = row
    return own, largest


@numba.njit(cache=True)
def _raise_changes(order, level, floor, leader, start, sign, leaf, cells_of, value, reference, sum_value, sum_reference, most):  # type: ignore[no-untyped-def]
    """One pass; tells how many changes were raised. A leader's records in the cell share the raise by their size."""
    raised = 0
    for cell in order:
        who = leader[cell]
        moved = sign[who] * (sum_reference[cell] - sum_value[cell])
        if moved >= level[cell]:
            continue
        share = (floor[cell] - moved) / _given(who, cell, start, leaf, cells_of, value)[0]
        for row in range(start[who], start[who + 1]):
            most_change = np.int64(np.ceil(most * value[row]))
            change = abs(reference[row] - value[row])
            larger = min(change + np.int64(np.ceil(share * value[row])), max(most_change, change))
            if larger == change:
                continue
            raised += 1
            _add(sign[who] * (larger - change), row, leaf, cells_of, reference, sum_reference)
    return raised


@numba.njit(cache=True)
def _lift(  # type: ignore[no-untyped-def]
    order, up, down, floor, smallest, counts, leader, start, leaf, cells_of, lowest, in_lowest, value, reference, sum_value, sum_reference
):  # fmt: skip
    """One pass; tells how many cells were lifted. What is lifted is the leader's largest record in the cell.

    A record that had fallen is turned: it ends at least as far above its value as it was below. A count's leaf cell is never left
    below the smallest count (it is zero or not below it before).
    """
    lifted = 0
    for cell in order:
        moved = sum_reference[cell] - sum_value[cell]
        low = sum_reference[cell] < smallest and not counts
        if not low and (moved >= up[cell] if moved > 0 else -moved >= down[cell]):
            continue
        lifted += 1
        row = _given(leader[cell], cell, start, leaf, cells_of, value)[1]
        rise = smallest - sum_reference[cell] if low else np.int64(1)
        if up[cell] > 0:
            rise = max(rise, floor[cell] - moved)
        rise = max(rise, smallest - in_lowest[lowest[row]] if counts else 2 * (value[row] - reference[row]))
        in_lowest[lowest[row]] += rise
        _add(rise, row, leaf, cells_of, reference, sum_reference)
    return lifted


@numba.njit(cache=True)
def _add(change, row, leaf, cells_of, reference, sum_reference):  # type: ignore[no-untyped-def]
    """Change a record's reference, and the sums that it is part of."""
    reference[row] += change
    for combination in range(cells_of.shape[0]):
        where = cells_of[combination, leaf[row]]
        if where >= 0:
            sum_reference[where] += change
