"""A release whose dimensions are told apart by their names only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statveil.data.hierarchy import Hierarchy


@pytest.fixture
def trade(make_release: Callable[..., Any]) -> Any:
    """From p and q to p and q: both dimensions have the same codes."""
    tree = Hierarchy.flat("pq")
    return make_release({"from": tree, "to": tree}, {("p", "q"): 7, ("q", "p"): 5})
