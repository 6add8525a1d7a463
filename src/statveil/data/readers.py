"""`read_microdata`: from a file or a frame to `Microdata`."""

from __future__ import annotations

import csv
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import glob
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from statveil.core.errors import BackendMissing, FormatError, InputError
from statveil.data.database import ADDRESSES, stream_of_table, table_of_address
from statveil.data.engines import (
    DuckDB,
    DuckEngine,
    Engine,
    engine_over_arrow,
    engine_over_csv,
    engine_over_parquet,
    engine_over_spark,
    is_spark_frame,
    spark_parquet,
)
from statveil.data.frames import arrow_of_frame
from statveil.data.microdata import DecimalMark, FileLabels, Microdata
from statveil.data.preparation import prepare_records
from statveil.data.prepared import MissingWords, PreparedWishes
from statveil.data.spooled import is_stream, spool
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter, transcode

STATS_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATS_ENDINGS = frozenset(STATS_READERS)
EXCEL_ENDINGS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
ZIPPED_ENDINGS = frozenset({".xlsx", ".xlsm", ".xlsb", ".ods"})
_LARGEST_WHOLE = 2.0**53
EngineName = Literal["duckdb", "spark"]
PARQUET_ENDINGS = {".parquet", ".pq", ".parq"}


class ReaderTuning(NamedTuple):
    """What is refused as too large, and how much is read at a time. By judgement."""

    most_columns: int = 10_000
    largest_unpacked: int = 200 << 20
    """Bytes that a workbook may unpack to."""
    most_squeezed: int = 100
    """How many times its own size it may unpack to, where that is more than `few`."""
    few: int = 10 << 20
    piece: int = 1 << 20
    """Bytes that are unpacked at a time."""
    piece_values: int = 8_000_000
    """Values (records times columns) that are read at a time."""
    longest_text: int = 1 << 26
    """Bytes that the footer of a Parquet file may claim: it is believed before anything else is known of the file."""
    longest_list: int = 1 << 17
    """Entries that it may claim."""


TUNING = ReaderTuning()


def read_microdata(
    source: str | PathLike[str] | Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: DecimalMark | None = None,
    missing: MissingWords = (),
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    engine: EngineName | DuckDB = "duckdb",
) -> Microdata:
    """Records from a CSV, Parquet, SPSS, Stata, SAS or Excel file, or from a pandas, polars, pyarrow, DuckDB or Spark frame.

    source: a path, a frame, a folder or pattern of CSV or Parquet files with the same columns, or `postgresql://host/database#table`.
    Streams, lazy frames and database tables are read piece by piece. A Spark frame stays in Spark.
    engine: "duckdb", or `sv.DuckDB(memory="8GB")` with what it may use; "spark" has Spark read Parquet files (see "Records in Spark").
    delimiter, encoding: of CSV, detected unless given (UTF-8, Latin-1, cp1252). All its columns are text: the code "01" stays "01".
    decimal: say `decimal=","` where commas are meant although the delimiter is one; otherwise they are understood.
    CSV and Parquet files are read when a table asks for them, so they must stay where they are.
    missing: words that mean that a value is missing, such as `["NA", "."]`, or by column `{"income": ["-9"], "*": ["NA"]}`.
    where: the records to keep, such as `"year = 2024 and size > 0"`. derive: new columns by expressions: `{"net": "income - tax"}`.

    >>> import pyarrow as pa
    >>> shops = pa.table({"region": ["A", "B", "NA"], "turnover": [10, 20, 30]})
    >>> read_microdata(shops, missing=["NA"], where="region is not missing and turnover > 5").codes("region")
    ['A', 'B']
    """
    settings = engine if isinstance(engine, DuckDB) else DuckDB()
    if engine is not settings and engine not in get_args(EngineName):
        raise InputError(f"Unknown engine {engine!r}.", hint="Known: duckdb, spark, or sv.DuckDB(...).")
    data = _in_spark(source, decimal) if engine == "spark" else _as_it_comes(source, delimiter, encoding, decimal, settings)
    if isinstance(data.engine, DuckEngine):
        data = replace(data, engine=replace(data.engine, settings=settings))
    wishes = PreparedWishes(missing=missing, where=where, derive=derive or {})
    return prepare_records(data, wishes) if wishes else data


