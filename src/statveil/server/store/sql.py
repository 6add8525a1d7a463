"""What both stores share: the tables, the queries, and the shape of a recording. Values are always parameters, never text."""

from __future__ import annotations

import datetime
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from statveil.core.errors import BackendError
from statveil.server.store.protocol import Alarm, AnswerRow, CellRow, Hook, Pin, SeenCell

CHUNK = 500
TRY_LATER = "Nothing was released. Try again in a moment; if it lasts, tell the operator."
RELEASES = "releases"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS cells (number {serial}, id {bytes} NOT NULL UNIQUE, space {bytes} NOT NULL, sense INTEGER NOT NULL,"
    " value BIGINT NOT NULL, records BIGINT NOT NULL, print {bytes} NOT NULL)",
    "CREATE INDEX IF NOT EXISTS cells_by_space ON cells (space, number)",
    "CREATE TABLE IF NOT EXISTS tables (hash TEXT PRIMARY KEY, body {bytes} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS answers (hash TEXT PRIMARY KEY, query TEXT NOT NULL, base TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS budgets (client TEXT PRIMARY KEY, spent BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS alarms (number {serial}, at TEXT NOT NULL, kind TEXT NOT NULL, client TEXT NOT NULL, detail TEXT NOT NULL)",
)
_INSERT_CELL = "INSERT INTO cells (id, space, sense, value, records, print) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


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

    @abstractmethod
    def _many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None: ...

    @abstractmethod
    def pins(self, ids: Sequence[bytes]) -> dict[bytes, Pin]: ...

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

    def seen(self, space: bytes, after: int) -> list[SeenCell]:
        found = self._ask(
            "SELECT number, sense, value, records, print FROM cells WHERE space = ? AND number > ? ORDER BY number", space, after
        )
        return [SeenCell(number, sense, value, records, bytes(print_)) for number, sense, value, records, print_ in found]

    def table(self, hash_: str) -> bytes | None:
        found = self._ask("SELECT body FROM tables WHERE hash = ?", hash_)
        return bytes(found[0][0]) if found else None

    def answer(self, hash_: str) -> AnswerRow | None:
        found = self._ask("SELECT hash, query, base, digest FROM answers WHERE hash = ?", hash_)
        return AnswerRow(*found[0]) if found else None

    def fact(self, name: str) -> str | None:
        found = self._ask("SELECT value FROM facts WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def spent(self, client: str) -> int:
        found = self._ask("SELECT spent FROM budgets WHERE client = ?", client)
        return int(found[0][0]) if found else 0

    def alarms(self, after: int = 0) -> list[Alarm]:
        return [
            Alarm(*row) for row in self._ask("SELECT number, at, kind, client, detail FROM alarms WHERE number > ? ORDER BY number", after)
        ]

    # --- recording

    def add_cells(self, rows: Sequence[CellRow]) -> None:
        self.hook("before insert")
        for place in range(0, len(rows), CHUNK):
            self._many(_INSERT_CELL, rows[place : place + CHUNK])
            self.hook("between cells")

    def add_table(self, hash_: str, body: bytes) -> None:
        self._ask("INSERT INTO tables (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING", hash_, body)

    def add_answer(self, row: AnswerRow) -> None:
        self._ask("INSERT INTO answers (hash, query, base, digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", *row)

    def set_fact(self, name: str, value: str) -> None:
        self._ask("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)

    def spend(self, client: str, amount: int) -> None:
        sql = "INSERT INTO budgets (client, spent) VALUES (?, ?) ON CONFLICT (client) DO UPDATE SET spent = budgets.spent + excluded.spent"
        self._ask(sql, client, amount)

    def add_alarm(self, kind: str, client: str, detail: str) -> None:
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._ask("INSERT INTO alarms (at, kind, client, detail) VALUES (?, ?, ?, ?)", at, kind, client, detail)

    def count_release(self) -> int:
        number = int(self.fact(RELEASES) or 0) + 1
        self.set_fact(RELEASES, str(number))
        return number
