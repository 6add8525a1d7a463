"""What the office decides itself, cell by cell: a-priori statuses, levels, costs and bounds, and waivers."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import FormatError, RuleError
from statveil.risk.rules.base import Finding, Level, Number, above, both_ways, ceil_amount, exact, percent_of_value
from statveil.tables.table import Table, find_cell

WORDS = ("status", "view")
NUMBERS = ("lower", "upper", "level", "cost", "minimum", "maximum")


def read_cells(path: Path) -> tuple[ManualCell, ...]:
    """One cell per line; a fault names its line. Semicolons separate where the header has more of them than commas;
    then a comma is a decimal comma."""
    text = _text(path)
    header_line = text.partition("\n")[0]
    separator = ";" if header_line.count(";") > header_line.count(",") else ","
    reader = csv.reader(text.splitlines(), delimiter=separator)
    header = next(reader, [])
    if not {*WORDS, *NUMBERS} & set(header):
        raise FormatError(f"{path.name} says nothing about its cells.", hint=f"Add a column among {', '.join((*WORDS, *NUMBERS))}.")
    return tuple(_cell(f"{path.name}, line {reader.line_num}", header, line, separator) for line in reader if line)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path.name} cannot be read as UTF-8 text ({type(error).__name__}).") from None


def _cell(place: str, header: list[str], line: list[str], separator: str) -> ManualCell:
    if len(line) != len(header):
        raise FormatError(f"{place}: {len(line)} fields where the header has {len(header)}.")
    given = {name: field for name, field in zip(header, line, strict=True) if field.strip()}
    labels = {name: field for name, field in given.items() if name not in (*WORDS, *NUMBERS)}
    said: dict[str, Any] = {name: given[name].strip() for name in WORDS if name in given}
    said |= {name: _decimal_point(given[name], separator) for name in NUMBERS if name in given}
    try:
        return ManualCell(cell=labels, **said)
    except RuleError as error:
        raise RuleError(f"{place}: {error.message}", hint=error.hint) from None


def _decimal_point(number: str, separator: str) -> str:
    return number.strip().replace(",", ".") if separator == ";" else number.strip()


ManualStatus = Literal["sensitive", "safe", "frozen"]


@dataclass(frozen=True, kw_only=True)
class ManualCell:
    """The office's word on one cell.

    cell: {dimension: code}; a dimension left out means its total. view: which of several linked tables is meant.
    status: "sensitive", "safe" (no rule makes it sensitive), "frozen" (released as it is), or None.
    lower, upper: protection levels as amounts; level: in percent of |value| (one number, or lower and upper).
    cost: what a unit's change costs. minimum, maximum: bounds on the released amount.
    spread: "safe" is meant for all that shows the same records, such as the only child of a total.

    >>> ManualCell(cell={"region": "north"}, status="sensitive", level=10).status
    'sensitive'
    """

    cell: Mapping[str, str]
    view: str | None = None
    status: ManualStatus | None = None
    lower: Number | None = None
    upper: Number | None = None
    level: Level | None = None
    cost: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    spread: bool = False

    def __post_init__(self) -> None:
        if self.spread and self.status != "safe":
            raise RuleError("Manual: spread is for cells declared safe.", hint='Give it status "safe".')
        if self.status is not None and self.status not in get_args(ManualStatus):
            raise RuleError(f"Manual: unknown status {self.status!r}. Known: {', '.join(get_args(ManualStatus))}.")
        self._check_levels()
        if self.cost is not None:
            above("Manual: cost", self.cost, 0, up_to=10**15)
        bounds = [
            exact(f"Manual: {name}", bound) for name, bound in (("minimum", self.minimum), ("maximum", self.maximum)) if bound is not None
        ]
        if bounds != sorted(bounds):
            raise RuleError("Manual: minimum is above maximum.")

    def _check_levels(self) -> None:
        amounts = [
            exact(f"Manual: {name}", amount) for name, amount in (("lower", self.lower), ("upper", self.upper)) if amount is not None
        ]
        if len(amounts) == 1:
            raise RuleError("Manual: lower and upper belong together.", hint="Give both, or neither.")
        if min(amounts, default=Fraction(0)) < 0:
            raise RuleError("Manual: lower and upper are distances, zero or more.")
        if self.level is not None:
            both_ways("Manual: level", self.level)
        if self.status != "sensitive" and (amounts or self.level is not None):
            raise RuleError("Manual: levels were given for a cell that is not declared sensitive.", hint='Give it status "sensitive".')


@dataclass(frozen=True)
class Manual:
    """An a-priori list.

    cells: the office's word on each. level: in percent of |value|, for the sensitive cells for which no level is given.
    spread: a cell declared safe may stand at several places: a total and its only child are the same records. Where that frees a cell of
        few respondents, name all its places, or say `spread=True`.

    >>> Manual([ManualCell(cell={"shop": "A"}, status="sensitive")], level=50).words
    'manual status'
    """

    cells: Sequence[ManualCell]
    level: Level = field(default=20, kw_only=True)
    spread: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        both_ways("Manual: level", self.level)

    @property
    def words(self) -> str:
        return "manual status"

    @classmethod
    def from_csv(cls, path: str | Path, *, level: Level = 20, spread: bool = False) -> Manual:
        """A file with a column per dimension (empty: the total) and any of status, lower, upper, level, cost, minimum, maximum, view."""
        return cls(read_cells(Path(path)), level=level, spread=spread)

    def find(self, table: Table) -> Finding:
        """The cells declared sensitive. It asks nothing about respondents, so that it serves ready tables too."""
        declared = [said for said in self.cells if said.status == "sensitive"]
        cells = np.array([find_cell(table, said.cell, said.view) for said in declared], dtype=np.int64)
        by_percent = [percent_of_value(table, cells[[i]], said.level or self.level) for i, said in enumerate(declared)]
        return Finding(
            cells=cells,
            lower=_levels(table, [said.lower for said in declared], [found.lower for found in by_percent]),
            upper=_levels(table, [said.upper for said in declared], [found.upper for found in by_percent]),
        )


def _levels(table: Table, amounts: Sequence[Number | None], by_percent: Sequence[IntArray]) -> IntArray:
    """The amount where one was given, else the percentage."""
    pairs = zip(amounts, by_percent, strict=True)
    return np.array([percent[0] if amount is None else ceil_amount(amount, table.scale) for amount, percent in pairs], dtype=np.int64)


@dataclass(frozen=True)
class Waiver:
    """Cells whose respondents have all permitted publication: no rule makes them sensitive.

    cells: {dimension: code} each. view: which of several linked tables is meant.
    spread: meant for all that shows the same records, as in `Manual`.

    >>> Waiver([{"region": "north", "trade": "vet"}]).words
    'waiver'
    """

    cells: Sequence[Mapping[str, str]]
    view: str | None = field(default=None, kw_only=True)
    spread: bool = field(default=False, kw_only=True)

    @property
    def words(self) -> str:
        return "waiver"
