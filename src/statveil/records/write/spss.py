"""SPSS system files (.sav), record by record: not compressed, UTF-8, no time written into them.

The layout follows the description in the developers' guide of GNU PSPP ("System File Format"). A text of more than 255 bytes is several
variables ("segments") in a row, which a note at the end of the dictionary joins again.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from statveil.core.arrays import AnyArray
from statveil.core.errors import InputError
from statveil.records.write.content import FileContent, as_doubles, cut, fixed_width, small_pieces

MISSING = -sys.float_info.max
LARGEST = float(np.nextafter(sys.float_info.max, 0.0))
"""The largest double itself means "highest"."""
SLOT = 8
LONGEST_SHORT, SEGMENT, LONGEST = 255, 252, 32767
"""Bytes of a variable, of a very long text per segment (as SPSS counts the segments), and of any text."""
NAME_BYTES, LABEL_BYTES, VALUE_LABEL_BYTES = 64, 255, 120
RESERVED = frozenset({"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"})
TEXT, NUMBER = 1, 5
"""Formats A and F."""
DIGITS = {8: 8, 16: 8, 32: 11, 64: 17}


@dataclass(frozen=True)
class SpssVariable:
    """A column, with the names and the widths (0: a number) of its segments."""

    name: str
    segments: tuple[tuple[str, int], ...]
    place: int
    """Its first slot of 8 bytes in a record, counted from 1."""
    width: int
    print_format: int
    label: bytes
    labels: dict[float, str] | dict[str, str]

    @property
    def slots(self) -> int:
        return sum(_slots(width) for _, width in self.segments)


def refuse_spss_names(path: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if len(name.encode()) > NAME_BYTES or not re.fullmatch(r"([^\W\d_]|@)[\w@#$.]*", name) or name.upper() in RESERVED:
            raise InputError(
                f"{path.name}: {name!r} cannot be the name of a column in an SPSS file.",
                hint="Names begin with a letter, go on with letters, digits and . _ @ # $, and have at most 64 bytes.",
            )
        if name.upper() in seen:
            raise InputError(f"{path.name}: two columns are named {name!r} but for capitals.", hint="Rename or drop one of them.")
        seen.add(name.upper())


def write_spss(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    refuse_spss_names(path, content.schema.names)
    variables = _variables(content)
    slots = sum(variable.slots for variable in variables)
    with path.open("wb") as file:
        file.write(_header(slots, content.records))
        for variable in variables:
            file.write(_declaration(variable))
        for variable in variables:
            file.write(_short_labels(variable))
        file.write(_notes(variables, content.records))
        file.write(struct.pack("<ii", 999, 0))
        for table in small_pieces(tables, content, slots * SLOT):
            _write_records(file, table, variables, slots)


def _variables(content: FileContent) -> list[SpssVariable]:
    short = _short_names({name.upper() for name in content.schema.names})
    variables, place = [], 1
    for name in content.schema.names:
        labels = content.value_labels(name)
        width = max(1, content.widths[name], *(len(str(value).encode()) for value in labels)) if content.is_text(name) else 0
        if width > LONGEST:
            raise InputError(
                f"Column {name!r} holds longer texts than the {LONGEST:,} bytes of an SPSS file.", hint="Drop it, or write .dta."
            )
        segments = tuple((next(short), each) for each in _segment_widths(width))
        label, shown = cut(content.labels.columns.get(name, ""), LABEL_BYTES), _format(content.schema.field(name).type)
        variable = SpssVariable(name, segments, place=place, width=width, print_format=shown, label=label, labels=labels)
        variables.append(variable)
        place += variable.slots
    return variables


def _short_names(taken: set[str]) -> Iterator[str]:
    """Names of at most 8 bytes that no column has: the true names come in a note."""
    return (name for name in (f"V{number}" for number in range(1, 10_000_000)) if name not in taken)


def _segment_widths(width: int) -> list[int]:
    if width <= LONGEST_SHORT:
        return [width]
    count = -(-width // SEGMENT)
    return [LONGEST_SHORT] * (count - 1) + [width - (count - 1) * SEGMENT]


def _slots(width: int) -> int:
    return max(1, -(-width // SLOT))


def _format(kind: pa.DataType) -> int:
    """How a number is shown: whole ones without decimals."""
    width, decimals = (DIGITS[kind.bit_width], 0) if pa.types.is_integer(kind) else (8, 2)
    return NUMBER << 16 | width << 8 | decimals


def _header(slots: int, records: int) -> bytes:
    count = records if records < 2**31 else -1
    start = struct.pack("<4s60siiiii", b"$FL2", b"@(#) SPSS DATA FILE statveil".ljust(60), 2, slots, 0, 0, count)
    return start + struct.pack("<d9s8s64s3x", 100.0, b"01 Jan 70", b"00:00:00", b" " * 64)


def _declaration(variable: SpssVariable) -> bytes:
    parts = []
    for number, (short, width) in enumerate(variable.segments):
        label = variable.label if number == 0 else b""
        shown = TEXT << 16 | width << 8 if width else variable.print_format
        parts.append(struct.pack("<iiiiii8s", 2, width, bool(label), 0, shown, shown, short.encode().ljust(8)))
        if label:
            parts.append(struct.pack("<i", len(label)) + _filled(label, 4))
        blank = TEXT << 16 | 29 << 8 | 1  # what SPSS itself writes here
        parts += [struct.pack("<iiiiii8s", 2, -1, 0, 0, blank, blank, b" " * 8)] * (_slots(width) - 1)
    return b"".join(parts)


def _filled(text: bytes, unit: int) -> bytes:
    return text + b" " * (-len(text) % unit)


def _short_labels(variable: SpssVariable) -> bytes:
    """Labels of numbers and of texts that fill at most one slot."""
    if not variable.labels or variable.width > SLOT:
        return b""
    parts = [struct.pack("<ii", 3, len(variable.labels))]
    for value, label in variable.labels.items():
        key = struct.pack("<d", value) if isinstance(value, float) else value.encode().ljust(SLOT)
        text = cut(label, VALUE_LABEL_BYTES)
        parts.append(key + _filled(bytes([len(text)]) + text, SLOT))
    return b"".join([*parts, struct.pack("<iii", 4, 1, variable.place)])


def _notes(variables: list[SpssVariable], records: int) -> bytes:
    machine = struct.pack("<8i", 1, 0, 0, -1, 1, 1, 2, 65001)
    extremes = struct.pack("<3d", MISSING, sys.float_info.max, -LARGEST)
    shown = [struct.pack("<iii", 0, min(max(width, 8), 32), int(not width)) for each in variables for _, width in each.segments]
    names = "\t".join(f"{each.segments[0][0]}={each.name}" for each in variables).encode()
    very_long = b"".join(f"{each.segments[0][0]}={each.width:05d}\0\t".encode() for each in variables if len(each.segments) > 1)
    parts = [_note(3, 4, machine), _note(4, 8, extremes), _note(11, 4, b"".join(shown)), _note(13, 1, names), _note(14, 1, very_long)]
    parts += [_note(16, 8, struct.pack("<qq", 1, records)), _note(20, 1, b"UTF-8")]
    return b"".join([*parts, _note(21, 1, b"".join(_long_labels(each) for each in variables))])


def _note(kind: int, size: int, content: bytes) -> bytes:
    return struct.pack("<iiii", 7, kind, size, len(content) // size) + content if content else b""


def _long_labels(variable: SpssVariable) -> bytes:
    if not variable.labels or variable.width <= SLOT:
        return b""
    parts = [_counted(variable.name.encode()), struct.pack("<ii", variable.width, len(variable.labels))]
    for value, label in variable.labels.items():
        parts += [_counted(str(value).encode().ljust(variable.width)), _counted(cut(label, VALUE_LABEL_BYTES))]
    return b"".join(parts)


def _counted(text: bytes) -> bytes:
    return struct.pack("<i", len(text)) + text


def _write_records(file: BinaryIO, table: pa.Table, variables: list[SpssVariable], slots: int) -> None:
    laid = np.full((table.num_rows, slots * SLOT), ord(" "), dtype=np.uint8)
    for variable, column in zip(variables, table.columns, strict=True):
        if variable.width:
            _lay_text(laid, variable, fixed_width(column, variable.width, fill=b" "))
        else:
            doubles = as_doubles(column, variable.name, missing=MISSING, largest=LARGEST)
            start = (variable.place - 1) * SLOT
            laid[:, start : start + SLOT] = doubles.astype("<f8").view(np.uint8).reshape(-1, SLOT)
    file.write(laid.data)


def _lay_text(laid: AnyArray, variable: SpssVariable, text: AnyArray) -> None:
    """Each segment is filled with 255 bytes as long as there are any, and takes up whole slots."""
    start = (variable.place - 1) * SLOT
    for number, (_, width) in enumerate(variable.segments):
        part = text[:, number * LONGEST_SHORT : (number + 1) * LONGEST_SHORT]
        laid[:, start : start + part.shape[1]] = part
        start += _slots(width) * SLOT
