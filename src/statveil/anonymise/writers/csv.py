"""CSV files (RFC 4180), UTF-8: text is quoted only where it must be, and a blank is an empty field."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from statveil.anonymise.writers.content import FileContent


def write_csv(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    with path.open("wb") as file:
        file.write(_lines([pa.array([name], pa.string()) for name in content.schema.names]))
        for table in tables:
            file.write(_lines([column.combine_chunks().cast(pa.string()) for column in table.columns]))


def _lines(columns: list[pa.Array]) -> bytes:
    fields = [_quoted(column, alone=len(columns) == 1) for column in columns]
    return "".join(f"{line}\n" for line in pc.binary_join_element_wise(*fields, ",").to_pylist()).encode()


def _quoted(column: pa.Array, *, alone: bool) -> pa.Array:
    text = column.fill_null("")
    needs = pc.match_substring_regex(text, '[",\r\n]|^\\s|\\s$')
    if alone:  # a line of one empty field would be no line at all
        needs = pc.or_(needs, pc.equal(text, ""))
    if not pc.any(needs).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), text)
