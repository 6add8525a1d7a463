"""What the tests of the web application share: one that anyone may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server.fake import FakeService
from tests.server.live import running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    """Anyone may ask this one."""
    with running(FakeService("firms", "farms"), folder, anonymous=True, requests_per_minute=100_000) as found:
        yield found
