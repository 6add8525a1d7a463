"""A table cell by cell, as tau-ARGUS files hold it: confidential, like the `Table` it may become."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from enum import IntEnum

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, BoolArray, IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.formats.argus.lines import Line
from statveil.formats.text.amounts import decimal_text
from statveil.tables.spec import Dimension

_NUMBER = re.compile(r"[+-]?(\d{1,40}[.,]?\d{0,40}|[.,]\d{1,40})([eE][+-]?\d{1,2})?")
_SIGNIFICANT, _DECIMALS = 15, 9
"""A double has no more digits than these that mean anything: of a number with more decimals, what follows is noise of its program."""
MOST_DECIMALS = 12


def read_number(line: Line, text: str, what: str) -> Decimal | None:
    """The number, or None for an empty field or "-"."""
    text = text.strip()
    if text in ("", "-"):
        return None
    if not _NUMBER.fullmatch(text):
        raise line.fault(f"the {what} is not a number")
    return Decimal(text.replace(",", "."))


def read_count(line: Line, text: str, what: str) -> int | None:
    number = read_number(line, text, what)
    if number is None:
        return None
    if number != number.to_integral_value() or not 0 <= number < LARGEST_EXACT:
        raise line.fault(f"the {what} must be a whole number, zero or more")
    return int(number)


def amounts(lines: Sequence[Line], numbers: Sequence[Decimal | None], what: str, *, least: int = 0, up: bool = False) -> Amounts:
    """A column in units of its finest decimal, `least` decimals at least. Levels are rounded `up` where they have more than fit."""
    rounding = ROUND_CEILING if up else ROUND_HALF_EVEN
    context = Context(prec=_SIGNIFICANT, rounding=rounding)
    shown = [None if number is None else (number.normalize(context) if -_exponent(number) > _DECIMALS else number) for number in numbers]
    found = max((-_exponent(number) for number in shown if number is not None), default=0)
    decimals = max(least, min(found, MOST_DECIMALS))
    units = [0 if number is None else int(number.scaleb(decimals).to_integral_value(rounding)) for number in shown]
    for line, unit in zip(lines, units, strict=True):
        if abs(unit) >= LARGEST_EXACT:
            raise line.fault(
                f"the {what} is too large to be computed exactly with {decimals} decimals (2^53 units or more)",
                hint="Write the column with fewer decimals, or in thousands.",
            )
    missing = np.array([number is None for number in numbers], dtype=np.bool_)
    return Amounts(units=frozen_array(np.array(units, dtype=np.int64)), decimals=decimals, missing=frozen_array(missing))


def _exponent(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


class Status(IntEnum):
    """The statuses of tau-ARGUS by its own numbers."""

    UNKNOWN = 0
    SAFE = 1
    SAFE_MANUAL = 2
    UNSAFE = 3
    UNSAFE_REQUEST = 4
    UNSAFE_FREQUENCY = 5
    UNSAFE_ZERO = 6
    SINGLETON = 7
    SINGLETON_MANUAL = 8
    UNSAFE_MANUAL = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_MANUAL = 12
    EMPTY_POSSIBLE = 13
    EMPTY = 14

    @property
    def unsafe(self) -> bool:
        return Status.UNSAFE <= self <= Status.UNSAFE_MANUAL

    @property
    def empty(self) -> bool:
        return self >= Status.EMPTY_POSSIBLE

    @property
    def secondary(self) -> bool:
        return self in (Status.SECONDARY, Status.SECONDARY_MANUAL)


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """A column of exact numbers, `units * 10**-decimals`; nothing where missing."""

    units: IntArray = field(repr=False)
    decimals: int
    missing: BoolArray = field(repr=False)

    @classmethod
    def known(cls, units: IntArray, decimals: int) -> Amounts:
        return cls(units=frozen_array(units), decimals=decimals, missing=frozen_array(np.zeros(units.size, bool)))

    def text_at(self, row: int) -> str:
        """One number with all its decimals."""
        return decimal_text(int(self.units[row]), self.decimals)

    def texts(self, mark: str = ".") -> list[str]:
        """As they are written in a file, "-" where missing."""
        pairs = zip(self.units.tolist(), self.missing.tolist(), strict=True)
        return ["-" if missing else decimal_text(units, self.decimals).replace(".", mark) for units, missing in pairs]


@dataclass(frozen=True, kw_only=True)
class CellTable:
    """Cells by their coordinates (indices into the dimensions' codes), and all that a file says about each.

    A missing value is an empty cell. `frequency` is -1 where it is not known. `top` holds the largest contributions, largest first.
    `adjusted` is the value after controlled tabular adjustment.
    """

    response: str
    dimensions: tuple[Dimension, ...]
    coordinates: IntArray = field(repr=False)
    value: Amounts = field(repr=False)
    status: IntArray = field(repr=False)
    frequency: IntArray | None = field(default=None, repr=False)
    shadow: Amounts | None = field(default=None, repr=False)
    cost: Amounts | None = field(default=None, repr=False)
    top: tuple[Amounts, ...] = field(default=(), repr=False)
    lower: Amounts | None = field(default=None, repr=False)
    upper: Amounts | None = field(default=None, repr=False)
    adjusted: Amounts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        size = self.status.size
        columns = [each for each in (self.value, self.shadow, self.cost, *self.top, self.lower, self.upper, self.adjusted) if each]
        if self.coordinates.shape != (size, len(self.dimensions)) or any(each.units.size != size for each in columns):
            raise InputError("The columns of a cell table must be equally long.")

    @property
    def size(self) -> int:
        return int(self.status.size)

    def codes(self, row: int) -> tuple[str, ...]:
        return tuple(dimension.codes[place] for dimension, place in zip(self.dimensions, self.coordinates[row].tolist(), strict=True))
