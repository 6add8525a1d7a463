"""`read_microdata`: from a file or a frame to `Microdata`."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.errors import FormatError, InputError
from statveil.data.engines import Engine, engine_over_arrow, engine_over_csv, engine_over_parquet
from statveil.data.microdata import DecimalMark, Microdata
from statveil.data.packages import EXCEL_ENDINGS, STATS_ENDINGS, read_sheet, read_stats
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter, transcode

PARQUET_ENDINGS = {".parquet", ".pq", ".parq"}
MOST_COLUMNS = 10_000
_LONGEST_TEXT, _LONGEST_LIST = 1 << 26, 1 << 17
"""What the footer of a Parquet file may claim, in bytes and in entries: it is believed before anything else is known of the file."""


def read_microdata(
    source: str | PathLike[str] | Any, *, delimiter: str | None = None, encoding: str | None = None, decimal: DecimalMark | None = None
) -> Microdata:
    """Records from a CSV, Parquet, SPSS, Stata, SAS or Excel file, or from a pandas, polars, pyarrow or DuckDB frame.

    For CSV, delimiter and encoding (UTF-8, Latin-1, cp1252) are detected unless given, and all columns are text:
    the code "01" stays "01". Decimal commas are understood where the delimiter is not a comma; otherwise say
    `decimal=","`. CSV and Parquet files are read when a table asks for them, so they must stay where they are.
    """
    if decimal not in (None, ".", ","):
        raise InputError(f"Unknown decimal mark {decimal!r}.", hint="Known: '.' and ','.")
    if not isinstance(source, (str, PathLike)):
        return _from_frame(source, decimal)
    path = require_file(Path(source))
    if path.suffix.lower() in PARQUET_ENDINGS:
        return _from_parquet(path, decimal)
    if path.suffix.lower() in STATS_ENDINGS | EXCEL_ENDINGS:
        return _from_package(path, decimal)
    return _from_csv(path, delimiter, encoding, decimal)


def _from_csv(path: Path, delimiter: str | None, encoding: str | None, decimal: DecimalMark | None) -> Microdata:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"A delimiter is one character, not {delimiter!r}.", hint="Use ';', ',', '|' or a tab ('\\t').")
    named = {"delimiter": delimiter, "encoding": encoding}
    encoding = settle_encoding(path, encoding)
    delimiter = delimiter or sniff_delimiter(path, encoding)
    names = _header(path, encoding, delimiter)
    if decimal is None and delimiter == ",":
        decimal = "."
    engine = _csv_engine(path, encoding, delimiter, names)
    try:
        _read_through(engine)
    except FormatError:
        _refuse_ragged(path, encoding, delimiter)
        raise
    return Microdata(engine=engine, origin=str(path), decimal=decimal, **named)


def _header(path: Path, encoding: str, delimiter: str) -> list[str]:
    csv.field_size_limit(1 << 24)
    line, names = next(records_of(path, encoding, delimiter), (1, []))
    if line > 1:
        raise FormatError(f"{path} begins with a blank line.", hint="The first line must name the columns.")
    if not names:
        raise FormatError(f"{path} has no header.", hint="The first line must name the columns.")
    return _checked_names(names, str(path))


def _checked_names(names: Sequence[str], origin: str) -> list[str]:
    if "" in names:
        raise FormatError(
            f"{origin}: column {names.index('') + 1} has no name.",
            hint="Name every column, or drop the delimiter at the end of the header.",
        )
    if len(names) > MOST_COLUMNS:
        raise FormatError(f"{origin} has more than {MOST_COLUMNS:,} columns.", hint="Keep those that are needed.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise FormatError(f"{origin} has two columns named {twice[0]!r}.", hint="Rename one of them.")
    return list(names)


def _csv_engine(path: Path, encoding: str, delimiter: str, names: Sequence[str]) -> Engine:
    def line_of(record: int) -> int:
        # The header is record 0. Where there is only one column, the engine takes a blank line for a record.
        records = records_of(path, encoding, delimiter, blank=len(names) == 1)
        return next(islice(records, record, None))[0]

    if encoding == "utf-8-sig":
        return engine_over_csv(path, columns=names, delimiter=delimiter, origin=str(path), line_of=line_of)
    # The engine reads other encodings only with an extension that must be downloaded.
    copy = tempfile.NamedTemporaryFile(prefix="statveil-", suffix=".csv")  # noqa: SIM115 - it lives as long as the engine
    transcode(path, encoding, copy)
    return engine_over_csv(Path(copy.name), columns=names, delimiter=delimiter, origin=str(path), line_of=line_of, holds=copy)


def _read_through(engine: Engine) -> None:
    """Ragged lines show only when all lines are read: better now than in the middle of a table."""
    with engine.session() as session:
        session.query("SELECT count(*) AS records FROM records")


def _refuse_ragged(path: Path, encoding: str, delimiter: str) -> None:
    """Name the first line with more or fewer fields than the header: the engine stops counting at one too many."""
    records = records_of(path, encoding, delimiter)
    _, names = next(records)
    for line, fields in records:
        if len(fields) != len(names):
            raise FormatError(
                f"{path}, line {line}: {len(fields)} field{'s' if len(fields) != 1 else ''}, but the header has {len(names)}.",
                hint="Look for a missing field, or for a delimiter inside a field without quotation marks.",
            ) from None


def _from_parquet(path: Path, decimal: DecimalMark | None) -> Microdata:
    try:
        with pq.ParquetFile(path, thrift_string_size_limit=_LONGEST_TEXT, thrift_container_size_limit=_LONGEST_LIST) as file:
            names = file.schema_arrow.names
    except (pa.ArrowException, OSError):
        raise FormatError(f"{path} is not a Parquet file.", hint="Is it a CSV file with the wrong ending, or cut off?") from None
    engine = engine_over_parquet(path, columns=_checked_names(names, str(path)), origin=str(path))
    return Microdata(engine=engine, origin=str(path), decimal=decimal or ".")


def _from_package(path: Path, decimal: DecimalMark | None) -> Microdata:
    table = read_stats(path) if path.suffix.lower() in STATS_ENDINGS else read_sheet(path)
    _checked_names(table.column_names, str(path))
    return Microdata(engine=engine_over_arrow(table, origin=str(path)), origin=str(path), decimal=decimal or ".")


def _from_frame(frame: Any, decimal: DecimalMark | None) -> Microdata:
    table = _to_arrow(frame)
    _checked_names(table.column_names, "The frame")
    return Microdata(engine=engine_over_arrow(table, origin="The frame"), origin="The frame", decimal=decimal or ".")


def _to_arrow(frame: Any) -> pa.Table:
    try:
        native = _understood(frame)
        eager = native.collect(backend="pyarrow") if isinstance(native, nw.LazyFrame) else native
        return eager.to_arrow()
    except InputError:
        raise
    except Exception as error:
        # Frame libraries put values into their messages, so only the kind of trouble is passed on.
        raise FormatError(
            f"The frame could not be turned into columns ({type(error).__name__}).",
            hint="Each column needs one name and one type: look for columns that mix text and numbers.",
        ) from None


def _understood(frame: Any) -> Any:
    try:
        return nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"Records cannot be read from {type(frame).__name__}.", hint="Give a path, or a pandas, polars, pyarrow or DuckDB frame."
        ) from None
