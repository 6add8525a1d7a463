"""The start of one process of the server."""

from __future__ import annotations

import gc
import os
import socket
from pathlib import Path

import pytest
import uvicorn

from statveil.jobs.server_config import read_config
from statveil.server.workers import start
from tests.server.village import write_server

NAME = "STATVEIL_TEST_KEY"


def test_the_solver_is_started_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child keeps the environment that it is started with, for all who can read it."""
    path = write_server(tmp_path, web={"port": 0, "anonymous": True})
    path.write_text(path.read_text().replace('key = { "file" = "key" }', f'key = {{ environment = "{NAME}", counter = "counter" }}'))
    monkeypatch.setenv(NAME, (tmp_path / "key").read_text())
    seen: list[str | None] = []
    monkeypatch.setattr(start, "warm_up", lambda: seen.append(os.environ.get(NAME)))
    monkeypatch.setattr(start, "without_core_dumps", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: None)
    with socket.socket() as listening:
        start.work(path, read_config(path).web, listening, lambda: seen.append("ready"))
    assert seen == [None, "ready"]
