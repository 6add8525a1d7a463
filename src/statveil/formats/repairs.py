"""Files about repairs: which cells and relations may give (RCTA's repair file), and what was given (JSON)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from statveil.core.errors import FormatError

What = Literal["lower", "upper", "overshoot", "relation", "protection-up", "protection-down"]
"""A cell's lower or upper bound, or how far past its level it may go (cap, variant exact); a relation; or a level, on one side."""


class Relaxation(NamedTuple):
    """One requirement that was not kept, and by how many units. `place` is a cell, or for what="relation" a relation.

    A relation is off by `by`: its sum is the right-hand side plus it, of either sign. All else is by more than zero.
    """

    what: What
    place: int
    by: int


@dataclass(frozen=True, kw_only=True)
class MayGive:
    """What a repair may touch; nothing else gives."""

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
