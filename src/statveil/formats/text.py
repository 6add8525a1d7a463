"""The lines of a text file that are not blank, taken in blocks; every complaint names file and line.

Their words become exact decimal numbers byte by byte: a million lines in a second, and no double in between. A number is told as its
digits and a power of ten: 1792.150 is (179215, -2). Powers above `LARGEST_POWER` are marks.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import FormatError
from statveil.formats.amounts import DecimalNumbers

MOST_DIGITS = 18
"""More significant digits than these do not fit 64 bits."""
LARGEST_POWER = 9999
INFINITE, LETTER, NO_NUMBER, TOO_LONG = LARGEST_POWER, 10001, 10002, 10003
"""Powers that stand for: without end (inf), a single letter (its code in the digits), no number, too many digits."""

NO_FAULT, GRAMMAR, COUNT = 0, 1, 2
"""What `scan_relations` can find wrong with a line."""

_NEWLINE, _BLANK, _OPEN, _CLOSE, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _COLON = (ord(sign) for sign in "\n ()+-.09:")
_FAR = 4000  # powers beyond this are all alike: far too large or next to nothing
_SMALL = 32  # what makes a capital letter a small one
_A, _E, _I, _Z = (ord(sign) for sign in "aeiz")
_INF, _INFINITY = (np.frombuffer(word, dtype=np.uint8) for word in (b"inf", b"infinity"))


class TextTuning(NamedTuple):
    """How a file is looked through."""

    piece: int = 1 << 22
    """Bytes at a time. By judgement."""


TUNING = TextTuning()


@njit(cache=True)
def scan_lines(data: Any, begins: Any, ends: Any, numbers: Any) -> int:
    """Where each line that is not blank begins and ends, and its number; how many there are."""
    found, number, begin = 0, 1, 0
    for at in range(data.size + 1):
        if at < data.size and data[at] != _NEWLINE:
            continue
        first = _past_blanks(data, begin, at)
        if first < at:
            begins[found], ends[found], numbers[found] = first, at, number
            found += 1
        number, begin = number + 1, at + 1
    return found


@njit(cache=True)
def scan_rows(data: Any, begins: Any, ends: Any, least: int, digits: Any, powers: Any) -> int:
    """Fill a table of words, a row per line; the first row with fewer than `least` or too many words, or -1."""
    for row in range(begins.size):
        at, end, field = begins[row], ends[row], 0
        while at < end:
            if field == digits.shape[1]:
                return row
            at, digits[row, field], powers[row, field] = _word(data, at, end)
            at, field = _past_blanks(data, at, end), field + 1
        if field < least:
            return row
    return -1


@njit(cache=True)
def scan_relations(
    data: Any, begins: Any, ends: Any, rhs_digits: Any, rhs_powers: Any, starts: Any, cells: Any, factors: Any
) -> tuple[int, int]:
    """Read lines `rhs n : cell (factor) ...`; the first bad row and what is wrong with it (`NO_FAULT` if none is)."""
    at_term = 0
    for row in range(begins.size):
        end = ends[row]
        at, rhs_digits[row], rhs_powers[row] = _number(data, begins[row], end)
        at, wanted, fault = _whole(data, _past_blanks(data, at, end), end)
        at = _past_blanks(data, at, end)
        if fault or at >= end or data[at] != _COLON:
            return row, GRAMMAR
        at = _past_blanks(data, at + 1, end)
        while at < end:
            at, cell, factor, fault = _term(data, at, end)
            if fault:
                return row, GRAMMAR
            if at_term - starts[row] == wanted:
                return row, COUNT
            cells[at_term], factors[at_term] = cell, factor
            at_term += 1
        if at_term - starts[row] != wanted:
            return row, COUNT
        starts[row + 1] = at_term
    return 0, NO_FAULT


@njit(cache=True)
def find_repeated(starts: Any, cells: Any, seen: Any) -> int:
    """The first row that names a cell twice, or -1; `seen` holds -1 for each cell."""
    for row in range(starts.size - 1):
        for term in range(starts[row], starts[row + 1]):
            if seen[cells[term]] == row:
                return row
            seen[cells[term]] = row
    return -1


@njit(cache=True)
def _past_blanks(data: Any, at: int, end: int) -> int:
    """Where the next word begins, or the end."""
    while at < end and data[at] <= _BLANK:
        at += 1
    return at


@njit(cache=True)
def _term(data: Any, at: int, end: int) -> Any:
    """`cell (factor)`: where the next term begins, the cell, the factor, and whether it is no such thing."""
    at, cell, fault = _whole(data, at, end)
    at = _past_blanks(data, at, end)
    if fault or at >= end or data[at] != _OPEN:
        return at, cell, cell, True
    at, factor, fault = _whole(data, _past_blanks(data, at + 1, end), end)
    at = _past_blanks(data, at, end)
    if fault or at >= end or data[at] != _CLOSE:
        return at, cell, factor, True
    return _past_blanks(data, at + 1, end), cell, factor, False


@njit(cache=True)
def _whole(data: Any, at: int, end: int) -> Any:
    """A whole number: where it ends, the number, and whether it is none."""
    at, digits, power = _number(data, at, end)
    if power < 0 or power > MOST_DIGITS:
        return at, digits, True
    for _ in range(power):
        if abs(digits) > 10**17:
            return at, digits, True
        digits *= 10
    return at, digits, False


@njit(cache=True)
def _word(data: Any, at: int, end: int) -> Any:
    """A number or a single letter, up to the next blank: where it ends, digits and power."""
    begin = at
    at, digits, power = _number(data, at, end)
    if at < end and data[at] > _BLANK:
        while at < end and data[at] > _BLANK:
            at += 1
        power = NO_NUMBER
    if power == NO_NUMBER and at - begin == 1 and _A <= (data[begin] | _SMALL) <= _Z:
        return at, np.int64(data[begin]), LETTER
    return at, digits, power


@njit(cache=True)
def _number(data: Any, at: int, end: int) -> Any:
    """A decimal number, read as far as it goes: where it ends, its digits (signed) and its power of ten."""
    sign = 1
    if at < end and (data[at] == _PLUS or data[at] == _MINUS):
        sign = -1 if data[at] == _MINUS else 1
        at += 1
    if at < end and (data[at] | _SMALL) == _I:
        return _endless(data, at, end, sign)
    at, digits, power = _fixed(data, at, end)
    if power <= LARGEST_POWER and at < end and (data[at] | _SMALL) == _E:
        at, shift, fault = _exponent(data, at + 1, end)
        power = NO_NUMBER if fault else power + shift
    if digits == 0 and power <= LARGEST_POWER:
        power = 0
    return at, sign * digits, power


@njit(cache=True)
def _fixed(data: Any, at: int, end: int) -> Any:
    """Digits with or without a point. Zeros wait until a digit follows, so that none are kept at the end."""
    digits, kept, zeros, power = 0, 0, 0, 0
    point, any_digit = False, False
    while at < end and (_ZERO <= data[at] <= _NINE or (data[at] == _POINT and not point)):
        if data[at] == _POINT:
            point = True
        else:
            any_digit, power = True, power - point
            if data[at] == _ZERO:
                zeros += kept > 0
            elif kept + zeros + 1 > MOST_DIGITS:
                kept = MOST_DIGITS + 1
            else:
                kept += zeros + 1
                digits = digits * 10 ** (zeros + 1) + (int(data[at]) - _ZERO)
                zeros = 0
        at += 1
    if not any_digit:
        return at, 0, NO_NUMBER
    if kept > MOST_DIGITS:
        return at, 0, TOO_LONG
    return at, digits, min(max(power + zeros, -_FAR), _FAR)


@njit(cache=True)
def _exponent(data: Any, at: int, end: int) -> Any:
    """Where the power after an e ends, the power, and whether there is none."""
    sign = 1
    if at < end and (data[at] == _PLUS or data[at] == _MINUS):
        sign = -1 if data[at] == _MINUS else 1
        at += 1
    begin, power = at, 0
    while at < end and _ZERO <= data[at] <= _NINE:
        power = min(power * 10 + int(data[at]) - _ZERO, _FAR)
        at += 1
    return at, sign * power, at == begin


@njit(cache=True)
def _endless(data: Any, at: int, end: int, sign: int) -> Any:
    """The words inf and infinity, in any case."""
    for word in (_INFINITY, _INF):
        if at + word.size <= end:
            same = True
            for place in range(word.size):
                same = same and (data[at + place] | _SMALL) == word[place]
            if same:
                return at + word.size, np.int64(sign), INFINITE
    return at, np.int64(0), NO_NUMBER


_END_OF_FILE = b"\x1a"
"""DOS closed its text files with it."""
_CONTROL = np.array([(byte < 32 and byte not in b"\t\n\v\f\r") or byte == 127 for byte in range(256)])


class TextLines:
    """A file in memory as bytes, with the places of its lines."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            content = path.read_bytes().removeprefix(codecs.BOM_UTF8).removesuffix(_END_OF_FILE)
        except OSError as error:
            raise FormatError(f"{path}: {error.strerror}.", hint="Check the name.") from None
        self.data: AnyArray = np.frombuffer(content, dtype=np.uint8)
        self._refuse_control()
        most = int(np.count_nonzero(self.data == ord("\n"))) + 1
        places = tuple(np.empty(most, dtype=np.int64) for _ in range(3))
        size = scan_lines(self.data, *places)
        self._begins, self._ends, self._numbers = (place[:size] for place in places)
        self._at = 0

    def _refuse_control(self) -> None:
        """A byte of no text is damage, even between two words. A part at a time: a file may be large."""
        for begin in range(0, self.data.size, TUNING.piece):
            control = _CONTROL[self.data[begin : begin + TUNING.piece]]
            if control.any():
                line = int(np.count_nonzero(self.data[: begin + int(np.argmax(control))] == ord("\n"))) + 1
                raise FormatError(f"{self.name}, line {line}: a byte that belongs in no text file.", hint="Is the file damaged?")

    @property
    def rest(self) -> int:
        """How many lines have not been taken yet."""
        return int(self._numbers.size - self._at)

    def block(self, size: int, wanted: str) -> LineBlock:
        """The next `size` lines."""
        if size > self.rest:
            ends = int(self._numbers[-1]) if self._numbers.size else 1
            raise FormatError(f"{self.name}, line {ends}: the file ends where {wanted} should be.", hint="It may be cut off.")
        part = slice(self._at, self._at + size)
        self._at += size
        return LineBlock(self.name, self.data, self._begins[part], self._ends[part], self._numbers[part])

    def constant(self, word: str) -> None:
        """A line that says the same in every file."""
        block = self.block(1, f"the constant {word}")
        if block.words(0) != [word.encode()]:
            raise block.fault(0, f"the constant {word} should stand here")

    def count(self, wanted: str) -> int:
        """A line that holds nothing but a count."""
        block = self.block(1, wanted)
        words = block.words(0)
        if len(words) != 1 or not words[0].isdigit():
            raise block.fault(0, f"{wanted} should stand here")
        return int(words[0])

    def finish(self, last: str) -> None:
        """Nothing may follow: it would be left out in silence."""
        if self.rest:
            raise self.block(1, "").fault(0, f"the file goes on after {last}")


