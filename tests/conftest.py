"""Fixtures for all tests."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

settings.register_profile("statveil", deadline=None)  # how long an example takes says more of the machine than of the code
settings.load_profile("statveil")

os.environ["STATVEIL_KEY"] = "5e" * 32
"""Levels are drawn by a key; the tests have one of their own, and so have the processes that they start."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public instances that lie beside the project, or where STATVEIL_SHARED says."""
    folder = Path(os.environ.get("STATVEIL_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip("The public instances are not here; set STATVEIL_SHARED to the folder that holds data/.")
    return folder


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-quick` keeps its word: a test that is not marked slow starts no process and opens no connection."""
    if request.config.getoption("markexpr") != "not slow":
        return

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("This test needs a process or a connection: mark it slow.")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
