"""Files in the formats that records come in, written piece by piece where the format allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.data.labels import FileLabels
from statveil.errors import BackendMissing, InputError

ROWS = 1 << 17
"""Rows of a piece: fixed, so that the same records give the same bytes."""
SPSS_DATE_AT = 92
STATA_DATE, STATA_HEADER = b"<timestamp>", 4096
MOST_IN_MEMORY = 50_000_000
"""Values (records times columns) of a file that is made in memory: some 4 GB if all are text."""


def format_of(path: Path) -> str:
    known = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".sav": "spss", ".dta": "stata"}
    if path.suffix.lower() not in known:
        raise InputError(f"{path.name}: unknown ending.", hint=f"Known: {', '.join(known)}.")
    found = known[path.suffix.lower()]
    if found in ("spss", "stata") and not (find_spec("pyreadstat") and find_spec("pandas")):
        raise BackendMissing("SPSS and Stata files need the packages pyreadstat and pandas.", hint="pip install 'statveil[stats]'")
    return found


def refuse_too_large(path: Path, *, records: int, columns: int) -> None:
    """SPSS and Stata files are written from memory: what would not fit is refused before anything is done."""
    if format_of(path) in ("spss", "stata") and records * columns > MOST_IN_MEMORY:
        raise InputError(
            f"{path.name}: {records:,} records of {columns:,} columns are more than the {MOST_IN_MEMORY:,} values that are written as an "
            "SPSS or Stata file, because such a file is made in memory.",
            hint="Write .parquet or .csv, which are streamed, or drop columns.",
        )


def write_batches(path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, labels: FileLabels) -> None:
    """Write the pieces in the format that the path's ending names."""
    _WRITERS[format_of(path)](path, _even(batches, schema), schema, labels)


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


def _write_csv(path: Path, tables: Iterable[pa.Table], schema: pa.Schema, _labels: FileLabels) -> None:
    """Text is quoted only where it must be (RFC 4180); a blank is an empty field."""
    with path.open("wb") as file:
        file.write(_lines([pa.array([name], pa.string()) for name in schema.names]))
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


def _write_parquet(path: Path, tables: Iterable[pa.Table], schema: pa.Schema, _labels: FileLabels) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema), row_group_size=ROWS)


def _write_spss(path: Path, tables: Iterable[pa.Table], schema: pa.Schema, labels: FileLabels) -> None:
    import pyreadstat

    frame = _frame(tables, schema)
    pyreadstat.write_sav(frame, str(path), **_labels_for(frame, labels))
    with path.open("r+b") as file:  # the header holds when the file was made, at a fixed place
        file.seek(SPSS_DATE_AT)
        file.write(b"01 Jan 7000:00:00")


def _write_stata(path: Path, tables: Iterable[pa.Table], schema: pa.Schema, labels: FileLabels) -> None:
    import pyreadstat

    frame = _frame(tables, schema)
    pyreadstat.write_dta(frame, str(path), **_labels_for(frame, labels))
    with path.open("r+b") as file:
        place = file.read(STATA_HEADER).find(STATA_DATE)
        if place >= 0:
            file.seek(place + len(STATA_DATE) + 1)
            file.write(b"01 Jan 1970 00:00")


def _frame(tables: Iterable[pa.Table], schema: pa.Schema) -> Any:
    whole = pa.concat_tables([table.cast(schema) for table in tables]) if schema.names else pa.table({})
    return whole.to_pandas()


def _labels_for(frame: Any, labels: FileLabels) -> Mapping[str, Any]:
    """Labels of the columns and of the values; those of a column that became text would no longer fit."""
    numeric = {name for name in frame.columns if frame[name].dtype.kind in "iuf"}
    values = {name: dict(each) for name, each in labels.values.items() if name in numeric}
    return {"column_labels": {name: labels.columns.get(name, "") for name in frame.columns}, "variable_value_labels": values}


_WRITERS: Mapping[str, Callable[[Path, Iterable[pa.Table], pa.Schema, FileLabels], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "spss": _write_spss,
    "stata": _write_stata,
}
