"""What the processes of a server share: its files, and small SQLite files of which nothing is lost that matters."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statveil.jobs.server_config import ServerConfig


@dataclass(frozen=True, kw_only=True)
class SharedFiles:
    """The files that the processes share."""

    audit_log: Path
    keys: Path
    jobs: Path
    rate_limit: Path
    metrics: Path

    @classmethod
    def of(cls, config: ServerConfig) -> SharedFiles:
        state = config.path(config.web.state)
        return cls(
            audit_log=config.audit_log_file,
            keys=config.api_keys_file,
            jobs=state / "jobs.sqlite",
            rate_limit=state / "rate.sqlite",
            metrics=state / "metrics",
        )

    def prepare(self) -> None:
        for path in (self.audit_log, self.keys, self.jobs):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


class SharedDatabase:
    """A SQLite file that all processes of a machine read and write. The disk is never waited for: a crash may lose its last rows."""

    def __init__(self, path: Path, table: str) -> None:
        self._thread = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", table):
            self._connection.execute(statement)

    def run(self, statement: str, values: Any = ()) -> list[Any]:
        with self._thread:
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        self._connection.close()
