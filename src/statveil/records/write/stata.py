"""Stata files (.dta, format 118), record by record: UTF-8, no time written into them.

The layout follows Stata's `help dta`. Texts of more than 2,045 bytes ("strL") lie behind the records; they wait in a temporary file.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from statveil.core.arrays import AnyArray
from statveil.core.errors import InputError
from statveil.records.write.content import FileContent, as_doubles, bytes_of, cut, fixed_width, small_pieces

LONGEST_SHORT, LONG_TEXT = 2045, 32768
_SHORT, _LONG = (65529, "<i2", 32741), (65528, "<i4", 2147483621)
WHOLE = {"int8": _SHORT, "uint8": _SHORT, "int16": _LONG, "uint16": _LONG}
"""Small whole numbers: Stata's type, its bytes, and what means missing. The next larger type, as the largest values mean missing."""
DOUBLE = 65526
MISSING, LARGEST = float.fromhex("0x1.0p+1023"), float.fromhex("0x1.fffffffffffffp+1022")
LABELLED = (-2147483647, 2147483620)
NAME_CHARACTERS, LABEL_CHARACTERS, VALUE_LABEL_BYTES, MOST_COLUMNS = 32, 80, 32000, 32767
RESERVED = frozenset({"_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long",
                      "_n", "_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with"})  # fmt: skip


@dataclass(frozen=True)
class StataVariable:
    name: str
    kind: int
    layout: str
    """The bytes of one value, as numpy calls them."""
    shown: str
    missing: float
    label: str
    labels: dict[int, bytes]


def refuse_stata_names(path: Path, names: Iterable[str]) -> None:
    for name in names:
        if len(name) > NAME_CHARACTERS or not re.fullmatch(r"[^\W\d]\w*", name) or re.fullmatch(r"str\d+", name) or name in RESERVED:
            raise InputError(
                f"{path.name}: {name!r} cannot be the name of a column in a Stata file.",
                hint="Names have at most 32 letters, digits and _, do not begin with a digit and are no reserved words.",
            )


