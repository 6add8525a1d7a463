"""A desk whose table is protected already."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.desk.stories import ended, post, tabulated


@pytest.fixture
def protected(tmp_path: Path) -> TestClient:
    desk = tabulated(tmp_path)
    assert post(desk, "/runs") == 303
    assert "Run 0001: done" in ended(desk, tmp_path)
    return desk
