"""The store in PostgreSQL: the same tables in the schema that the address leads to, the same protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statveil.core.errors import BackendMissing
from statveil.server.store.protocol import Hook, Pin
from statveil.server.store.sql import SCHEMA, SqlStore

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
                connection.execute(statement.format(serial="BIGSERIAL PRIMARY KEY", bytes="BYTEA"))
        return connection

    def _begin(self) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self._connection.execute(sql.replace("?", "%s"), tuple(values))
        return list(cursor.fetchall()) if cursor.description else []

    def _many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), rows)

    def pins(self, ids: Sequence[bytes]) -> dict[bytes, Pin]:
        found = self._ask("SELECT id, sense, value FROM cells WHERE id = ANY(?)", list(ids))
        return {bytes(id_): Pin(sense, value) for id_, sense, value in found}
