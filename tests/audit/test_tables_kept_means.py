"""Means that are said to be kept, in exact integers."""

from __future__ import annotations

import numpy as np

from statveil.audit.tables import check_means


def test_sums_are_compared_to_the_unit() -> None:
    value, released = np.array([2**53, 1, 5]), np.array([2**53 + 1, 0, 6])
    kept = check_means(value, released, [("the first two", np.array([0, 1]))])
    assert kept.passed
    assert kept.checked == 1
    off = check_means(value, released, [("the first two", np.array([0, 1])), ("all", np.arange(3))])
    assert not off.passed
    assert off.findings == ("all",)
