"""The last touch in whole numbers: one leaf cell after the other goes where its rows cost least, and nothing that holds is given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import IntArray
from statveil.server.cube.solve.program import Program

if TYPE_CHECKING:
    from statveil.server.cube.solve.adjust import Limits


class PolishTuning(NamedTuple):
    sweeps: int = 4
    """By judgement: later ones move next to nothing."""


TUNING = PolishTuning()


class Kept(NamedTuple):
    """What must hold: by row sense, floor, most; by leaf cell the least and the greatest change."""

    sense: IntArray
    floor: IntArray
    most: IntArray
    low: IntArray
    high: IntArray


def polish(program: Program, floor: IntArray, limits: Limits, value: IntArray, change: IntArray) -> IntArray:
    """Changes that cost no more; those that lie outside their bounds already, for repair's sake, go no further."""
    change = change.copy()
    low = np.maximum(np.minimum(np.ceil(program.low).astype(np.int64), change), limits.least - value)
    high = np.maximum(np.floor(program.high).astype(np.int64), change)
    kept = Kept(program.sense, floor, limits.most, low, high)
    for _ in range(TUNING.sweeps):
        if not _sweep(program.rows_of, program, kept, change):
            break
    return change


@numba.njit(cache=True, nogil=True)
def _sweep(rows_of, program, kept, change):  # type: ignore[no-untyped-def]
    """Once over all leaves: each goes where its rows cost least; tells how many have moved."""
    begin, item = rows_of.start, rows_of.item
    moved = np.zeros(kept.sense.size, np.int64)
    for leaf in range(change.size):
        for at in range(begin[leaf], begin[leaf + 1]):
            moved[item[at]] += change[leaf]
    count = 0
    for leaf in range(change.size):
        inside = item[begin[leaf] : begin[leaf + 1]]
        low, high = _rooms(inside, kept, moved, change[leaf], kept.low[leaf], kept.high[leaf])
        if low >= high:
            continue
        step = min(max(_best(inside, program, moved), low), high)
        if step != 0:
            change[leaf] += step
            for row in inside:
                moved[row] += step
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _rooms(inside, kept, moved, change, low, high):  # type: ignore[no-untyped-def]
    """How far down and up a leaf cell can go."""
    low, high = low - change, high - change
    for row in inside:
        if kept.sense[row] > 0:
            low = max(low, min(kept.floor[row] - moved[row], 0))
        elif kept.sense[row] < 0:
            high = min(high, max(-kept.floor[row] - moved[row], 0))
        low = max(low, min(-kept.most[row] - moved[row], 0))
        high = min(high, max(kept.most[row] - moved[row], 0))
    return min(low, 0), max(high, 0)


@numba.njit(cache=True, nogil=True)
def _best(inside, program, moved):  # type: ignore[no-untyped-def]
    """The step at which the rows' costs balance: the weighted median of where each would have it."""
    where, weight = np.empty(inside.size), np.empty(inside.size)
    for place in range(inside.size):
        row = inside[place]
        sense = program.sense[row]
        where[place] = (sense * program.floor[row] if sense != 0 else program.target[row]) - moved[row]
        weight[place] = program.weight[row] / program.size[row]
    order, half, total = np.argsort(where), weight.sum() / 2, 0.0
    for place in order:
        total += weight[place]
        if total >= half:
            return np.int64(np.rint(where[place]))
    return np.int64(0)
