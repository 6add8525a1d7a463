"""A front of the market, found once."""

from __future__ import annotations

import pytest

import statveil as sv
from tests.jobs.tradeoff.market_fronts import LIMITS
from tests.jobs.tradeoff.stories import market


@pytest.fixture(scope="session")
def front() -> sv.keep.Tradeoff:
    return sv.keep.tradeoff(market(), points=3, limits=LIMITS)
