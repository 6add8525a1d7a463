"""Numbers in tau-ARGUS tables: a point or a comma before the decimals, exact, and never longer than a file has reason to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

from statveil.arrays import LARGEST_EXACT, frozen_array
from statveil.data.argus.lines import Line
from statveil.table.exchange.argus.cells import Amounts

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
