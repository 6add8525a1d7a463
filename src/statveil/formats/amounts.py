"""Decimal numbers as text and as integer units of 10**-decimals, exactly in both directions.

Whole columns go to the bytes of a text file by compiled loops: a million lines in a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray

_WORD = -1
_WIDEST = 26
"""Characters that an amount takes at most: sign, 19 digits, point, six more, blank."""
_BLANK, _NEWLINE, _MINUS, _POINT, _ZERO, _OPEN, _CLOSE, _COLON = (ord(sign) for sign in " \n-.0():")
_ENDLESS = np.frombuffer(b"1e+20", dtype=np.uint8)


class AmountsTuning(NamedTuple):
    """How columns are written."""

    rows: int = 1 << 16
    """Lines at a time. By judgement."""


TUNING = AmountsTuning()


class AmountColumn(NamedTuple):
    """A column of integer units of 10**-decimals."""

    units: IntArray
    decimals: int


class WordColumn(NamedTuple):
    """A column of words, each one of a few: `code` tells which."""

    words: Sequence[str]
    code: IntArray


def lines_of(columns: Sequence[AmountColumn | WordColumn]) -> Iterator[memoryview]:
    """A line per row, its columns separated by blanks, in pieces to be written one after the other."""
    fields = np.stack([column.units if isinstance(column, AmountColumn) else column.code for column in columns]).astype(np.int64)
    decimals = np.array([column.decimals if isinstance(column, AmountColumn) else _WORD for column in columns])
    words, starts, offsets = _pool(columns)
    width = sum(_WIDEST if isinstance(column, AmountColumn) else max(map(len, column.words), default=0) + 1 for column in columns)
    page = np.empty(width * min(TUNING.rows, fields.shape[1]) + 1, dtype=np.uint8)
    for first in range(0, fields.shape[1], TUNING.rows):
        size = _set_rows(fields[:, first : first + TUNING.rows], decimals, words, starts, offsets, page)
        yield page[:size].data


def relation_lines(indptr: AnyArray, indices: AnyArray, factors: IntArray, rhs: AmountColumn) -> Iterator[memoryview]:
    """A line `rhs n : cell (factor) cell (factor) ...` per relation, in pieces."""
    for first in range(0, rhs.units.size, TUNING.rows):
        last = min(first + TUNING.rows, rhs.units.size)
        terms = int(indptr[last] - indptr[first])
        page = np.empty((2 * _WIDEST + 2) * (terms + last - first), dtype=np.uint8)
        size = _set_relations(indptr, indices, factors, rhs.units, rhs.decimals, first, last, page)
        yield page[:size].data


def _pool(columns: Sequence[AmountColumn | WordColumn]) -> tuple[AnyArray, IntArray, IntArray]:
    """All words in one row of bytes, where each begins, and the number of each column's first word."""
    lists = [column.words if isinstance(column, WordColumn) else () for column in columns]
    words = [word.encode("ascii") for each in lists for word in each]
    starts = np.cumsum([0, *map(len, words)])
    offsets = np.cumsum([0, *map(len, lists)])[:-1]
    return np.frombuffer(b"".join(words), dtype=np.uint8), starts.astype(np.int64), offsets.astype(np.int64)


@njit(cache=True)
def _set_amount(amount: int, decimals: int, page: AnyArray, at: int) -> int:
    """Write one amount from `at` on, without a bound as 1e+20; where it ends."""
    if amount < 0:
        page[at] = _MINUS
        at += 1
    if abs(amount) >= NO_BOUND:
        page[at : at + _ENDLESS.size] = _ENDLESS
        return at + _ENDLESS.size
    rest, digits = abs(amount), decimals + 1
    least = 10**digits
    while digits < 19 and rest >= least:
        digits += 1
        least *= 10
    end = at + digits + (1 if decimals > 0 else 0)
    place = end
    for k in range(digits):
        if k == decimals and decimals > 0:
            place -= 1
            page[place] = _POINT
        place -= 1
        page[place] = _ZERO + rest % 10
        rest //= 10
    return end


@njit(cache=True)
def _set_rows(fields: IntArray, decimals: IntArray, words: AnyArray, starts: IntArray, offsets: IntArray, page: AnyArray) -> int:
    """Write rows of amounts and words, separated by blanks; where they end."""
    at = 0
    for row in range(fields.shape[1]):
        for field in range(fields.shape[0]):
            if decimals[field] == _WORD:
                word = offsets[field] + fields[field, row]
                size = starts[word + 1] - starts[word]
                page[at : at + size] = words[starts[word] : starts[word + 1]]
                at += size
            else:
                at = _set_amount(fields[field, row], decimals[field], page, at)
            page[at] = _BLANK
            at += 1
        page[at - 1] = _NEWLINE
    return at