def _in_spark(source: str | PathLike[str] | Any, decimal: DecimalMark | None) -> Microdata:
    """Parquet files that Spark reads: a path, a folder, a pattern or an address."""
    if not isinstance(source, (str, PathLike)):
        return _from_frame(source, decimal, DuckDB())
    if not str(source).rstrip("/*").lower().endswith(tuple(PARQUET_ENDINGS)):
        raise InputError(f"{source}: Spark reads Parquet files here.", hint="Read other files with Spark, and give the frame.")
    return _from_spark(spark_parquet(str(source)), str(source), decimal)


def read_written_folder(folder: Path, data: Microdata) -> Microdata:
    """Parquet files that the engine of these records wrote, read by it again."""
    if isinstance(data.engine, DuckEngine):
        return read_microdata(folder, engine=data.engine.settings)
    return _from_spark(spark_parquet(f"file://{folder.resolve()}"), str(folder), None)


def _as_it_comes(
    source: str | PathLike[str] | Any, delimiter: str | None, encoding: str | None, decimal: DecimalMark | None, settings: DuckDB
) -> Microdata:
    if decimal not in (None, ".", ","):
        raise InputError(f"Unknown decimal mark {decimal!r}.", hint="Known: '.' and ','.")
    if not isinstance(source, (str, PathLike)):
        return _from_frame(source, decimal, settings)
    if "://" in str(source):
        return _from_address(str(source), decimal, settings)
    several = files_of(str(source))
    if several is not None:
        return _from_several(several, str(source), delimiter, encoding, decimal)
    path = require_file(Path(source))
    if path.suffix.lower() in PARQUET_ENDINGS:
        return _from_parquet(path, decimal)
    if path.suffix.lower() in STATS_ENDINGS | EXCEL_ENDINGS:
        return _from_package(path, decimal)
    return _from_csv(path, delimiter, encoding, decimal)


def _from_address(address: str, decimal: DecimalMark | None, settings: DuckDB) -> Microdata:
    if not address.startswith(ADDRESSES):
        known = "Known: postgresql://host/database#table. Other addresses of Parquet files are read by engine='spark'."
        raise InputError("Records are not read from an address of this kind.", hint=known)
    url, table = table_of_address(address)
    return _from_stream(stream_of_table(url, table), f"the table {table}", decimal, settings)


def _from_stream(frame: Any, origin: str, decimal: DecimalMark | None, settings: DuckDB) -> Microdata:
    spooled = spool(frame, folder=settings.temporary)
    columns = _checked_names(spooled.columns, origin)
    engine = engine_over_parquet(spooled.path, columns=columns, origin=origin, holds=spooled.file)
    return Microdata(engine=engine, origin=origin, decimal=decimal or ".")


def files_of(source: str) -> list[Path] | None:
    """The files of a folder, or of a pattern such as `firms/*.csv`, in the order of their names; None where it is a single file."""
    path = Path(source)
    if path.is_file() or not (path.is_dir() or any(sign in source for sign in "*?[")):
        return None
    found = [Path(each) for each in sorted(glob(source, recursive=True))] if not path.is_dir() else sorted(path.iterdir())
    found = [each for each in found if not each.name.startswith((".", "_"))]
    if any(each.is_dir() for each in found) or any("=" in part for each in found for part in each.parts):
        raise InputError(
            f"{source}: folders within folders are not read, as their names may hold columns.",
            hint="Give a pattern, such as 'firms/*/*.parquet', where folders say nothing; or have Spark read them: engine='spark'.",
        )
    if not found:
        raise InputError(f"There is no file in {source!r}.", hint="Check the path.")
    return found


def _from_several(
    paths: Sequence[Path], origin: str, delimiter: str | None, encoding: str | None, decimal: DecimalMark | None
) -> Microdata:
    """Files of the same columns, one after the other; only CSV, or only Parquet."""
    whole = [_from_parquet(path, decimal) if path.suffix.lower() in PARQUET_ENDINGS else None for path in paths]
    if any(whole) and not all(whole):
        raise InputError(f"{origin} holds Parquet files and others.", hint="Give a pattern: 'firms/*.parquet'.")
    if not any(whole):
        strange = [path.name for path in paths if path.suffix.lower() in STATS_ENDINGS | EXCEL_ENDINGS]
        if strange:
            raise InputError(f"{origin}: several files must be CSV or Parquet; {strange[0]} is neither.", hint="Read them one by one.")
        return _from_csvs(paths, origin, delimiter, encoding, decimal)
    kinds = {path: pq.read_schema(path).remove_metadata() for path in paths}
    other = next((path for path in paths if kinds[path] != kinds[paths[0]]), None)
    if other is not None:
        raise FormatError(f"{other} has other columns than {paths[0]}, or of other types.", hint="Write all with one schema.")
    return Microdata(engine=engine_over_parquet(paths, columns=kinds[paths[0]].names, origin=origin), origin=origin, decimal=decimal or ".")