class LineBlock(NamedTuple):
    """Some lines of a file."""

    file: str
    data: AnyArray
    begins: IntArray
    ends: IntArray
    numbers: IntArray

    def words(self, row: int) -> list[bytes]:
        return bytes(self.data[self.begins[row] : self.ends[row]]).split()

    def table(self, fields: int, *, least: int | None = None, words: str) -> BlockWords:
        """The first `fields` words of every line; a line may have no others, but may have as few as `least`."""
        size = self.numbers.size
        digits, powers = np.zeros((size, fields), dtype=np.int64), np.zeros((size, fields), dtype=np.int16)
        bad = scan_rows(self.data, self.begins, self.ends, fields if least is None else least, digits, powers)
        if bad >= 0:
            raise self.fault(bad, words)
        return BlockWords(self, digits, powers)

    def fault(self, row: int, words: str, *, hint: str = "") -> FormatError:
        return FormatError(f"{self.file}, line {self.numbers[row]}: {words}.", hint=hint)

    def refuse(self, wrong: BoolArray, words: str, *, hint: str = "") -> None:
        """Complain about the first row that is wrong, if one is."""
        if wrong.any():
            raise self.fault(int(np.argmax(wrong)), words, hint=hint)

    def numbers_of(self, digits: IntArray, powers: AnyArray, name: str) -> DecimalNumbers:
        """Words that must all be numbers."""
        self.refuse(powers == TOO_LONG, f"the {name} has more than 18 digits", hint="Write it with fewer decimals.")
        self.refuse(powers > LARGEST_POWER, f"the {name} is not a number")
        return DecimalNumbers(digits, powers)


class BlockWords(NamedTuple):
    """The words of a block, read."""

    block: LineBlock
    digits: IntArray
    powers: AnyArray

    def numbers(self, field: int, name: str) -> DecimalNumbers:
        return self.block.numbers_of(self.digits[:, field], self.powers[:, field], name)

    def letters(self, field: int, allowed: str, name: str) -> AnyArray:
        """Single letters, each one of those allowed."""
        codes = self.digits[:, field]
        known = np.isin(codes, [ord(letter) for letter in allowed]) & (self.powers[:, field] == LETTER)
        self.block.refuse(~known, f"the {name} must be one of {', '.join(allowed)}")
        return codes.astype(np.uint32).view("<U1") if codes.size else np.zeros(0, dtype="<U1")

    def require_numbering(self, field: int) -> None:
        """Cells come as 0, 1, 2, ..."""
        index = self.numbers(field, "index").in_units(0)
        wrong = ~index.exact | index.too_large | (index.units != np.arange(index.units.size))
        self.block.refuse(wrong, "cells must be numbered 0, 1, 2, ... in order")