@njit(cache=True)
def _set_relations(
    indptr: AnyArray, indices: AnyArray, factors: IntArray, rhs: IntArray, decimals: int, first: int, last: int, page: AnyArray
) -> int:
    """Write the relations from `first` to `last`, a line each; where they end."""
    at = 0
    for row in range(first, last):
        at = _set_amount(rhs[row], decimals, page, at)
        page[at] = _BLANK
        at = _set_amount(int(indptr[row + 1] - indptr[row]), 0, page, at + 1)
        page[at], page[at + 1] = _BLANK, _COLON
        at += 2
        for k in range(indptr[row], indptr[row + 1]):
            page[at] = _BLANK
            at = _set_amount(int(indices[k]), 0, page, at + 1)
            page[at], page[at + 1] = _BLANK, _OPEN
            at = _set_amount(factors[k], 0, page, at + 2)
            page[at] = _CLOSE
            at += 1
        page[at] = _NEWLINE
        at += 1
    return at


NO_BOUND = 2**62
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_LARGEST_POWER_IN_DOUBLE = 22
_FLOAT_POWERS = np.array([float(10**power) for power in range(_LARGEST_POWER_IN_DOUBLE + 1)])


class Rounding(Enum):
    NEAREST = "nearest"
    DOWN = "down"
    UP = "up"


class RoundedAmounts(NamedTuple):
    """Amounts in units; where `too_large` is set (2^53 or more) the unit is plus or minus `NO_BOUND`."""

    units: IntArray
    exact: BoolArray
    too_large: BoolArray


class DecimalNumbers(NamedTuple):
    """Decimal numbers: digits (at most 18) times ten to the power."""

    digits: IntArray
    powers: AnyArray

    @property
    def decimals(self) -> int:
        """The fewest decimals that write all these numbers."""
        return max(0, -int(self.powers.min(initial=0)))

    def in_units(self, decimals: int, rounding: Rounding = Rounding.NEAREST) -> RoundedAmounts:
        """As whole numbers of 10**-decimals."""
        shift = self.powers.astype(np.int64) + decimals
        factor = _POWERS[np.clip(shift, 0, 18)]
        # Moved by more places than there are digits, less than half a unit is left: only the sign counts.
        digits = np.where(shift < -18, np.sign(self.digits), self.digits)
        rounded, exact = _divided(digits, _POWERS[np.clip(-shift, 0, 18)], rounding)
        too_large = (np.abs(rounded) > (LARGEST_EXACT - 1) // factor) | ((shift > 18) & (rounded != 0))
        units = np.where(too_large, 0, rounded) * factor
        return RoundedAmounts(np.where(too_large, np.sign(rounded) * NO_BOUND, units), exact, too_large)

    def in_doubles(self) -> tuple[FloatArray, BoolArray]:
        """The nearest doubles, and where they are sure to be the nearest: digits and power of ten are doubles themselves."""
        power = self.powers.astype(np.int64)
        size = _FLOAT_POWERS[np.minimum(np.abs(power), _LARGEST_POWER_IN_DOUBLE)]
        digits = self.digits.astype(np.float64)
        sure = (np.abs(self.digits) < LARGEST_EXACT) & (np.abs(power) <= _LARGEST_POWER_IN_DOUBLE)
        return np.where(power < 0, digits / size, digits * size), sure


def _divided(digits: IntArray, divisor: IntArray, rounding: Rounding) -> tuple[IntArray, BoolArray]:
    below = digits // divisor
    rest = digits - below * divisor
    match rounding:
        case Rounding.DOWN:
            up = np.zeros(rest.shape, dtype=np.bool_)
        case Rounding.UP:
            up = rest > 0
        case Rounding.NEAREST:
            up = (2 * rest > divisor) | ((2 * rest == divisor) & (below % 2 == 1))
    return below + up, rest == 0


def decimal_text(amount: int, decimals: int) -> str:
    """An integer number of units as a decimal number: 12345 with two decimals is 123.45."""
    if abs(int(amount)) >= NO_BOUND:
        return "-1e+20" if amount < 0 else "1e+20"
    digits = str(abs(int(amount))).rjust(decimals + 1, "0")
    body = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"-{body}" if amount < 0 else body