def _from_csvs(paths: Sequence[Path], origin: str, delimiter: str | None, encoding: str | None, decimal: DecimalMark | None) -> Microdata:
    files = [_from_csv(require_file(path), delimiter, encoding, decimal) for path in paths]
    other = next((each for each in files if each.columns != files[0].columns or each.decimal != files[0].decimal), None)
    if other is not None:
        raise FormatError(f"{other.origin} has other columns or another delimiter than {paths[0]}.", hint="All files need the same header.")
    engines = [cast("DuckEngine", each.engine) for each in files]

    def line_of(record: int) -> str:
        for path, engine in zip(paths, engines, strict=True):
            with engine.session() as session:
                records = int(session.query("SELECT count(*) AS n FROM records")["n"][0].as_py())
            if record <= records and engine.line_of:
                return f"{engine.line_of(record)} of {path}"
            record -= records
        return f"{record} after the last"

    first = files[0]
    marks = {sniff_delimiter(path, settle_encoding(path, encoding)) for path in paths} if delimiter is None else {delimiter}
    if len(marks) > 1:
        raise FormatError(f"{origin}: the files have different delimiters.", hint="Name it, or write all files alike.")
    copies = [Path(each.holds.name) if each.holds else path for each, path in zip(engines, paths, strict=True)]  # type: ignore[attr-defined]
    engine = engine_over_csv(copies, columns=first.columns, delimiter=marks.pop(), origin=origin, line_of=line_of, holds=engines)
    return replace(first, engine=engine, origin=origin)


def _from_csv(path: Path, delimiter: str | None, encoding: str | None, decimal: DecimalMark | None) -> Microdata:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"A delimiter is one character, not {delimiter!r}.", hint="Use ';', ',', '|' or a tab ('\\t').")
    named_delimiter, named_encoding = delimiter, encoding
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
    return Microdata(engine=engine, origin=str(path), decimal=decimal, delimiter=named_delimiter, encoding=named_encoding)


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
    if len(names) > TUNING.most_columns:
        raise FormatError(f"{origin} has more than {TUNING.most_columns:,} columns.", hint="Keep those that are needed.")
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
        with pq.ParquetFile(path, thrift_string_size_limit=TUNING.longest_text, thrift_container_size_limit=TUNING.longest_list) as file:
            names = file.schema_arrow.names
    except (pa.ArrowException, OSError):
        raise FormatError(f"{path} is not a Parquet file.", hint="Is it a CSV file with the wrong ending, or cut off?") from None
    engine = engine_over_parquet(path, columns=_checked_names(names, str(path)), origin=str(path))
    return Microdata(engine=engine, origin=str(path), decimal=decimal or ".")


def _from_package(path: Path, decimal: DecimalMark | None) -> Microdata:
    table = read_stats(path) if path.suffix.lower() in STATS_ENDINGS else read_sheet(path)
    _checked_names(table.column_names, str(path))
    return Microdata(engine=engine_over_arrow(table, origin=str(path)), origin=str(path), decimal=decimal or ".")


def _from_spark(frame: Any, origin: str, decimal: DecimalMark | None) -> Microdata:
    _checked_names(frame.columns, origin)
    return Microdata(engine=engine_over_spark(frame, origin=origin), origin=origin, decimal=decimal or ".")


def _from_frame(frame: Any, decimal: DecimalMark | None, settings: DuckDB) -> Microdata:
    if is_spark_frame(frame):
        return _from_spark(frame, "The frame", decimal)
    if is_stream(frame):
        return _from_stream(frame, "The frame", decimal, settings)
    table = arrow_of_frame(frame)
    _checked_names(table.column_names, "The frame")
    return Microdata(engine=engine_over_arrow(table, origin="The frame"), origin="The frame", decimal=decimal or ".")


