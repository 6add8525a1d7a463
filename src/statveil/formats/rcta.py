"""What goes with a linear system in the exchange of RCTA: solution files (.sol), direction files, and files about repairs.

A solution has a line `i a x p` per cell: index, value, released value, 1 if sensitive. A direction file has a line
`cell 0` (down) or `cell 1` (up) per sensitive cell. A repair file says which cells and relations may give; what was given is told as
JSON. Solutions hold the originals: they stay in the office.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import FormatError, InputError
from statveil.formats.amounts import AmountColumn, WordColumn, lines_of
from statveil.formats.text import BlockWords, TextLines

What = Literal["lower", "upper", "overshoot", "relation", "protection-up", "protection-down"]
"""A cell's lower or upper bound, or how far past its level it may go (cap, variant exact); a relation; or a level, on one side."""


class Relaxation(NamedTuple):
    """One requirement that was not kept, and by how many units.

    what: which kind. place: a cell, or for what="relation" a relation. by: more than zero; only a relation is off by an amount of either
    sign: its sum is the right-hand side plus `by`.

    >>> Relaxation("relation", 0, -2).by
    -2
    """

    what: What
    place: int
    by: int


@dataclass(frozen=True, kw_only=True)
class MayGive:
    """What a repair may touch; nothing else gives.

    relations: by their numbers.

    >>> sorted(MayGive(relations=frozenset([0]), upper=frozenset([4, 2])).upper)
    [2, 4]
    """

    relations: frozenset[int] = frozenset()
    upper: frozenset[int] = frozenset()
    """Cells whose upper bound may give."""
    lower: frozenset[int] = frozenset()
    """Cells whose lower bound may give; RCTA's file names none."""
    protection: frozenset[int] = frozenset()
    """Sensitive cells whose protection may give, if that is allowed at all."""


def read_may_give(path: str | Path, *, cells: int, relations: int) -> MayGive:
    """RCTA's repair file: a count and so many numbers, three times: relations, cells (upper bounds), sensitive cells; from 0."""
    path = Path(path)
    try:
        words = path.read_text(encoding="utf-8-sig").split()
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not a text file.") from None
    lists, place = [], 0
    for what, limit in (("relations", relations), ("cells", cells), ("sensitive cells", cells)):
        numbers = _counted(path, words[place:], what)
        place += 1 + len(numbers)
        if any(number >= limit for number in numbers):
            raise FormatError(f"{path}: the list of {what} names one that does not exist.", hint=f"Numbers go from 0 to {limit - 1}.")
        lists.append(frozenset(numbers))
    if place != len(words):
        raise FormatError(f"{path}: goes on after the list of sensitive cells.")
    return MayGive(relations=lists[0], upper=lists[1], protection=lists[2])


def _counted(path: Path, words: Sequence[str], what: str) -> list[int]:
    if not words or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words[:1]):
        raise FormatError(f"{path}: the number of {what} is missing.", hint="The file holds three lists, each behind its length.")
    count = int(words[0])
    numbers = words[1 : 1 + count]
    if len(numbers) < count or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in numbers):
        raise FormatError(f"{path}: the list of {what} is too short, or holds something else than numbers.")
    return [int(word) for word in numbers]


def write_repairs(
    relaxations: Sequence[Relaxation], order: Sequence[str], path: str | Path, *, decimals: int, words: Sequence[str] = ()
) -> None:
    """All that was relaxed, amounts exact in the published decimals; `words` says of each where it is. Confidential."""
    rows: list[dict[str, Any]] = [
        {"what": each.what, "place": each.place, "by": f"{Decimal(each.by).scaleb(-decimals):f}"} for each in relaxations
    ]
    for row, where in zip(rows, words, strict=False):
        row["words"] = where
    weakened = any(each.what.startswith("protection") for each in relaxations)
    content = {"protection_weakened": weakened, "order": list(order), "repairs": rows}
    Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8", newline="\n")


