"""Whole multipliers take no more than a cell's weight, whatever they come from."""

from __future__ import annotations

import numpy as np

from statveil.protect.dense.multipliers import scale_for, taken, whole_multipliers


def test_multipliers_that_take_too_much_are_shrunk() -> None:
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.1, 2.0, (3, 4))
    sides = [rng.uniform(0, 1, (3, 4)) for _ in range(2)]
    covers = [rng.uniform(0, 1, (1, 4)), rng.uniform(0, 1, (3, 1))]
    held = whole_multipliers(sides, covers, weight, scale_for(0.1))
    left = np.floor(np.ldexp(weight, held.scale)) - taken(held)
    assert left.min() >= 0
    assert left.min() <= 1e-4 * 2**held.scale  # and no further than they must
    assert sum(int(each.sum()) for each in held.sides) > 0


def test_multipliers_that_fit_are_only_rounded() -> None:
    sides = [np.zeros((2, 2)), np.zeros((2, 2))]
    covers = [np.full((1, 2), 0.25), np.full((2, 1), 0.5)]
    held = whole_multipliers(sides, covers, np.ones((2, 2)), 4)
    assert [each.tolist() for each in held.covers] == [[[4, 4]], [[8], [8]]]


def test_the_scale_keeps_the_smallest_weight() -> None:
    assert scale_for(1.0) == 20
    assert 2.0 ** scale_for(1e-6) * 1e-6 >= 2**19
    assert scale_for(2.0**30) == 0
