"""Exact amounts to the bytes of a text file, compiled: a million lines in a tenth of a second.

The counterpart of `scan`; what `decimal_text` of `amounts` does for one number, this does for all of a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, IntArray
from statveil.formats.text.amounts import NO_BOUND

_ROWS = 1 << 16
_WORD = -1
_WIDEST = 26
"""Characters that an amount takes at most: sign, 19 digits, point, six more, blank."""
_BLANK, _NEWLINE, _MINUS, _POINT, _ZERO, _OPEN, _CLOSE, _COLON = (ord(sign) for sign in " \n-.0():")
_ENDLESS = np.frombuffer(b"1e+20", dtype=np.uint8)


class Amounts(NamedTuple):
    """A column of integer units of 10**-decimals."""

    units: IntArray
    decimals: int


class Choices(NamedTuple):
    """A column of words, each one of a few: `code` tells which."""

    words: Sequence[str]
    code: IntArray


def lines_of(columns: Sequence[Amounts | Choices]) -> Iterator[memoryview]:
    """A line per row, its columns separated by blanks, in pieces to be written one after the other."""
    fields = np.stack([column.units if isinstance(column, Amounts) else column.code for column in columns]).astype(np.int64)
    decimals = np.array([column.decimals if isinstance(column, Amounts) else _WORD for column in columns])
    words, starts, offsets = _pool(columns)
    width = sum(_WIDEST if isinstance(column, Amounts) else max(map(len, column.words), default=0) + 1 for column in columns)
    page = np.empty(width * min(_ROWS, fields.shape[1]) + 1, dtype=np.uint8)
    for first in range(0, fields.shape[1], _ROWS):
        size = _set_rows(fields[:, first : first + _ROWS], decimals, words, starts, offsets, page)
        yield page[:size].data


def relation_lines(indptr: AnyArray, indices: AnyArray, factors: IntArray, rhs: Amounts) -> Iterator[memoryview]:
    """A line `rhs n : cell (factor) cell (factor) ...` per relation, in pieces."""
    for first in range(0, rhs.units.size, _ROWS):
        last = min(first + _ROWS, rhs.units.size)
        terms = int(indptr[last] - indptr[first])
        page = np.empty((2 * _WIDEST + 2) * (terms + last - first), dtype=np.uint8)
        size = _set_relations(indptr, indices, factors, rhs.units, rhs.decimals, first, last, page)
        yield page[:size].data


def _pool(columns: Sequence[Amounts | Choices]) -> tuple[AnyArray, IntArray, IntArray]:
    """All words in one row of bytes, where each begins, and the number of each column's first word."""
    lists = [column.words if isinstance(column, Choices) else () for column in columns]
    words = [word.encode("ascii") for each in lists for word in each]
    starts = np.cumsum([0, *map(len, words)])
    offsets = np.cumsum([0, *map(len, lists)])[:-1]
    return np.frombuffer(b"".join(words), dtype=np.uint8), starts.astype(np.int64), offsets.astype(np.int64)


@njit(cache=True)
def _set_amount(amount: int, decimals: int, page: AnyArray, at: int) -> int:
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
