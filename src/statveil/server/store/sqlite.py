"""The embedded store: one SQLite file that only its owner may read, every commit on the disk before an answer leaves (F03)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statveil.server.store.protocol import Hook, Pin
from statveil.server.store.sql import CHUNK, SCHEMA, SqlStore

_PINS = f"SELECT id, sense, value FROM cells WHERE id IN ({', '.join('?' * CHUNK)})"


class SqliteStore(SqlStore):
    failures = (sqlite3.Error, OSError)

    def __init__(self, path: Path, *, lock_seconds: float = 5.0, hook: Hook = lambda moment: None) -> None:
        super().__init__(lock_seconds=lock_seconds, hook=hook)
        self.path = path
        self._place = (0, 0)

    def _connect(self, *, begin: bool) -> sqlite3.Connection:
        handle = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if begin else 0), 0o600)
        self._place = _place(os.fstat(handle))
        os.close(handle)
        connection = sqlite3.connect(self.path, timeout=self.lock_seconds, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for statement in SCHEMA if begin else ():
            connection.execute(statement.format(serial="INTEGER PRIMARY KEY AUTOINCREMENT", bytes="BLOB"))
        return connection

    def _is_elsewhere(self) -> bool:
        """A file that was moved away or replaced stays open and would take recordings that nobody finds again."""
        return _place(os.stat(self.path)) != self._place

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, tuple(values)).fetchall()
        return found

    def _many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def pins(self, ids: Sequence[bytes]) -> dict[bytes, Pin]:
        found: dict[bytes, Pin] = {}
        for place in range(0, len(ids), CHUNK):
            chunk = list(ids[place : place + CHUNK])
            chunk += chunk[-1:] * (CHUNK - len(chunk))  # one statement for all sizes: it is prepared once
            found.update({bytes(id_): Pin(sense, value) for id_, sense, value in self._ask(_PINS, *chunk)})
        return found


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
