"""The lines of a text file that are not blank, taken in blocks; every complaint names file and line."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import FormatError
from statveil.formats.text.amounts import Numbers
from statveil.formats.text.scan import LARGEST_POWER, LETTER, TOO_LONG, scan_lines, scan_rows

_END_OF_FILE = b"\x1a"
"""DOS closed its text files with it."""
_PART = 1 << 22
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
        for begin in range(0, self.data.size, _PART):
            control = _CONTROL[self.data[begin : begin + _PART]]
            if control.any():
                line = int(np.count_nonzero(self.data[: begin + int(np.argmax(control))] == ord("\n"))) + 1
                raise FormatError(f"{self.name}, line {line}: a byte that belongs in no text file.", hint="Is the file damaged?")

    @property
    def rest(self) -> int:
        """How many lines have not been taken yet."""
        return int(self._numbers.size - self._at)

    def block(self, size: int, wanted: str) -> Block:
        """The next `size` lines."""
        if size > self.rest:
            ends = int(self._numbers[-1]) if self._numbers.size else 1
            raise FormatError(f"{self.name}, line {ends}: the file ends where {wanted} should be.", hint="It may be cut off.")
        part = slice(self._at, self._at + size)
        self._at += size
        return Block(self.name, self.data, self._begins[part], self._ends[part], self._numbers[part])

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


class Block(NamedTuple):
    """Some lines of a file."""

    file: str
    data: AnyArray
    begins: IntArray
    ends: IntArray
    numbers: IntArray

    def words(self, row: int) -> list[bytes]:
        return bytes(self.data[self.begins[row] : self.ends[row]]).split()

    def table(self, fields: int, *, least: int | None = None, words: str) -> Words:
        """The first `fields` words of every line; a line may have no others, but may have as few as `least`."""
        size = self.numbers.size
        digits, powers = np.zeros((size, fields), dtype=np.int64), np.zeros((size, fields), dtype=np.int16)
        bad = scan_rows(self.data, self.begins, self.ends, fields if least is None else least, digits, powers)
        if bad >= 0:
            raise self.fault(bad, words)
        return Words(self, digits, powers)

    def fault(self, row: int, words: str, *, hint: str = "") -> FormatError:
        return FormatError(f"{self.file}, line {self.numbers[row]}: {words}.", hint=hint)

    def refuse(self, wrong: BoolArray, words: str, *, hint: str = "") -> None:
        """Complain about the first row that is wrong, if one is."""
        if wrong.any():
            raise self.fault(int(np.argmax(wrong)), words, hint=hint)

    def numbers_of(self, digits: IntArray, powers: AnyArray, name: str) -> Numbers:
        """Words that must all be numbers."""
        self.refuse(powers == TOO_LONG, f"the {name} has more than 18 digits", hint="Write it with fewer decimals.")
        self.refuse(powers > LARGEST_POWER, f"the {name} is not a number")
        return Numbers(digits, powers)


class Words(NamedTuple):
    """The words of a block, read."""

    block: Block
    digits: IntArray
    powers: AnyArray

    def numbers(self, field: int, name: str) -> Numbers:
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
