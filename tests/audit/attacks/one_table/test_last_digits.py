"""Digits that tell moved numbers from those at rest, and digits that do not."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.one_table.last_digits import finer_than, last_digits
from statveil.audit.attacks.verdict import VerdictStatus


def test_numbers_with_decimals_that_the_values_lack_tell_themselves() -> None:
    """Whole values in tenths: 50.0 and 20.0, released as 44.5 and 20.0."""
    assert finer_than(np.array([445, 200]), np.array([500, 200]), 1) == 1
    assert finer_than(np.array([445, 200]), np.array([505, 200]), 1) == 0
    assert finer_than(np.array([44, 20]), np.array([50, 20]), 0) == 0  # whole numbers may end in any digit
    verdict = last_digits(np.array([445, 200]), np.array([500, 200]), np.array([True, False]), constant=True, decimals=1)
    assert verdict.status is VerdictStatus.FAILED
    assert verdict.number == "1 numbers have more decimals than the values"


def test_halves_are_rounded_to_the_even_digit_and_that_is_no_leak() -> None:
    """Values that end in a half are published with even digits; those that were moved have any."""
    rng = np.random.Generator(np.random.PCG64(5))
    whole, halves = rng.integers(10_000, 99_999, 3000), rng.integers(10_000, 99_999, 3000) * 2
    value = np.concatenate([whole * 10, halves * 10 + 5])
    touched = np.arange(6000) % 3 == 0
    released = np.where(touched, rng.integers(10_000, 99_999, 6000) * 10, value // 10 * 10)
    verdict = last_digits(released, value, np.zeros(6000, dtype=bool), constant=True, decimals=1, unit=10)
    assert verdict.passed
    assert verdict.figures["left out, rounded from half-way"] == 3000
