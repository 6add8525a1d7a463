"""Linear systems, from and to files: cells and relations between them as plain arrays. The ending of the name tells the form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray

ARRAYS = ".npz"
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


def read_system(path: str | Path, *, non_additive: bool = False, negative_levels: bool = False) -> LinearSystem:
    """Read a linear system: arrays if the name ends in .npz, else a JJ file.

    A table that does not add up is refused unless `non_additive` allows it. A level below zero is refused unless
    `negative_levels` allows it: then it says that nothing is asked on that side, as a level of zero does.
    """
    if Path(path).suffix.lower() == ARRAYS:
        from statveil.formats.npz import read_arrays as read
    else:
        from statveil.formats.jj import read_text as read
    return read(path, non_additive=non_additive, negative_levels=negative_levels)


def write_system(system: LinearSystem, path: str | Path) -> None:
    """Write a file that reads back to the same system: arrays if the name ends in .npz, else a JJ file."""
    if Path(path).suffix.lower() == ARRAYS:
        from statveil.formats.npz import write_arrays as write
    else:
        from statveil.formats.jj import write_text as write
    write(system, path)