def read_repairs(path: str | Path, *, decimals: int) -> tuple[Relaxation, ...]:
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return tuple(_relaxation(row, decimals) for row in content["repairs"])
    except (OSError, ValueError, TypeError, KeyError, InvalidOperation):
        raise FormatError(f"{path}: not a list of repairs.") from None


def _relaxation(row: Any, decimals: int) -> Relaxation:
    what, place, by = row["what"], row["place"], Decimal(row["by"]).scaleb(decimals)
    known = what in get_args(What) and isinstance(place, int) and not isinstance(place, bool) and place >= 0
    if not known or not by.is_finite() or by != int(by):
        raise ValueError("unknown repair")
    return Relaxation(what, place, int(by))


@dataclass(frozen=True, kw_only=True)
class Solution:
    """What was released of a linear system.

    value, released: of each cell, before and after, in integer units of 10**-decimals. sensitive: which cells are.
    decimals: of all amounts.

    >>> Solution(value=np.array([205]), released=np.array([250]), sensitive=np.array([True]), decimals=1).released.tolist()  # 25.0
    [250]
    """

    value: IntArray
    released: IntArray
    sensitive: BoolArray
    decimals: int


def write_solution(solution: Solution, path: str | Path) -> None:
    """Write a .sol file, amounts as exact decimal numbers.

    solution: what was released. path: the file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.sol"
    >>> write_solution(Solution(value=np.array([205]), released=np.array([250]), sensitive=np.array([True]), decimals=1), path)
    >>> path.read_text()
    '0 20.5 25.0 1\\n'
    """
    columns: list[AmountColumn | WordColumn] = [
        AmountColumn(np.arange(solution.value.size), 0),
        AmountColumn(solution.value, solution.decimals),
        AmountColumn(solution.released, solution.decimals),
        WordColumn(["0", "1"], solution.sensitive.astype(np.int64)),
    ]
    with Path(path).open("wb") as file:
        file.writelines(lines_of(columns))


def read_solution(path: str | Path, *, decimals: int) -> Solution:
    """Read a .sol file.

    path: the file. decimals: in whose units amounts come; one with more decimals than these is refused.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.sol"
    >>> _ = path.write_text("0 20.5 25 1\\n")
    >>> read_solution(path, decimals=1).released.tolist()
    [250]
    """
    text = TextLines(Path(path))
    words = text.block(text.rest, "a cell").table(4, words="a line has four fields: index, value, released value, 0 or 1")
    words.require_numbering(0)
    return Solution(
        value=_amounts(words, 1, "value", decimals),
        released=_amounts(words, 2, "released value", decimals, hint="Say how many were chosen: --decimals, in Python decimals=."),
        sensitive=_zero_or_one(words, 3, "mark"),
        decimals=decimals,
    )


def write_directions(senses: IntArray, path: str | Path) -> None:
    """Write the senses as a direction file.

    senses: of each cell, +1 up, -1 down, 0 not sensitive. path: the file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.dir"
    >>> write_directions(np.array([0, 1, -1]), path)
    >>> path.read_text()
    '1 1\\n2 0\\n'
    """
    with Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{cell} {int(senses[cell] > 0)}\n" for cell in np.flatnonzero(senses).tolist())


def read_directions(path: str | Path, sensitive: BoolArray) -> IntArray:
    """Senses from a direction file: each sensitive cell once, no other.

    path: the file. sensitive: which cells are.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.dir"
    >>> _ = path.write_text("1 1\\n2 0\\n")
    >>> read_directions(path, np.array([False, True, True])).tolist()
    [0, 1, -1]
    """
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


def _amounts(words: BlockWords, field: int, name: str, decimals: int, *, hint: str = "") -> IntArray:
    amounts = words.numbers(field, name).in_units(decimals)
    words.block.refuse(amounts.too_large, f"the {name} is too large")
    words.block.refuse(~amounts.exact, f"the {name} has more than {decimals} decimals", hint=hint)
    return amounts.units


def _zero_or_one(words: BlockWords, field: int, name: str) -> BoolArray:
    number = _amounts(words, field, name, 0)
    words.block.refuse((number != 0) & (number != 1), f"the {name} must be 0 or 1")
    return np.asarray(number == 1)
