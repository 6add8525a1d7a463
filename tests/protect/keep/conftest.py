"""What the tests of keeping statistics share: a search that ends soon."""

from __future__ import annotations

import pytest

from tests.protect.keep.stories import keep_soon


@pytest.fixture
def ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_soon(monkeypatch)
