"""Whole amounts: within their ranges, never dearer than rounding, and mended where rounding left totals off."""

from __future__ import annotations

import numpy as np

from statveil.protect.dense.whole import WholeAmounts
from statveil.solve.tensors import Tensors


def test_rounding_that_leaves_totals_off_is_mended() -> None:
    """Halves in a 4 x 4 table whose lines all sum to zero: rounded to even they do as well or the steps mend them."""
    amounts = np.array([[0.6, -0.2, -0.2, -0.2], [-0.2, 0.6, -0.2, -0.2], [-0.2, -0.2, 0.6, -0.2], [-0.2, -0.2, -0.2, 0.6]]) * 3
    whole = WholeAmounts(Tensors(0), np.ones((5, 5)))
    whole.round_off(amounts, np.full((4, 4), -9), np.full((4, 4), 9))
    rounded = whole.cost
    cost = whole.improve(stop=lambda: False)
    assert cost == whole.cost < rounded
    assert whole.x.dtype == np.int64


def test_no_step_leaves_the_ranges() -> None:
    rng = np.random.default_rng(0)
    low = np.where(rng.random((5, 4, 3)) < 0.3, 2, -1)
    high = low + rng.integers(0, 3, low.shape)
    whole = WholeAmounts(Tensors(0), np.ones((6, 5, 4)))
    whole.round_off(rng.normal(0, 3, low.shape), low, high)
    before = whole.cost
    assert whole.improve(stop=lambda: False) <= before
    assert ((whole.x >= low) & (whole.x <= high)).all()


def test_it_stops_after_the_round_in_which_it_is_told_to() -> None:
    whole = WholeAmounts(Tensors(0), np.ones((3, 3)))
    whole.round_off(np.full((2, 2), 3.0), np.full((2, 2), -9), np.full((2, 2), 9))
    assert whole.improve(stop=lambda: True) < 48  # all at 3: 4 x 3 + 4 x 6 + 12
