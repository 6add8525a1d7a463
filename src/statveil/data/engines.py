"""Where queries on records run. The only module that names an engine: DuckDB.

Another engine needs an `Engine` (the names of the columns, a session) and a `Session` with five verbs.
Queries call the records `records` and its columns by `column(engine, name)`: a user's words never enter a query.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import duckdb
import pyarrow as pa

from statveil.core.errors import EngineFailed, FormatError, InputError, StatveilError


class EngineTuning(NamedTuple):
    """What the engine may use."""

    memory: str = "2GB"
    """Beyond this it spills to a private temporary folder. By judgement."""


TUNING = EngineTuning()


class Session(Protocol):
    """One connection: what is kept or lent in it goes when it closes."""

    def query(self, sql: str) -> pa.Table:
        """The answer as an Arrow table."""

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The answer in pieces, for answers that are too large to hold."""

    def keep(self, name: str, sql: str) -> None:
        """Store the answer under a name that later queries may use."""

    def lend(self, name: str, table: pa.Table) -> None:
        """Give a table of ours to later queries."""

    def first(self, condition: str) -> int:
        """The number of the first record that meets the condition (some record must), counted from 1."""


class RecordView(NamedTuple):
    """What queries see instead of the records as they came: missing words blanked, columns added, records left out.

    cleaned: each column that came, in the engine's words. derived: the columns added to them. kept: the condition on both.
    """

    cleaned: tuple[str, ...]
    derived: tuple[str, ...] = ()
    kept: str = "true"


class Engine(Protocol):
    @property
    def columns(self) -> tuple[str, ...]: ...

    def session(self) -> AbstractContextManager[Session]:
        """A session whose table `records` holds the records."""

    def place(self, record: int) -> str:
        """Where a user finds the record of that number: its line or its row."""

    def viewed(self, columns: tuple[str, ...], view: RecordView) -> Engine:
        """The same records seen through a view; `columns` names what it shows."""


def column(engine: Engine, name: str) -> str:
    """How a query calls the column of that name."""
    return _internal_name(engine.columns.index(name))


def _internal_name(index: int) -> str:
    return f"c{index}"


@dataclass(frozen=True, kw_only=True, repr=False)
class DuckEngine:
    """DuckDB in memory, over records that `attach` finds anew in every session."""

    columns: tuple[str, ...]
    origin: str
    attach: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]
    line_of: Callable[[int], int] | None = None
    """The line of the file on which a record begins; None where records are rows."""
    holds: object = None
    """Whatever must live as long as the records: a temporary copy of the file."""
    view: RecordView | None = None

    @contextmanager
    def session(self) -> Iterator[DuckSession]:
        with tempfile.TemporaryDirectory(prefix="statveil-") as spill, duckdb.connect(config=_settings(spill)) as connection:
            with _in_our_words(self.origin):
                self.attach(connection).create_view("source")
                for definition in _views(len(self.columns), self.view):
                    connection.execute(definition)
            yield DuckSession(connection=connection, origin=self.origin)

    def place(self, record: int) -> str:
        return f"line {self.line_of(record)}" if self.line_of else f"row {record} (counted from 1)"

    def viewed(self, columns: tuple[str, ...], view: RecordView) -> DuckEngine:
        return replace(self, columns=columns, view=view)


def _views(columns: int, view: RecordView | None) -> Iterator[str]:
    """`records` for all queries, and `numbered`: those that came, with their numbers and whether they were `kept`."""
    view = view or RecordView(cleaned=tuple(_internal_name(index) for index in range(columns)))
    came = ", ".join(_internal_name(index) for index in range(len(view.cleaned)))
    cleaned = ", ".join(f"{each} AS {_internal_name(index)}" for index, each in enumerate(view.cleaned))
    derived = "".join(f", {each} AS {_internal_name(index)}" for index, each in enumerate(view.derived, start=len(view.cleaned)))
    yield f"CREATE VIEW cleaned AS SELECT {cleaned} FROM source AS source({came})"
    yield f"CREATE VIEW records AS SELECT {came}{derived} FROM cleaned WHERE {view.kept}"
    yield f"CREATE VIEW numbered AS SELECT {came}{derived}, {view.kept} AS kept, row_number() OVER () AS number FROM cleaned"


def _settings(spill: str) -> dict[str, Any]:
    return {
        "memory_limit": TUNING.memory,
        "temp_directory": spill,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class DuckSession:
    connection: duckdb.DuckDBPyConnection
    origin: str

    def query(self, sql: str) -> pa.Table:
        with _in_our_words(self.origin):
            return self.connection.sql(sql).to_arrow_table()

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        with _in_our_words(self.origin):
            yield from self.connection.sql(sql).to_arrow_reader(rows)

    def keep(self, name: str, sql: str) -> None:
        with _in_our_words(self.origin):
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def lend(self, name: str, table: pa.Table) -> None:
        self.connection.register(name, table)

    def first(self, condition: str) -> int:
        """Records come in their own order only to a single thread; this is for messages, not for speed."""
        with _in_our_words(self.origin):
            self.connection.execute("SET threads = 1; SET preserve_insertion_order = true")
            found = self.connection.sql(f"SELECT min(number) AS first FROM numbered WHERE kept AND ({condition})")
            return int(scalar_row(found.to_arrow_table())["first"])


def engine_over_csv(
    path: Path, *, columns: Sequence[str], delimiter: str, origin: str, line_of: Callable[[int], int], holds: object = None
) -> DuckEngine:
    """Over a UTF-8 file; all columns are text, so that codes keep their zeros and decimals stay exact."""
    types = {_internal_name(index): "VARCHAR" for index in range(len(columns))}

    def attach(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        return connection.read_csv(
            str(path), header=True, sep=delimiter, quotechar='"', escapechar='"', columns=types, auto_detect=False, strict_mode=True
        )

    return DuckEngine(columns=tuple(columns), origin=origin, attach=attach, line_of=line_of, holds=holds)


def engine_over_parquet(path: Path, *, columns: Sequence[str], origin: str) -> DuckEngine:
    return DuckEngine(columns=tuple(columns), origin=origin, attach=lambda connection: connection.read_parquet(str(path)))


def engine_over_arrow(table: pa.Table, *, origin: str) -> DuckEngine:
    columns = tuple(table.column_names)
    renamed = table.rename_columns([_internal_name(index) for index in range(len(columns))])
    return DuckEngine(columns=columns, origin=origin, attach=lambda connection: connection.from_arrow(renamed))


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


def scalar_row(table: pa.Table) -> Mapping[str, Any]:
    """The only row of an answer."""
    return {name: table[name][0].as_py() for name in table.column_names}
