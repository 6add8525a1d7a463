"""Settling the anchor: permanent changes that protect the sensitive cells of all tables at once, so that few tables need repair.

Where two large respondents move in opposite directions, what is left of a cell's change may be less than its level. The larger
one's change is then raised, once and for ever, never turned: it still has its permanent sign and at least its permanent size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations as subsets
from math import prod

import numba
import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.risk.assess import assess
from statveil.serve.dataset import MeasureBlock, ServedData
from statveil.serve.layout import Layout, ServedDimension
from statveil.serve.stage_one import add_up, rules_table
from statveil.table.levels import Grid, combinations

LARGEST = 1_000_000
"""Positions of a table up to which it is settled; larger ones are settled by the tables of fewer dimensions."""
MOST = 0.5
"""No respondent is changed by more than this share."""
ROUNDS = 3


def settled(data: ServedData) -> ServedData:
    """The dataset with its anchors settled; in the paper's mode there is none, and a count of one cannot be changed further."""
    if data.part.mode != "anchored":
        return data
    cap = float(data.part.cap)
    return replace(
        data,
        blocks={name: block if block.counts else settle(block, data.dimensions, cap=cap) for name, block in data.blocks.items()},
    )


def settle(block: MeasureBlock, dimensions: Sequence[ServedDimension], *, cap: float) -> MeasureBlock:
    """The block with its reference settled."""
    reference = block.reference.copy()
    for axes in _tables(dimensions):
        _settle_table(replace(block, reference=reference), dimensions, axes, reference, cap)
    return replace(block, reference=frozen_array(reference), lowest=frozen_array(block.lowest + np.maximum(reference - block.reference, 0)))


def _tables(dimensions: Sequence[ServedDimension]) -> list[tuple[int, ...]]:
    """The largest sets of dimensions whose tables, with all totals, are not too large; each contains the tables of its subsets."""
    found: list[tuple[int, ...]] = []
    for size in range(len(dimensions), 0, -1):
        for axes in subsets(range(len(dimensions)), size):
            inside = any(set(axes) <= set(other) for other in found)
            if not inside and prod(len(dimensions[axis].full.codes) for axis in axes) <= LARGEST:
                found.append(axes)
    return found


def _settle_table(block: MeasureBlock, dimensions: Sequence[ServedDimension], axes: Sequence[int], reference: IntArray, cap: float) -> None:
    """Raise changes until the sensitive cells of one table are safe, those with the smallest leaders first."""
    layout = Layout(
        dataset="",
        measure=block.id,
        dimensions=tuple(dimensions[axis] for axis in axes),
        levels=tuple(dimensions[axis].lowest for axis in axes),
    )
    grid = Grid(dimensions=layout.cuts)
    sums, leaves, leaf = add_up(block, layout, axes, grid)
    filled = np.flatnonzero(sums.count)
    found = assess(rules_table(block, sums, filled), block.rules)
    level = np.zeros(sums.value.size, dtype=np.int64)
    level[filled] = np.where(found.sensitive, np.maximum(found.upper_level, found.lower_level), 0)
    order = np.flatnonzero(level)
    largest = sums.top[order, 0]
    order = order[np.lexsort((block.tie[sums.leader[order]], largest))]
    floor = np.maximum(np.ceil(level * (1.0 + (cap - 1.0) * block.floor[np.maximum(sums.leader, 0)])), level).astype(np.int64)
    cells_of = np.stack(list(combinations(grid, grid.coordinates(leaves))))
    for _ in range(ROUNDS):
        raised = _raise_changes(
            order,
            level,
            floor,
            sums.leader,
            block.start,
            block.sign,
            leaf,
            cells_of,
            block.value,
            reference,
            sums.value,
            sums.reference,
            MOST,
        )
        if not raised:
            break


@numba.njit(cache=True)
def _given(who, cell, start, leaf, cells_of, value):  # type: ignore[no-untyped-def]
    """What the holding contributes to the cell that it leads."""
    own = 0
    for row in range(start[who], start[who + 1]):
        for combination in range(cells_of.shape[0]):
            if cells_of[combination, leaf[row]] == cell:
                own += value[row]
    return own


@numba.njit(cache=True)
def _raise_changes(order, level, floor, leader, start, sign, leaf, cells_of, value, reference, sum_value, sum_reference, most):  # type: ignore[no-untyped-def]
    """One pass; tells how many changes were raised. A leader's records in the cell share the raise by their size."""
    raised = 0
    for cell in order:
        who = leader[cell]
        moved = sign[who] * (sum_reference[cell] - sum_value[cell])
        if moved >= level[cell]:
            continue
        share = (floor[cell] - moved) / _given(who, cell, start, leaf, cells_of, value)
        for row in range(start[who], start[who + 1]):
            most_change = np.int64(np.ceil(most * value[row]))
            change = abs(reference[row] - value[row])
            larger = min(change + np.int64(np.ceil(share * value[row])), max(most_change, change))
            if larger == change:
                continue
            raised += 1
            reference[row] += sign[who] * (larger - change)
            for combination in range(cells_of.shape[0]):
                where = cells_of[combination, leaf[row]]
                if where >= 0:
                    sum_reference[where] += sign[who] * (larger - change)
    return raised
