"""The store that a configuration names."""

from __future__ import annotations

from statveil.jobs.server_config import ServerConfig
from statveil.server.store.postgres import PostgresStore
from statveil.server.store.protocol import Store
from statveil.server.store.sqlite import SqliteStore


def open_store(config: ServerConfig) -> Store:
    part = config.store
    if part.url is not None:
        return PostgresStore(part.url, lock_seconds=float(part.lock_seconds))
    assert part.file is not None
    return SqliteStore(config.path(part.file), lock_seconds=float(part.lock_seconds))
