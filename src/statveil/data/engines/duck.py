"""DuckDB, inside the process: the engine of all records that come from a file or a frame in memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.errors import EngineFailed, FormatError, InputError, StatveilError
from statveil.data.engines.protocol import RecordView, column, internal_name, scalar_row
from statveil.data.engines.settings import DuckDB

_WHOLE_TYPES = "('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT')"
_LOW_BITS = "18446744073709551615::UHUGEINT"
_WRITTEN_ROWS = 1 << 17
_HALF_UP = "((2 * abs(a) + abs(b)) // (2 * nullif(abs(b), 0)))"
_HALVED = f"(2 * abs(a) + abs(b)) % (2 * nullif(abs(b), 0)) = 0 AND {_HALF_UP} % 2 = 1"
_DIGITS = "lpad(CAST(abs(units) AS STRING), greatest(length(CAST(abs(units) AS STRING)), decimals + 1)::INTEGER, '0')"
_WORDS = {
    "trimmed(t)": "trim(t)",
    "whole_match(t, pattern)": "regexp_full_match(t, pattern)",
    "digest(t)": "md5_number(t)",
    "digest_low(d)": f"(d & {_LOW_BITS})::UBIGINT",
    "digest_high(d)": "(d >> 64)::UBIGINT",
    "hex_number(digits)": "CAST('0x' || digits AS BIGINT)",
    "byte_length(t)": "strlen(t)",
    "double_text(x)": "CAST(x AS STRING)",
    "hex_text(digits)": "decode(unhex(digits))",
    "lowered(t)": "lower(t)",
    "uppered(t)": "upper(t)",
    "whole(x)": "CAST(x AS HUGEINT)",
    "rounded(a, b)": "CASE WHEN (a < 0) <> (b < 0) THEN -1 ELSE 1 END * (" + _HALF_UP + f" - CASE WHEN {_HALVED} THEN 1 ELSE 0 END)",
    "decimal_text(units, decimals, mark)": (
        f"CASE WHEN units < 0 THEN '-' ELSE '' END || left({_DIGITS}, length({_DIGITS}) - decimals) || mark || right({_DIGITS}, decimals)"
    ),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class DuckEngine:
    """DuckDB in memory, over records that `attach` finds anew in every session."""

    columns: tuple[str, ...]
    origin: str
    attach: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]
    line_of: Callable[[int], int | str] | None = None
    """The line of the file on which a record begins, with the file where there are several; None where records are rows."""
    holds: object = None
    """Whatever must live as long as the records: a temporary copy of the file."""
    view: RecordView | None = None
    settings: DuckDB = field(default_factory=DuckDB)

    @contextmanager
    def session(self) -> Iterator[DuckSession]:
        folder = tempfile.TemporaryDirectory(prefix="statveil-", dir=self.settings.temporary)
        with folder as spill, duckdb.connect(config=_settings(self.settings, spill)) as connection:
            with _in_our_words(self.origin):
                self.attach(connection).create_view("source")
                for word, meaning in _WORDS.items():
                    connection.execute(f"CREATE TEMP MACRO {word} AS {meaning}")
                for definition in _views(len(self.columns), self.view):
                    connection.execute(definition)
            yield DuckSession(connection=connection, origin=self.origin)

    def text(self, name: str) -> str:
        return f"CAST({column(self, name)} AS STRING)"

    def holds_decimals(self, name: str) -> str:
        kind = f"typeof({column(self, name)})"
        return f"({kind} IN ('FLOAT', 'DOUBLE') OR {kind} LIKE 'DECIMAL%')"

    def holds_whole_numbers(self, name: str) -> str:
        return f"(typeof({column(self, name)}) IN {_WHOLE_TYPES})"

    def place(self, record: int) -> str:
        return f"line {self.line_of(record)}" if self.line_of else f"row {record} (counted from 1)"

    def viewed(self, columns: tuple[str, ...], view: RecordView) -> DuckEngine:
        return replace(self, columns=columns, view=view)


def _views(columns: int, view: RecordView | None) -> Iterator[str]:
    """`records` for all queries, and `numbered`: those that came, with their numbers and whether they were `kept`."""
    view = view or RecordView(cleaned=tuple(internal_name(index) for index in range(columns)))
    came = ", ".join(internal_name(index) for index in range(len(view.cleaned)))
    cleaned = ", ".join(f"{each} AS {internal_name(index)}" for index, each in enumerate(view.cleaned))
    derived = "".join(f", {each} AS {internal_name(index)}" for index, each in enumerate(view.derived, start=len(view.cleaned)))
    yield f"CREATE VIEW cleaned AS SELECT {cleaned} FROM source AS source({came})"
    yield f"CREATE VIEW records AS SELECT {came}{derived} FROM cleaned WHERE {view.kept}"
    yield f"CREATE VIEW numbered AS SELECT {came}{derived}, {view.kept} AS kept, row_number() OVER () AS number FROM cleaned"


def _settings(settings: DuckDB, spill: str) -> dict[str, Any]:
    return {
        **({} if settings.threads is None else {"threads": settings.threads}),
        "memory_limit": settings.memory,
        "temp_directory": spill,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class DuckSession:
    connection: duckdb.DuckDBPyConnection
    origin: str
    in_process: bool = True

    def query(self, sql: str) -> pa.Table:
        with _in_our_words(self.origin):
            return self.connection.sql(sql).to_arrow_table()

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        with _in_our_words(self.origin):
            yield from self.connection.sql(sql).to_arrow_reader(rows)

    def keep(self, name: str, sql: str) -> None:
        with _in_our_words(self.origin):
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def view(self, name: str, sql: str) -> None:
        with _in_our_words(self.origin):
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")

    def dealt(self, sql: str, by: str, parts: int) -> Iterator[pa.Table]:
        for part in range(parts):
            yield self.query(f"SELECT * FROM ({sql}) WHERE {by} % {parts} = {part} ORDER BY {by}")

    def largest(self, name: str, by: Sequence[str], value: str, count: int) -> pa.Table:
        """By an aggregate of DuckDB's own, which holds no more than these: 2.6 times as fast as ranking all records."""
        groups = ", ".join(by)
        return self.query(f"SELECT {groups}, unnest(max({value}, {count})) AS largest FROM {name} GROUP BY {groups}")

    def write_folder(self, sql: str, order: Sequence[str], names: Sequence[str], folder: Path) -> None:
        listed = ", ".join(order)
        batches = self.batches(f"SELECT * EXCLUDE ({listed}) FROM ({sql}) ORDER BY {listed}", rows=_WRITTEN_ROWS)
        folder.mkdir()
        kinds = self.query(f"SELECT * EXCLUDE ({listed}) FROM ({sql}) LIMIT 0").schema
        schema = pa.schema([field.with_name(name) for field, name in zip(kinds, names, strict=True)])
        with pq.ParquetWriter(folder / "part-00000.parquet", schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(pa.Table.from_batches([batch]).rename_columns(names).cast(schema))

    def lend(self, name: str, table: pa.Table) -> None:
        self.connection.register(name, table)

    def first(self, condition: str) -> int:
        """Records come in their own order only to a single thread; this is for messages, not for speed."""
        with _in_our_words(self.origin):
            self.connection.execute("SET threads = 1; SET preserve_insertion_order = true")
            found = self.connection.sql(f"SELECT min(number) AS first FROM numbered WHERE kept AND ({condition})")
            return int(scalar_row(found.to_arrow_table())["first"])


def engine_over_csv(
    path: Path | Sequence[Path],
    *,
    columns: Sequence[str],
    delimiter: str,
    origin: str,
    line_of: Callable[[int], int | str],
    holds: object = None,
) -> DuckEngine:
    """Over a UTF-8 file, or several of the same columns; all columns are text, so that codes keep their zeros and decimals stay exact."""
    types = {internal_name(index): "VARCHAR" for index in range(len(columns))}

    def attach(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        return connection.read_csv(
            _listed(path), header=True, sep=delimiter, quotechar='"', escapechar='"', columns=types, auto_detect=False, strict_mode=True
        )

    return DuckEngine(columns=tuple(columns), origin=origin, attach=attach, line_of=line_of, holds=holds)


def engine_over_parquet(path: Path | Sequence[Path], *, columns: Sequence[str], origin: str, holds: object = None) -> DuckEngine:
    """Over a file, or several of the same columns."""
    return DuckEngine(columns=tuple(columns), origin=origin, attach=lambda connection: connection.read_parquet(_listed(path)), holds=holds)


def _listed(path: Path | Sequence[Path]) -> Any:
    return [str(each) for each in ([path] if isinstance(path, Path) else path)]


def engine_over_arrow(table: pa.Table, *, origin: str) -> DuckEngine:
    columns = tuple(table.column_names)
    renamed = table.rename_columns([internal_name(index) for index in range(len(columns))])
    return DuckEngine(columns=columns, origin=origin, attach=lambda connection: connection.from_arrow(renamed))


def counting_session() -> AbstractContextManager[DuckSession]:
    """A session without records: for counts on tables of this process."""
    return engine_over_arrow(pa.table({"nothing": pa.array([], pa.int64())}), origin="The count").session()


@cache
def other_case(word: str) -> tuple[str, str]:
    """The letters that DuckDB's `lower` or `upper` turns into others, and these, place by place."""
    letters = pa.table({"a": [chr(number) for number in range(1, 0x110000) if not 0xD800 <= number < 0xE000]})
    with duckdb.connect() as connection:
        connection.register("letters", letters)
        pairs = connection.sql(f"SELECT a, {word}(a) AS b FROM letters WHERE a <> b ORDER BY a").fetchall()
    return "".join(a for a, _ in pairs), "".join(b for _, b in pairs)


@contextmanager
def _in_our_words(origin: str) -> Iterator[None]:
    """The engine's own messages quote records and queries: none of them may pass."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise EngineFailed(
            f"{origin}: the tabulation ran out of memory or of temporary disk space.", hint="Free some, or use fewer codes."
        ) from None
    except duckdb.Error as error:
        raise _translated(origin, error) from None


def _translated(origin: str, error: duckdb.Error) -> StatveilError:
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if line:
        return FormatError(
            f"{origin}, line {line[1]}: not a record of a CSV file.", hint="Look for a stray quotation mark on this line or before it."
        )
    if "CSV" in text:
        return FormatError(f"{origin} is not a regular CSV file.", hint="Look for stray quotation marks and for line ends of two kinds.")
    if isinstance(error, duckdb.IOException):
        return InputError(f"{origin} cannot be read.", hint="Was it moved or changed since it was opened?")
    return EngineFailed(
        f"{origin}: the engine failed ({type(error).__name__}).", hint="Please report this with the specification of the table."
    )