def write_stata(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    refuse_stata_names(path, content.schema.names)
    variables = [_variable(name, content) for name in content.schema.names]
    if len(variables) > MOST_COLUMNS:
        raise InputError(f"{path.name}: a Stata file holds at most {MOST_COLUMNS:,} columns.", hint="Drop some.")
    record = np.dtype([(f"f{place}", variable.layout) for place, variable in enumerate(variables)])
    with path.open("wb") as file, tempfile.TemporaryFile(dir=path.parent) as long_texts:
        parts = _FileParts(file)
        parts.write(b"<stata_dta>" + _header(content))
        parts.start(b"<map>" + b"\0" * 14 * 8 + b"</map>")
        for each in _dictionary(variables):
            parts.start(each)
        parts.start(b"<data>")
        first = 1
        for table in small_pieces(tables, content, record.itemsize):
            file.write(_records(table, variables, record, first, long_texts).data)
            first += table.num_rows
        parts.write(b"</data>")
        parts.start(b"<strls>")
        long_texts.seek(0)
        copyfileobj(long_texts, file)
        parts.write(b"</strls>")
        parts.start(b"<value_labels>" + b"".join(_value_labels(place, each) for place, each in enumerate(variables)) + b"</value_labels>")
        parts.start(b"</stata_dta>")
        parts.finish()


class _FileParts:
    """Where each part of the file begins; the map near its start is filled in at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.starts = file, [0]

    def write(self, content: bytes) -> None:
        self.file.write(content)

    def start(self, content: bytes) -> None:
        self.starts.append(self.file.tell())
        self.file.write(content)

    def finish(self) -> None:
        ended = self.file.tell()
        self.file.seek(self.starts[1] + len(b"<map>"))
        self.file.write(struct.pack("<14Q", *self.starts, ended))


def _variable(name: str, content: FileContent) -> StataVariable:
    label = content.labels.columns.get(name, "")[:LABEL_CHARACTERS]
    if content.is_text(name):
        width = max(1, content.widths[name])
        if width > LONGEST_SHORT:
            return StataVariable(name, LONG_TEXT, "<u8", "%9s", 0, label, {})
        return StataVariable(name, width, f"({width},)u1", f"%-{max(width, 9)}s", 0, label, {})
    kind, layout, missing = WHOLE.get(str(content.schema.field(name).type), (DOUBLE, "<f8", MISSING))
    whole = pa.types.is_integer(content.schema.field(name).type)
    labels = {int(value): cut(text, VALUE_LABEL_BYTES) for value, text in content.value_labels(name).items() if _may_be_labelled(value)}
    return StataVariable(name, kind, layout, "%17.0g" if whole else "%10.0g", missing, label, labels)


def _may_be_labelled(value: float | str) -> bool:
    return isinstance(value, float) and value.is_integer() and LABELLED[0] <= value <= LABELLED[1]


def _header(content: FileContent) -> bytes:
    size = struct.pack("<H", len(content.schema.names)), struct.pack("<Q", content.records)
    return (
        b"<header><release>118</release><byteorder>LSF</byteorder><K>" + size[0] + b"</K><N>" + size[1] + b"</N>"
        b"<label>\0\0</label><timestamp>\x1101 Jan 1970 00:00</timestamp></header>"
    )


def _dictionary(variables: list[StataVariable]) -> list[bytes]:
    return [
        _tagged(b"variable_types", b"".join(struct.pack("<H", each.kind) for each in variables)),
        _tagged(b"varnames", b"".join(each.name.encode().ljust(129, b"\0") for each in variables)),
        _tagged(b"sortlist", b"\0\0" * (len(variables) + 1)),
        _tagged(b"formats", b"".join(each.shown.encode().ljust(57, b"\0") for each in variables)),
        _tagged(b"value_label_names", b"".join(_label_name(place, each).ljust(129, b"\0") for place, each in enumerate(variables))),
        _tagged(b"variable_labels", b"".join(each.label.encode().ljust(321, b"\0") for each in variables)),
        _tagged(b"characteristics", b""),
    ]


def _tagged(name: bytes, content: bytes) -> bytes:
    return b"<" + name + b">" + content + b"</" + name + b">"


def _label_name(place: int, variable: StataVariable) -> bytes:
    return f"labels{place}".encode() if variable.labels else b""


def _value_labels(place: int, variable: StataVariable) -> bytes:
    if not variable.labels:
        return b""
    values = sorted(variable.labels)
    texts = [variable.labels[value] + b"\0" for value in values]
    starts = np.cumsum([0, *(len(text) for text in texts)])
    table = struct.pack("<ii", len(values), int(starts[-1])) + starts[:-1].astype("<i4").tobytes() + np.array(values, "<i4").tobytes()
    table += b"".join(texts)
    return _tagged(b"lbl", struct.pack("<i", len(table)) + _label_name(place, variable).ljust(129, b"\0") + b"\0\0\0" + table)


def _records(table: pa.Table, variables: list[StataVariable], record: np.dtype[np.void], first: int, long_texts: BinaryIO) -> AnyArray:
    laid = np.zeros(table.num_rows, dtype=record)
    for place, (variable, column) in enumerate(zip(variables, table.columns, strict=True)):
        if variable.kind == LONG_TEXT:
            laid[f"f{place}"] = _put_aside(column, place + 1, first, long_texts)
        elif variable.kind <= LONGEST_SHORT:
            laid[f"f{place}"] = fixed_width(column, variable.kind, fill=b"\0")
        else:
            laid[f"f{place}"] = as_doubles(column, variable.name, missing=variable.missing, largest=LARGEST)
    return laid


def _put_aside(column: pa.ChunkedArray, variable: int, first: int, long_texts: BinaryIO) -> AnyArray:
    """Long texts go to the end of the file; the record holds the numbers of variable (2 bytes) and record (6 bytes), zero if empty."""
    held, starts = bytes_of(column)
    for row in np.flatnonzero(np.diff(starts)):
        text = held[starts[row] : starts[row + 1]].tobytes() + b"\0"
        long_texts.write(struct.pack("<3sIQBI", b"GSO", variable, first + int(row), 130, len(text)) + text)
    pointers = (first + np.arange(len(column), dtype=np.uint64)) << np.uint64(16) | np.uint64(variable)
    return np.where(np.diff(starts) > 0, pointers, np.uint64(0))
