"""From the duals of all lines to whole multipliers that a certificate holds, checked in whole numbers before anybody else does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray


class MultiplierTuning(NamedTuple):
    """How finely multipliers are written: by judgement."""

    bits: int = 20  # binary places of the smallest weight
    spare: float = 1e-6  # by which all shrink, so that rounding leaves no cell with more than its weight


TUNING = MultiplierTuning()


class WholeMultipliers(NamedTuple):
    """Of every axis, whole multiples of 2**-scale: of each cell as its line's longest side, and of each line's cover."""

    sides: list[IntArray]
    covers: list[IntArray]
    scale: int


def scale_for(smallest_weight: float) -> int:
    """Binary places that keep the smallest weight well."""
    return max(0, TUNING.bits - int(np.frexp(smallest_weight)[1]) + 1)


def whole_multipliers(sides: list[FloatArray], covers: list[FloatArray], weight: FloatArray, scale: int) -> WholeMultipliers:
    """Rounded down to whole numbers, and shrunk all together so far that no cell gives more than its weight (itself rounded down)."""
    whole_weight = np.floor(np.ldexp(weight, scale))
    by = 1.0
    for _ in range(4):
        whole = [[np.floor(np.ldexp(each * by, scale)).astype(np.int64) for each in kind] for kind in (sides, covers)]
        found = WholeMultipliers(whole[0], whole[1], scale)
        over = float((taken(found) / whole_weight).max(initial=0.0))
        if over <= 1.0:
            return found
        by *= (1 - TUNING.spare) / over
    return WholeMultipliers([0 * each for each in found.sides], [0 * each for each in found.covers], scale)


def taken(held: WholeMultipliers) -> IntArray:
    """What the lines take from each cell's weight."""
    total = np.zeros(held.sides[0].shape, dtype=np.int64)
    for axis, (sides, covers) in enumerate(zip(held.sides, held.covers, strict=True)):
        total += sides.sum(axis=axis, keepdims=True) + covers - 2 * sides
    return total
