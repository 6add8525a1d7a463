"""A table of PostgreSQL is read piece by piece, exactly, in a transaction that can only read."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

import statveil as sv
from statveil.core.errors import BackendMissing, EngineFailed, InputError
from statveil.data import database
from statveil.tables.tabulate import tabulate
from tests.server.stores import private_postgres

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'statveil[postgres]'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    try:
        with private_postgres() as found:
            fill(found)
            yield found
    except FileNotFoundError as reason:
        pytest.skip(f"No PostgreSQL of our own: {reason}.")


def fill(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            """CREATE TABLE firms (code text, "Sales" numeric(12, 2), jobs integer, since date, open boolean, rate float8)"""
        )
        rows = [
            ("01", "1234567890.10", 3, "2024-02-29", True, 0.1),
            ("01", "0.05", None, None, False, None),
            ("02", "-7", 2**31 - 1, None, None, 1e16),
        ]
        connection.cursor().executemany("INSERT INTO firms VALUES (%s, %s, %s, %s, %s, %s)", rows)
        connection.execute("CREATE TABLE odd (place point)")
        connection.execute("CREATE FUNCTION touch() RETURNS integer LANGUAGE sql AS 'INSERT INTO firms (code) VALUES (''x''); SELECT 1'")
        connection.execute("CREATE VIEW writing AS SELECT touch() AS code")


def rows(data: sv.Microdata) -> list[tuple[Any, ...]]:
    with data.engine.session() as session:
        return sorted(tuple(map(str, row.values())) for row in session.query("SELECT * FROM records").to_pylist())


def test_values_are_exact_in_pieces_of_any_size(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "TUNING", database.DatabaseTuning(rows=2))
    data = sv.read_microdata(f"{address}#public.firms")
    assert data.columns == ("code", "Sales", "jobs", "since", "open", "rate")
    assert rows(data)[1] == ("01", "1234567890.10", "3", "2024-02-29", "True", "0.1")
    assert tabulate(data, sv.TableSpec(dimensions={"code": None}, measure="Sales")).value.tolist() == [123456788315, 123456789015, -700]


def test_a_table_that_is_not_there_is_told_without_the_address(address: str) -> None:
    with pytest.raises(EngineFailed, match=r"The table 'nothing' cannot be read \(UndefinedTable\)") as told:
        sv.read_microdata(f"{address}#nothing")
    assert address not in str(told.value)


def test_a_type_without_a_clear_text_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="Column 'place' of 'odd' has a type that is not read"):
        sv.read_microdata(f"{address}#odd")


def test_nothing_can_be_written(address: str) -> None:
    with pytest.raises((EngineFailed, InputError, sv.StatveilError), match="ReadOnlySqlTransaction"):
        sv.read_microdata(f"{address}#writing")
    assert len(rows(sv.read_microdata(f"{address}#firms"))) == 3


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None if name == "psycopg" else find_spec(name))
    with pytest.raises(BackendMissing, match="psycopg"):
        sv.read_microdata("postgresql://office/base#firms")
