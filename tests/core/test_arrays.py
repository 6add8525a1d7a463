"""Decimals of exact amounts."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.arrays import fewest_decimals


@pytest.mark.parametrize(
    ("units", "decimals", "fewest"),
    [([5000, 1200], 2, 0), ([5000, 1210], 2, 1), ([5001, 1200], 2, 2), ([-150], 2, 1), ([0, 0], 3, 0), ([], 3, 0), ([7], 0, 0)],
)
def test_the_fewest_decimals_that_write_all_amounts(units: list[int], decimals: int, fewest: int) -> None:
    assert fewest_decimals(np.array(units, dtype=np.int64), decimals) == fewest
