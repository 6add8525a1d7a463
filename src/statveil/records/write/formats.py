"""The formats that records are written in, each piece by piece: the file may be larger than the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.errors import BackendMissing, InputError
from statveil.records.write.content import FileContent
from statveil.records.write.spss import refuse_spss_names, write_spss
from statveil.records.write.stata import refuse_stata_names, write_stata


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


def write_parquet(path: Path, tables: Iterable[pa.Table], content: FileContent) -> None:
    with pq.ParquetWriter(path, content.schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(content.schema), row_group_size=max(1, table.num_rows))


ROWS = 1 << 17
"""Rows of a piece: fixed, so that the same records give the same bytes."""


def format_of(path: Path) -> str:
    known = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".sav": "spss", ".dta": "stata"}
    if path.suffix.lower() not in known:
        raise InputError(f"{path.name}: unknown ending.", hint=f"Known: {', '.join(known)}.")
    found = known[path.suffix.lower()]
    if found in ("spss", "stata") and not find_spec("pyreadstat"):
        raise BackendMissing("To audit an SPSS or Stata file, the package pyreadstat must read it.", hint="pip install 'statveil[stats]'")
    return found


def refuse_unfit_names(path: Path, names: Sequence[str]) -> None:
    """Columns that the format cannot name are told before anything is done."""
    refusals = {"spss": refuse_spss_names, "stata": refuse_stata_names}
    found = format_of(path)
    if found in refusals:
        refusals[found](path, names)


def write_batches(path: Path, batches: Iterable[pa.RecordBatch], content: FileContent) -> None:
    """Write the pieces in the format that the path's ending names."""
    _WRITERS[format_of(path)](path, _even(batches, content.schema), content)


def _even(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Pieces of equal size whatever size they come in."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            table = pa.Table.from_batches(waiting, waiting[0].schema)
            whole = rows - rows % ROWS
            for start in range(0, whole, ROWS):
                yield table.slice(start, ROWS).rename_columns(schema.names)
            rest = table.slice(whole)
            waiting, rows = rest.to_batches(), rest.num_rows
    if rows:
        yield pa.Table.from_batches(waiting, waiting[0].schema).rename_columns(schema.names)


_WRITERS: Mapping[str, Callable[[Path, Iterable[pa.Table], FileContent], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "spss": write_spss,
    "stata": write_stata,
}
