"""Cheap points of cuts: every cut is kept, and on small ones nothing is cheaper."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.suppress.cells.methods.covering import CutRows, cheap_cover, cut_rows

NONE = np.zeros(6, dtype=bool)


def keeps(matrix, least, chosen) -> bool:
    return bool((np.asarray(matrix) @ chosen >= np.asarray(least) - 1e-9).all())


def rows_of(matrix, least) -> CutRows:
    return cut_rows(csr_matrix(np.asarray(matrix, dtype=float)), np.asarray(least, dtype=float))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_small_cuts_are_kept_at_the_least_cost(seed: int) -> None:
    """Shares of what is asked for, partners with a minus among them; all 64 points are tried beside it."""
    rng = np.random.default_rng(seed)
    matrix = rng.choice([0.0, 0.0, 0.4, 0.5, 1.0], size=(7, 6))
    least = np.ones(7)
    matrix[5], least[5] = np.where(np.arange(6) == seed % 6, -1.0, rng.integers(0, 2, 6)), 0.0
    matrix[:5, rng.integers(6)] = 1.0  # there is a point at all
    matrix[6] = 1.0
    cost = rng.integers(1, 9, 6).astype(float)
    kept = [np.array(each) for each in itertools.product((0, 1), repeat=6) if keeps(matrix, least, np.array(each))]
    found = cheap_cover(rows_of(matrix, least), cost, ~NONE, NONE, steps=2_000, seed=1)
    if not kept:
        return
    assert keeps(matrix, least, found)
    assert cost[found].sum() == min(cost[each > 0].sum() for each in kept)


def test_free_classes_stay_chosen() -> None:
    free = np.array([True, False, False, False, False, False])
    found = cheap_cover(rows_of([[1, 1, 1, 0, 0, 0]], [1]), np.ones(6), NONE, free, steps=50, seed=1)
    assert found.tolist() == free.tolist()


def test_the_same_seed_finds_the_same_point() -> None:
    cuts = rows_of(np.ones((1, 6)) / 3, [1])
    first, second = (cheap_cover(cuts, np.ones(6), NONE, NONE, steps=200, seed=4) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert first.sum() == 3
