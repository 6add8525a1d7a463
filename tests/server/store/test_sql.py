"""One protocol, two stores: every fact is stated of both."""

from __future__ import annotations

import ast
import resource
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from statveil import server
from statveil.core.errors import BackendError
from statveil.server.store.protocol import MOMENTS, AnswerRow, Moment, Store
from statveil.server.store.sql import PostgresStore, SqliteStore, SqlStore
from tests.server.stores import restart
from tests.server.village import ask, open_village

Opener = Callable[..., SqlStore]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the store of a test, as often as it asks."""
    if request.param == "sqlite":
        return lambda **options: SqliteStore(tmp_path / "store.sqlite", **options)
    address = request.getfixturevalue("postgres")
    in_schema_of_its_own(address, request.node.name)
    return lambda **options: PostgresStore(address, **options)


def in_schema_of_its_own(address: str, test: str) -> None:
    """Every test finds an empty database."""
    import psycopg

    schema = f"t{abs(hash(test))}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"ALTER ROLE statveil SET search_path = {schema}")


def row(number: int, *, query: str = "q") -> AnswerRow:
    return AnswerRow(f"h{number}", query, "t", "d")


def record(store: Store, rows: list[AnswerRow]) -> None:
    with store.recording() as recording:
        for each in rows:
            recording.add_answer(each)


def known(store: Store, *numbers: int) -> list[int]:
    return [number for number in numbers if store.answer(row(number).hash) is not None]


@pytest.mark.slow
def test_the_first_to_record_an_answer_decides(opener: Opener) -> None:
    store = opener()
    record(store, [row(1), row(2)])
    record(store, [row(2, query="other"), row(3)])
    assert store.answer("h2") == row(2) == opener().answer("h2")
    assert known(opener(), 1, 2, 3, 4) == [1, 2, 3]


def test_a_recording_that_fails_leaves_nothing(opener: Opener) -> None:
    store = opener()

    def fail() -> None:
        with store.recording() as recording:
            recording.set_sealed("cube", bytes(1_000_000))
            recording.add_table("t", b"body")
            recording.add_answer(row(1))
            recording.count_release()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (store.sealed("cube"), store.table("t"), store.answer("h1"), store.fact("releases")) == (None, None, None, None)


def test_what_is_recorded_is_read_back(opener: Opener) -> None:
    store = opener()
    with store.recording() as recording:
        recording.add_table("t", b"\x00body")
        recording.add_answer(row(1))
        recording.set_sealed("memory", b"\x00one")
        assert recording.count_release() == 1
    with store.recording() as recording:
        recording.add_table("t", b"other")
        recording.add_answer(row(1, query="other"))
        recording.set_sealed("memory", b"two")
        assert recording.count_release() == 2
    again = opener()
    assert again.table("t") == b"\x00body"
    assert again.answer("h1") == row(1)
    assert again.sealed("memory") == b"two", "a memory grows"


def test_hooks_are_called_at_every_moment(opener: Opener) -> None:
    met: list[Moment] = []
    record(opener(hook=met.append), [row(1)])
    assert tuple(met) == MOMENTS


def test_a_lock_held_too_long_is_a_503_and_passes(opener: Opener) -> None:
    """F05: nothing is recorded while another holds the store, and all is well once it lets go."""
    holder, waiter = opener(), opener(lock_seconds=1.0)
    waiter.fact("open it first")
    with holder.recording() as recording:
        recording.add_answer(row(1))
        with pytest.raises(BackendError) as refused:
            record(waiter, [row(2)])
        assert refused.value.http_status == 503
    record(waiter, [row(2)])
    assert known(waiter, 1, 2) == [1, 2]


def test_a_store_that_is_lost_is_missed_and_not_begun_anew(opener: Opener, tmp_path: Path) -> None:
    store, other = opener(), opener()
    record(store, [row(1)])
    other.fact("open it")
    if isinstance(store, PostgresStore):
        with other._working():
            other._rows("DROP TABLE facts, sealed, tables, answers")
    else:
        other.close()
        (tmp_path / "store.sqlite").unlink()
    for _ in range(2):
        with pytest.raises(BackendError):
            record(store, [row(2)])
        with pytest.raises(BackendError):
            store.fact("x")
    assert known(opener(), 1, 2) == []


def test_a_file_that_is_replaced_during_a_recording_takes_nothing(tmp_path: Path) -> None:
    """The file that is open is no longer the one that others find."""
    path = tmp_path / "store.sqlite"
    SqliteStore(tmp_path / "old").fact("begin it")

    def swap(moment: Moment) -> None:
        if moment == "before commit":
            (tmp_path / "old").rename(path)

    store = SqliteStore(path, hook=swap)
    with pytest.raises(BackendError, match="replaced"):
        record(store, [row(1)])
    assert known(store, 1) == []


def test_threads_take_turns(opener: Opener) -> None:
    store = opener()
    threads = [threading.Thread(target=record, args=(store, [row(number), row(100, query=str(number))])) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(known(store, *range(8), 100)) == 9


@pytest.mark.slow
def test_a_database_that_restarts_is_found_again(postgres: str) -> None:
    """F05 for PostgreSQL: 503 while it is away, then as before."""
    store = PostgresStore(postgres, lock_seconds=2.0)
    with store.recording() as recording:
        recording.set_fact("before", "yes")
    restart(postgres)
    with pytest.raises(BackendError):
        store.fact("before")
    assert store.fact("before") == "yes"


@pytest.mark.slow
def test_the_server_answers_the_same_from_either_store(postgres: str, tmp_path: Path) -> None:
    in_schema_of_its_own(postgres, "service")
    queries = [ask("region", "trade"), ask("trade", measure="units"), ask("region", "trade", measure="units")]
    given = []
    for place in ({"file": "store.sqlite"}, {"url": postgres}):
        service = open_village(tmp_path, store=place)
        given.append([service.answer(query).to_bytes() for query in queries])
        assert [open_village(tmp_path, store=place).answer(query).to_bytes() for query in queries] == given[-1]
        (tmp_path / "key.counter").unlink()
    assert given[0] == given[1]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """T26."""
    store = SqliteStore(tmp_path / "store.sqlite")
    record(store, [row(1)])
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_every_commit_is_on_the_disk(tmp_path: Path) -> None:
    """F03: with less than FULL a power cut could forget what was published."""
    store = SqliteStore(tmp_path / "store.sqlite")
    record(store, [row(1)])
    assert store._rows("PRAGMA synchronous") == [(2,)]
    assert store._rows("PRAGMA journal_mode") == [("wal",)]


def test_a_full_disk_is_a_503_and_passes(tmp_path: Path) -> None:
    """F04: no file may grow; then it may again."""
    store = SqliteStore(tmp_path / "store.sqlite")
    record(store, [row(1)])
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, hard))
        with pytest.raises(BackendError) as refused:
            record(store, [row(number) for number in range(2, 4000)])
        assert str(tmp_path) not in str(refused.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert known(store, *range(1, 10)) == [1]
    record(store, [row(number) for number in range(2, 4000)])
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (3999,)


def test_a_store_that_is_no_database_is_a_503(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_bytes(b"not a database, " * 100)
    with pytest.raises(BackendError):
        SqliteStore(tmp_path / "store.sqlite").fact("x")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with pytest.raises(BackendError):
        SqliteStore(tmp_path / "link").fact("x")


def test_nobody_at_the_address_is_a_503(tmp_path: Path) -> None:
    with pytest.raises(BackendError) as refused:
        PostgresStore(f"postgresql://user:geheim@/db?host={tmp_path}", lock_seconds=1.0).fact("x")
    assert "geheim" not in str(refused.value)


def test_f09_no_statement_is_put_together_from_words() -> None:
    """No call that sends a statement to a database of the server is given a text made on the spot."""
    sends, made, seen = {"execute", "executemany", "executescript", "_ask", "_rows", "_many", "_run"}, [], 0
    for path in Path(server.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in sends and node.args:
                seen += 1
                made += [f"{path.name}:{node.lineno}"] if isinstance(node.args[0], ast.JoinedStr | ast.BinOp) else []
    assert seen > 20
    assert made == []
