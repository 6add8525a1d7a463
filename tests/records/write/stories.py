"""A table with all kinds of values that files of fixed width hold, and the reading back of what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from statveil.data.microdata import FileLabels
from statveil.data.readers import read_stats
from statveil.records.write.content import FileContent

PEOPLE = pa.table(
    {
        "age": pa.array([1, -128, None, 127], pa.int8()),
        "rooms": pa.array([255, 0, None, 101], pa.uint8()),
        "metres": pa.array([32767, -32768, None, 32741], pa.int16()),
        "people": pa.array([65535, 0, None, 1], pa.uint16()),
        "cents": pa.array([2**31 - 1, -(2**31), None, 0], pa.int32()),
        "id": pa.array([2**53, -(2**53), None, 7], pa.int64()),
        "share": pa.array([0.1, 1e30, None, -0.0], pa.float32()),
        "größe": pa.array([1e300, -0.5, None, 1 / 3], pa.float64()),
        "V1": pa.array([1.5, None, 3.0, 4.0]),
        "town": pa.array(["ä", "", None, "b"]),
        "name": pa.array(["123456789", "€uro", None, " x"]),
        "note": pa.array(["x" * 255, "y", None, "ß" * 127]),
        "letter": pa.array(["a" * 251 + "ä" * 100 + "z" * 300, "é", None, "q" * 255 + " r"]),
        "novel": pa.array(["q" * 2046 + "ü" * 9000 + "e", None, "short", ""]),
    }
)
LABELS = FileLabels(
    columns={"age": "Alter in Jahren, größer als 0", "town": "Town"},
    values={
        "age": {1.0: "einß", -128: "minus", 1.5: "half"},
        "town": {"ä": "umlaut", "b": "be"},
        "name": {"123456789": "nine", "a longer code": "long"},
        "cents": {"a": "a code of another kind"},
    },
)


def content(table: pa.Table, labels: FileLabels = LABELS) -> FileContent:
    texts = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    widths = {name: max((len(text.encode()) for text in table[name].to_pylist() if text), default=0) for name in texts}
    return FileContent(schema=table.schema, records=table.num_rows, widths=widths, labels=labels)


def plain(table: pa.Table) -> dict[str, list[Any]]:
    """Values as any format can tell them apart: an empty text is missing."""
    return {name: [None if value == "" else value for value in table[name].to_pylist()] for name in table.column_names}


def read_back(path: Path) -> dict[str, list[Any]]:
    return plain(read_stats(path))
