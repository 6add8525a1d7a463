"""A table of a PostgreSQL database as a stream of records, in a transaction that can only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyarrow as pa

from statveil.core.errors import BackendMissing, EngineFailed, InputError

ADDRESSES = ("postgresql://", "postgres://")
_TYPES = {
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int64(),
    23: pa.int64(),
    25: pa.string(),
    700: pa.float32(),
    701: pa.float64(),
    1042: pa.string(),
    1043: pa.string(),
    1082: pa.date32(),
    1700: pa.string(),
}
"""By the number of PostgreSQL's type; decimals come as text, exact however many they are."""


class DatabaseTuning(NamedTuple):
    rows: int = 50_000
    """Records that the database hands over at a time: by judgement."""


TUNING = DatabaseTuning()


def table_of_address(address: str) -> tuple[str, str]:
    """The database and the table behind the #: schema.table, or a table on the search path."""
    url, _, table = address.partition("#")
    if not table or len(table.split(".")) > 2 or not all(table.split(".")):
        raise InputError("The address names no table.", hint="Put it behind a #: postgresql://host/database#schema.table")
    return url, table


def stream_of_table(url: str, table: str) -> pa.RecordBatchReader:
    """All records, read piece by piece. Messages of the database are not passed on: they hold its address, and may hold values."""
    if find_spec("psycopg") is None:
        needed = "A table of PostgreSQL needs the package psycopg, which is not installed."
        raise BackendMissing(needed, hint="Run: pip install 'statveil[postgres]'")
    psycopg = import_module("psycopg")
    try:
        connection = psycopg.connect(url, connect_timeout=10)
        connection.read_only = True
        cursor = connection.cursor(name="statveil")
        names = import_module("psycopg.sql").SQL(".").join(map(import_module("psycopg.sql").Identifier, table.split(".")))
        cursor.execute(import_module("psycopg.sql").SQL("SELECT * FROM {}").format(names))
    except psycopg.Error as error:
        raise EngineFailed(
            f"The table {table!r} cannot be read ({type(error).__name__}).", hint="Check the address and the rights."
        ) from None
    schema = _schema(cursor.description, table)
    return pa.RecordBatchReader.from_batches(schema, _batches(connection, cursor, schema))


def _schema(columns: Sequence[Any], table: str) -> pa.Schema:
    strange = [column.name for column in columns if column.type_code not in _TYPES]
    if strange:
        raise InputError(f"Column {strange[0]!r} of {table!r} has a type that is not read.", hint="Make a view that casts it to text.")
    return pa.schema([(column.name, _TYPES[column.type_code]) for column in columns])


def _batches(connection: Any, cursor: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with connection, cursor:
        while rows := cursor.fetchmany(TUNING.rows):
            columns = [_column(values, kind) for values, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
            yield pa.record_batch(columns, schema=schema)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([value if value is None or isinstance(value, str) else format(value, "f") for value in values], kind)
    return pa.array(values, kind)
