"""The store that a configuration names."""

from __future__ import annotations

from statveil.serve.config import ServerConfig
from statveil.serve.store.postgres import PostgresStore
from statveil.serve.store.protocol import Store
from statveil.serve.store.sqlite import SqliteStore


def open_store(config: ServerConfig) -> Store:
    part = config.store
    if part.url is not None:
        return PostgresStore(part.url, lock_seconds=float(part.lock_seconds))
    assert part.file is not None
    return SqliteStore(config.path(part.file), lock_seconds=float(part.lock_seconds))
