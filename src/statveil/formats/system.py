"""Cells and linear relations between them, as plain arrays: what every file form of a linear system is read to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray

STATUSES = "suzm"
"""Safe, primary unsafe, protected or empty, secondary."""
MOST_DECIMALS = 6
LARGEST_SUM = 2.0**62
"""Relations whose terms could reach this are refused: they could not be added up in 64 bits."""


@dataclass(frozen=True, kw_only=True)
class LinearSystem:
    """Cells and relations of a file, amounts in integer units of 10**-decimals (plus or minus 2**62: no bound)."""

    relations: csr_matrix
    rhs: IntArray
    value: IntArray
    cost: FloatArray
    status: AnyArray
    """A letter per cell: s safe, u sensitive, z fixed, m secondary."""
    lower: IntArray
    upper: IntArray
    lower_level: IntArray
    upper_level: IntArray
    decimals: int


def how_to_mend(system: LinearSystem, broken: BoolArray) -> str:
    """What to do about relations that do not hold, by whether rounding explains it: half a unit per term, times its factor."""
    off = np.abs(system.relations @ system.value - system.rhs)[broken]
    explained = 2 * off <= (abs(system.relations) @ np.ones(system.value.size, dtype=np.int64))[broken]
    allow = "or allow it: --non-additive, in Python non_additive=True."
    if explained.all():
        return f"All differences are small enough to come from rounding. Write more decimals, {allow}"
    count = int(np.count_nonzero(~explained))
    return f"Rounding does not explain {count} of them. Mend the file, {allow}"