def read_stats(path: Path) -> pa.Table:
    """A file of SPSS, Stata or SAS. Values declared missing are missing; whole numbers become whole, so that the code 1 is "1"."""
    package = _required("pyreadstat", extra="stats", what=f"A file ending in {path.suffix}")
    read = getattr(package, STATS_READERS[path.suffix.lower()])
    _, facts = _or_refuse(path, lambda: read(str(path), metadataonly=True))
    rows = max(1, TUNING.piece_values // max(1, len(facts.column_names)))
    pieces = _pieces(lambda start: read(str(path), output_format="dict", row_offset=start, row_limit=rows)[0], rows)
    whole: pa.Table = _or_refuse(path, lambda: pa.concat_tables(pieces, promote_options="permissive"))  # whole only if so in all pieces
    texts = {name for name, kind in facts.readstat_variable_types.items() if kind == "string"}
    empty = {name: pa.string() if name in texts else pa.int64() for name in whole.column_names}
    return whole.cast(pa.schema([(each.name, empty[each.name] if pa.types.is_null(each.type) else each.type) for each in whole.schema]))


def _pieces(read_from: Callable[[int], dict[str, Any]], rows: int) -> Iterator[pa.Table]:
    """Piece by piece, because the values of a piece are Python objects, many times as large as they need be."""
    start, more = 0, True
    while more:
        piece = pa.table({name: _column(values) for name, values in read_from(start).items()})
        yield piece
        start, more = start + rows, piece.num_rows == rows


def _column(values: Sequence[Any]) -> pa.Array:
    found = pa.array(values, from_pandas=True)  # not a number: missing
    if pa.types.is_floating(found.type):
        return _whole_if_possible(found)
    if pa.types.is_integer(found.type) or pa.types.is_null(found.type):
        return found
    if not pa.types.is_string(found.type):  # a day or a time
        found = pa.array([None if value is None else str(value) for value in values], pa.string())
    return pc.if_else(pc.equal(found, ""), None, found)


def _whole_if_possible(found: pa.Array) -> pa.Array:
    largest = pc.max(pc.abs(found)).as_py()
    if largest is None or (largest < _LARGEST_WHOLE and pc.all(pc.equal(found, pc.trunc(found))).as_py()):
        return found.cast(pa.int64())
    return found


def read_labels(origin: str) -> FileLabels:
    """The labels of a file of SPSS, Stata or SAS that was read before; of any other file there are none."""
    path = Path(origin)
    if path.suffix.lower() not in STATS_ENDINGS or not path.is_file():
        return FileLabels()
    import pyreadstat

    _, facts = getattr(pyreadstat, STATS_READERS[path.suffix.lower()])(str(path), metadataonly=True)
    columns = {name: label for name, label in facts.column_names_to_labels.items() if label}
    return FileLabels(columns=columns, values=facts.variable_value_labels)


def read_sheet(path: Path, sheet: str | int = 0) -> pa.Table:
    """A sheet of a workbook (the first by default), its first row the names of the columns; everything as text."""
    package = _required("fastexcel", extra="excel", what=f"A file ending in {path.suffix}")
    if path.suffix.lower() in ZIPPED_ENDINGS:
        _check_unpacked(path)
    table: pa.Table = _or_refuse(path, lambda: pa.table(package.read_excel(str(path)).load_sheet(sheet, dtypes="string").to_arrow()))
    unnamed = [place for place, name in enumerate(table.column_names, start=1) if name.startswith("__UNNAMED__")]
    if unnamed:
        raise FormatError(f"{path}, line 1: column {unnamed[0]} has no name.", hint="The first row must name every column.")
    return table


def _check_unpacked(path: Path) -> None:
    """A small file that unpacks to a huge one is refused before a reader makes room for it; the sizes it declares may lie."""
    largest = min(TUNING.largest_unpacked, max(TUNING.few, TUNING.most_squeezed * path.stat().st_size))
    size = _or_refuse(path, lambda: _unpacked(path, largest))
    if size > largest:
        raise FormatError(f"{path} unpacks to more than {largest >> 20:,} MiB.", hint="Save the records as CSV or Parquet.")


def _unpacked(path: Path, enough: int) -> int:
    """The bytes that a zip file unpacks to; counting stops soon after `enough`."""
    size = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                while size <= enough and (chunk := file.read(TUNING.piece)):
                    size += len(chunk)
    return size


def _required(package: str, *, extra: str, what: str) -> Any:
    if find_spec(package) is None:
        raise BackendMissing(f"{what} needs the package {package}, which is not installed.", hint=f"Run: pip install 'statveil[{extra}]'")
    return import_module(package)


def _or_refuse(path: Path, read: Callable[[], Any]) -> Any:
    """Packages put contents of the file into their messages, so only the kind of trouble is passed on."""
    try:
        return read()
    except Exception as error:
        raise FormatError(
            f"{path} cannot be read as a {path.suffix} file ({type(error).__name__}).", hint="Is it damaged, or has it the wrong ending?"
        ) from None
