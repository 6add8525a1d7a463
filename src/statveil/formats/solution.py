"""What goes with a linear system in the exchange of RCTA: solution files (.sol) and direction files.

A solution has a line `i a x p` per cell: index, value, released value, 1 if sensitive. A direction file has a line
`cell 0` (down) or `cell 1` (up) per sensitive cell. Solutions hold the originals: they stay in the office.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.text.lines import TextLines, Words
from statveil.formats.text.typeset import Amounts, Choices, lines_of


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Value, released value and mark of each cell, amounts in integer units of 10**-decimals."""

    value: IntArray
    released: IntArray
    sensitive: BoolArray
    decimals: int


def write_solution(solution: Solution, path: str | Path) -> None:
    """Write a .sol file, amounts as exact decimal numbers."""
    columns: list[Amounts | Choices] = [
        Amounts(np.arange(solution.value.size), 0),
        Amounts(solution.value, solution.decimals),
        Amounts(solution.released, solution.decimals),
        Choices(["0", "1"], solution.sensitive.astype(np.int64)),
    ]
    with Path(path).open("wb") as file:
        file.writelines(lines_of(columns))


def read_solution(path: str | Path, *, decimals: int) -> Solution:
    """Read a .sol file; an amount with more decimals than these is refused."""
    text = TextLines(Path(path))
    words = text.block(text.rest, "a cell").table(4, words="a line has four fields: index, value, released value, 0 or 1")
    words.require_numbering(0)
    return Solution(
        value=_amounts(words, 1, "value", decimals),
        released=_amounts(words, 2, "released value", decimals),
        sensitive=_zero_or_one(words, 3, "mark"),
        decimals=decimals,
    )


def write_directions(senses: IntArray, path: str | Path) -> None:
    """Write the senses (+1 up, -1 down, 0 not sensitive) as a direction file."""
    with Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{cell} {int(senses[cell] > 0)}\n" for cell in np.flatnonzero(senses).tolist())


def read_directions(path: str | Path, sensitive: BoolArray) -> IntArray:
    """Senses from a direction file: each sensitive cell once, no other."""
    text = TextLines(Path(path))
    words = text.block(text.rest, "a cell").table(2, words="a line has two fields: cell and 0 (down) or 1 (up)")
    cell, up = _amounts(words, 0, "cell", 0), _zero_or_one(words, 1, "direction")
    words.block.refuse((cell < 0) | (cell >= sensitive.size), f"the cell lies outside 0 to {sensitive.size - 1}")
    words.block.refuse(~sensitive[cell], "the cell is not sensitive")
    repeated = np.ones(cell.size, dtype=np.bool_)
    repeated[np.unique(cell, return_index=True)[1]] = False
    words.block.refuse(repeated, "the cell has a direction already")
    missing = int(np.count_nonzero(sensitive)) - cell.size
    if missing:
        raise InputError(f"{text.name}: {missing} sensitive cells have no direction.", hint="Give one for each.")
    senses = np.zeros(sensitive.size, dtype=np.int64)
    senses[cell] = np.where(up, 1, -1)
    return senses


def _amounts(words: Words, field: int, name: str, decimals: int) -> IntArray:
    amounts = words.numbers(field, name).in_units(decimals)
    words.block.refuse(amounts.too_large, f"the {name} is too large")
    words.block.refuse(~amounts.exact, f"the {name} has more than {decimals} decimals")
    return amounts.units


def _zero_or_one(words: Words, field: int, name: str) -> BoolArray:
    number = _amounts(words, field, name, 0)
    words.block.refuse((number != 0) & (number != 1), f"the {name} must be 0 or 1")
    return np.asarray(number == 1)
