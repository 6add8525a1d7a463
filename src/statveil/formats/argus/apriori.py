"""A-priori files (.hst): what the office decides about single cells, a line each: the codes, the action, its amounts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from statveil.core.errors import FormatError
from statveil.formats.argus.cells import read_number
from statveil.formats.argus.lines import ArgusLine, fits_line, read_lines
from statveil.formats.argus.records import fields_of


class Action(StrEnum):
    SAFE = "s"
    UNSAFE = "u"
    PROTECTED = "p"
    SECONDARY_MANUAL = "m"
    SECONDARY = "ml"
    COST = "c"
    LEVELS = "pl"


_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_AMOUNTS = {Action.COST: 1, Action.LEVELS: 2}
_WORDS = {**{str(action): action for action in Action}, "w": Action.COST}
_KNOWN = "s, u, p, m, ml, c or w with a cost, pl with two levels"


@dataclass(frozen=True, kw_only=True)
class Apriori:
    """One line. An empty code is the total. `amounts` are the cost, or the lower and the upper protection level."""

    codes: tuple[str, ...]
    action: Action
    amounts: tuple[Decimal, ...] = ()
    line: ArgusLine | None = field(default=None, compare=False, repr=False)


def read_apriori(path: str | Path, *, separator: str | None = None, dimensions: int | None = None) -> tuple[Apriori, ...]:
    """Read a .hst file; separator and number of codes are found in its first line unless given."""
    lines = read_lines(Path(path))
    if not lines:
        return ()
    separator = separator or max(",;\t", key=_QUOTED.sub("", lines[0].text).count)
    found = []
    for line in lines:
        found.append(_read(line, fields_of(line, separator), dimensions))
        dimensions = len(found[0].codes)
    return tuple(found)


def _read(line: ArgusLine, fields: list[str], dimensions: int | None) -> Apriori:
    place = _place_of_action(line, fields) if dimensions is None else dimensions
    word = fields[place].strip().lower() if place < len(fields) else ""
    if word == "ab":
        raise line.fault("the action ab (bounds) is not known to this version", hint=f"Known: {_KNOWN}.")
    if word not in _WORDS:
        raise line.fault(f"no action after {place} codes", hint=f"Known: {_KNOWN}.")
    action = _WORDS[word]
    rest = [text for text in fields[place + 1 :] if text.strip()]
    if len(rest) != _AMOUNTS.get(action, 0):
        raise line.fault(f"the action {word} takes {_AMOUNTS.get(action, 0)} numbers, not {len(rest)}")
    return Apriori(codes=tuple(text.rstrip() for text in fields[:place]), action=action, amounts=_numbers(line, action, rest), line=line)


def _place_of_action(line: ArgusLine, fields: list[str]) -> int:
    words = [text.strip().lower() for text in fields]
    for back in (1, 2, 3):
        place = len(words) - back
        if place > 0 and words[place] in _WORDS and _AMOUNTS.get(_WORDS[words[place]], 0) == back - 1:
            return place
    raise line.fault("no action in the line", hint=f"A line reads: codes, action. Known: {_KNOWN}.")


def _numbers(line: ArgusLine, action: Action, texts: Sequence[str]) -> tuple[Decimal, ...]:
    what = "cost" if action is Action.COST else "protection level"
    numbers = [read_number(line, text, what) for text in texts]
    if any(number is None or number < 0 for number in numbers):
        raise line.fault(f"the {what} must be a number, zero or more")
    amounts = tuple(number for number in numbers if number is not None)
    return tuple(number or Decimal(1) for number in amounts) if action is Action.COST else amounts


def write_apriori(lines: Sequence[Apriori], path: str | Path, *, separator: str = ",") -> None:
    """Write a .hst file that reads back to the same lines."""
    with Path(path).open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(f"{separator.join(_fields(said))}\n" for said in lines)


def _fields(said: Apriori) -> list[str]:
    for code in said.codes:
        if not fits_line(code) or code != code.rstrip():
            raise FormatError(f"A .hst file cannot hold the code {code!r}.", hint="Leave blanks at its end and line ends out.")
    codes = ['"' + code.replace('"', '""') + '"' for code in said.codes]
    return [*codes, str(said.action), *(f"{amount:f}" for amount in said.amounts)]
