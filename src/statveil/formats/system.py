"""Linear systems, from and to files: cells and relations between them as plain arrays. The ending of the name tells the form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray, fewest_decimals
from statveil.core.errors import FormatError, InputError
from statveil.formats.amounts import NO_BOUND

ARRAYS = ".npz"
STATUSES = "suzm"
"""Safe, primary unsafe, protected or empty, secondary."""
MOST_DECIMALS = 6
Decimals = int | Literal["all"] | None
"""Of the numbers released: None takes those of the values (and right-hand sides), "all" those of the levels as well."""
MORE_DECIMALS = "Widen the bounds, or choose more decimals: --decimals, in Python decimals=."
LARGEST_SUM = 2.0**62
"""Relations whose terms could reach this are refused: they could not be added up in 64 bits."""


@dataclass(frozen=True, kw_only=True)
class LinearSystem:
    """Cells and relations of a file, amounts in integer units of 10**-decimals (plus or minus 2**62: no bound).

    relations, rhs: a row for each, whose factors times the values are the right-hand side. value, cost: of each cell.
    lower, upper: its bounds. lower_level, upper_level: its protection levels. decimals: of all amounts.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> system = read_system(path)
    >>> (system.relations @ system.value - system.rhs).tolist(), system.decimals
    ([0], 0)
    """

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


def check_decimals(decimals: Decimals) -> None:
    """Refuse what is no choice of decimals."""
    whole = isinstance(decimals, int | np.integer) and not isinstance(decimals, bool)
    if decimals is not None and decimals != "all" and not (whole and 0 <= int(decimals) <= MOST_DECIMALS):
        raise InputError(f'decimals must be a number from 0 to {MOST_DECIMALS}, "all" or None, not {decimals!r}.')


def in_decimals(system: LinearSystem, decimals: Decimals, *, file: str = "The system") -> LinearSystem:
    """The system in units of so many decimals: levels rounded up, bounds inwards; values are never rounded.

    The decimals of a level may not become those of a release: only the numbers that moved would have them (T19).
    """
    check_decimals(decimals)
    needed = fewest_decimals(np.concatenate([system.value, system.rhs]), system.decimals)
    wanted = system.decimals if decimals == "all" else needed if decimals is None else int(decimals)
    if wanted < needed:
        raise InputError(
            f"{file}: the values have {needed} decimals, more than the {wanted} chosen.",
            hint="Round the table first, so that it still adds up, or choose as many decimals as the values have.",
        )
    if wanted == system.decimals:
        return system
    return _finer(system, wanted, file) if wanted > system.decimals else _coarser(system, wanted, file)


def _coarser(system: LinearSystem, decimals: int, file: str) -> LinearSystem:
    unit = 10 ** (system.decimals - decimals)
    lower, upper = _unless_endless(system.lower, -(-system.lower // unit)), _unless_endless(system.upper, system.upper // unit)
    empty = np.flatnonzero(lower > upper)
    if empty.size:
        raise FormatError(
            f"{file}: no number with {decimals} decimals lies between the bounds of cell {empty[0]} ({empty.size} such cells).",
            hint=MORE_DECIMALS,
        )
    levels = {name: -(-getattr(system, name) // unit) for name in ("lower_level", "upper_level")}
    exact = {name: getattr(system, name) // unit for name in ("value", "rhs")}
    return replace(system, **exact, lower=lower, upper=upper, **levels, decimals=decimals)


def _finer(system: LinearSystem, decimals: int, file: str) -> LinearSystem:
    """As many units as before, each in smaller ones."""
    times, most = 10 ** (decimals - system.decimals), (LARGEST_EXACT - 1) // 10 ** (decimals - system.decimals)
    amounts: dict[str, Any] = {}
    for name in ("value", "rhs", "lower_level", "upper_level"):
        amounts[name] = getattr(system, name) * times
        if (np.abs(getattr(system, name)) > most).any():
            raise FormatError(f"{file}: an amount is too large to be computed exactly with {decimals} decimals (2^53 units or more).")
    for name in ("lower", "upper"):
        bound = getattr(system, name)
        amounts[name] = np.where(np.abs(bound) > most, np.sign(bound) * NO_BOUND, np.clip(bound, -most, most) * times)
    return replace(system, **amounts, decimals=decimals)


def _unless_endless(bound: IntArray, rounded: IntArray) -> IntArray:
    return np.where(np.abs(bound) >= NO_BOUND, bound, rounded)


def how_to_mend(system: LinearSystem, broken: BoolArray) -> str:
    """What to do about relations that do not hold, by whether rounding explains it: half a unit per term, times its factor."""
    off = np.abs(system.relations @ system.value - system.rhs)[broken]
    explained = 2 * off <= (abs(system.relations) @ np.ones(system.value.size, dtype=np.int64))[broken]
    allow = "or allow it: --non-additive, in Python non_additive=True."
    if explained.all():
        return f"All differences are small enough to come from rounding. Write more decimals, {allow}"
    count = int(np.count_nonzero(~explained))
    return f"Rounding does not explain {count} of them. Mend the file, {allow}"


def read_system(path: str | Path, *, decimals: Decimals = None, non_additive: bool = False, negative_levels: bool = False) -> LinearSystem:
    """Read a linear system.

    path: arrays if the name ends in .npz, else a JJ file.
    decimals: amounts are taken with as many as the values have, or with these; levels are rounded up to that, bounds inwards.
    "all" takes the decimals of the levels too, as the papers do: what is then released may have decimals where no value has.
    non_additive: take a table that does not add up, which is refused otherwise.
    negative_levels: take levels below zero, which are refused otherwise: nothing is asked on that side, as with a level of zero.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> read_system(path).value.tolist()
    [100, 20, 80]
    """
    if Path(path).suffix.lower() == ARRAYS:
        from statveil.formats.npz import read_arrays as read
    else:
        from statveil.formats.jj import read_text as read
    return read(path, decimals=decimals, non_additive=non_additive, negative_levels=negative_levels)


def write_system(system: LinearSystem, path: str | Path) -> None:
    """Write a file that reads back to the same system with decimals="all".

    system: cells, relations, bounds and levels. path: arrays if the name ends in .npz, else a JJ file.

    >>> import tempfile
    >>> lines = ["0", "3", "0 100 1 s 0 200 0 0 0", "1 20 1 u 0 200 5 5 0", "2 80 1 s 0 200 0 0 0", "1", "0 3 : 0 (-1) 1 (1) 2 (1)"]
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> _ = path.write_text("\\n".join(lines))
    >>> write_system(read_system(path), path.with_suffix(".npz"))
    >>> read_system(path.with_suffix(".npz")).status.tolist()
    ['s', 'u', 's']
    """
    if Path(path).suffix.lower() == ARRAYS:
        from statveil.formats.npz import write_arrays as write
    else:
        from statveil.formats.jj import write_text as write
    write(system, path)
