"""Amounts become units without a rounding error, also in units larger than one."""

from __future__ import annotations

import pytest

from statveil.risk.rules.base import ceil_amount, floor_amount


@pytest.mark.parametrize(
    ("amount", "scale", "low", "high"),
    [
        ("1.05", 1, 10, 11),
        (0.29, 2, 29, 29),
        (-7, 0, -7, -7),
        (1500, -3, 1, 2),
        (10**18 + 1, -3, 10**15, 10**15 + 1),  # as floating-point numbers the two are one
    ],
)
def test_an_amount_lies_between_the_units_around_it(amount: int | float | str, scale: int, low: int, high: int) -> None:
    assert (floor_amount(amount, scale), ceil_amount(amount, scale)) == (low, high)
