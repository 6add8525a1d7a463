"""The stores: SQLite in one file that only its owner may read, or PostgreSQL. They share tables, queries and the shape of a recording.

Values are always parameters, never text. Every commit is on the disk before an answer leaves (F03).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from statveil.core.errors import BackendError, BackendMissing
from statveil.jobs.server_config import ServerConfig
from statveil.server.store.protocol import AnswerRow, Hook, Store

TRY_LATER = "Nothing was released. Try again in a moment; if it lasts, tell the operator."
RELEASES = "releases"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sealed (name TEXT PRIMARY KEY, body {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tables (hash TEXT PRIMARY KEY, body {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS answers (hash TEXT PRIMARY KEY, query TEXT NOT NULL, base TEXT NOT NULL, digest TEXT NOT NULL)",
)


class SqlStore(ABC):
    """A store over one connection, opened when it is needed and again after a failure; threads take turns."""

    failures: tuple[type[Exception], ...] = ()

    def __init__(self, *, lock_seconds: float, hook: Hook = lambda moment: None) -> None:
        self.lock_seconds, self.hook = lock_seconds, hook
        self._turn = threading.RLock()
        self._connection: Any = None
        self._process = os.getpid()
        self._begun = self._recording = False

    @abstractmethod
    def _connect(self, *, begin: bool) -> Any:
        """A new connection, in autocommit. `begin`: make the tables if they are not there; without it nothing is ever made."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction that nobody else writes beside."""

    def _is_elsewhere(self) -> bool:
        """Whether the connection leads to another place than the store's name does by now."""
        return False

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]: ...

    @contextmanager
    def _working(self) -> Iterator[None]:
        """A turn with a working connection; a failure drops the connection, so that the next turn has a new one."""
        if not self._turn.acquire(timeout=self.lock_seconds):
            raise BackendError("The store is busy.", hint=TRY_LATER)
        try:
            if self._connection is not None and self._process == os.getpid() and not self._recording and self._is_elsewhere():
                self.close()
            if self._connection is None or self._process != os.getpid():
                self._connection, self._process = self._connect(begin=not self._begun), os.getpid()
                self._begun = True  # a store that is lost later is missed, not begun anew
            yield
        except self.failures:
            self.close()
            raise BackendError("The store cannot be used at the moment.", hint=TRY_LATER) from None
        finally:
            self._turn.release()

    @contextmanager
    def recording(self) -> Iterator[SqlStore]:
        with self._working():
            self._begin()
            self._recording = True
            try:
                yield self
                self.hook("before commit")
                if self._is_elsewhere():
                    raise BackendError("The store was replaced meanwhile.", hint=TRY_LATER)
                self._rows("COMMIT")
            except BaseException:
                self._give_up()
                raise
            finally:
                self._recording = False
            self.hook("after commit")

    def _give_up(self) -> None:
        """Undo; a connection that cannot even do that, or is gone, has nothing left to undo."""
        try:
            if self._connection is not None:
                self._rows("ROLLBACK")
        except self.failures:
            self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, sql: str, *values: Any) -> list[Any]:
        with self._working():
            return self._rows(sql, values)

    # --- reading

    def sealed(self, name: str) -> bytes | None:
        found = self._ask("SELECT body FROM sealed WHERE name = ?", name)
        return bytes(found[0][0]) if found else None

    def table(self, hash_: str) -> bytes | None:
        found = self._ask("SELECT body FROM tables WHERE hash = ?", hash_)
        return bytes(found[0][0]) if found else None

    def answer(self, hash_: str) -> AnswerRow | None:
        found = self._ask("SELECT hash, query, base, digest FROM answers WHERE hash = ?", hash_)
        return AnswerRow(*found[0]) if found else None

    def fact(self, name: str) -> str | None:
        found = self._ask("SELECT value FROM facts WHERE name = ?", name)
        return str(found[0][0]) if found else None

    # --- recording

    def set_sealed(self, name: str, body: bytes) -> None:
        self.hook("before insert")
        self._ask("INSERT INTO sealed (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body", name, body)

    def add_table(self, hash_: str, body: bytes) -> None:
        self._ask("INSERT INTO tables (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING", hash_, body)

    def add_answer(self, row: AnswerRow) -> None:
        self.hook("before insert")
        self._ask("INSERT INTO answers (hash, query, base, digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", *row)

    def set_fact(self, name: str, value: str) -> None:
        self._ask("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)

    def count_release(self) -> int:
        number = int(self.fact(RELEASES) or 0) + 1
        self.set_fact(RELEASES, str(number))
        return number


class SqliteStore(SqlStore):
    failures = (sqlite3.Error, OSError)

    def __init__(self, path: Path, *, lock_seconds: float = 5.0, hook: Hook = lambda moment: None) -> None:
        super().__init__(lock_seconds=lock_seconds, hook=hook)
        self.path = path
        self._opened = (0, 0)

    def _connect(self, *, begin: bool) -> sqlite3.Connection:
        handle = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if begin else 0), 0o600)
        self._opened = _inode(os.fstat(handle))
        os.close(handle)
        connection = sqlite3.connect(self.path, timeout=self.lock_seconds, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for statement in SCHEMA if begin else ():
            connection.execute(statement.format(bytes="BLOB"))
        return connection

    def _is_elsewhere(self) -> bool:
        """A file that was moved away or replaced stays open and would take recordings that nobody finds again."""
        return _inode(os.stat(self.path)) != self._opened

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, tuple(values)).fetchall()
        return found


def _inode(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


_LOCK = 7_342_511_904
"""The advisory lock that recordings take in turn."""


class PostgresStore(SqlStore):
    def __init__(self, url: str, *, lock_seconds: float = 5.0, hook: Hook = lambda moment: None) -> None:
        super().__init__(lock_seconds=lock_seconds, hook=hook)
        try:
            import psycopg
        except ImportError:
            raise BackendMissing("A store in PostgreSQL needs psycopg.", hint="pip install 'statveil[postgres]'") from None
        self._psycopg = psycopg
        self.failures = (psycopg.Error, OSError)
        self._url = url

    def _connect(self, *, begin: bool) -> Any:
        milliseconds = int(self.lock_seconds * 1000)
        options = f"-c lock_timeout={milliseconds} -c synchronous_commit=on -c client_min_messages=warning"
        connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=max(2, int(self.lock_seconds)), options=options)
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in SCHEMA if begin else ():
                connection.execute(statement.format(bytes="BYTEA"))
        return connection

    def _begin(self) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self._connection.execute(sql.replace("?", "%s"), tuple(values))
        return list(cursor.fetchall()) if cursor.description else []


def open_store(config: ServerConfig) -> Store:
    part = config.store
    if part.url is not None:
        return PostgresStore(part.url, lock_seconds=float(part.lock_seconds))
    assert part.file is not None
    return SqliteStore(config.path(part.file), lock_seconds=float(part.lock_seconds))
