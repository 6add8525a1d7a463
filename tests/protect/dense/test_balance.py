"""Senses annealed by colour classes: the sums they keep are those of the senses, and simple tables are balanced."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect.dense.balance import SenseBalance
from statveil.solve.tensors import Tensors


def balance_of(level: np.ndarray, free: np.ndarray, seed: int = 0) -> SenseBalance:
    prices = [np.ones(np.delete(level.shape, axis)) for axis in range(level.ndim)]
    return SenseBalance(Tensors(seed), level.astype(np.float64), level.astype(np.float64), free, prices)


@pytest.mark.parametrize("shape", [(4, 6), (5, 3, 4), (2, 3, 4, 3)])
def test_the_sums_kept_are_those_of_the_senses(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    level = np.where(rng.random(shape) < 0.5, rng.integers(1, 50, shape), 0)
    free = (level > 0) & (rng.random(shape) < 0.8)
    start = np.where(level > 0, 1, 0)
    balance = balance_of(level, free)
    balance.begin(start)
    before = balance.imbalance
    balance.anneal(20, stop=lambda: False)
    senses = balance.senses(start)
    moves = senses * level
    assert balance.imbalance == sum(np.abs(moves.sum(axis=axis)).sum() for axis in range(level.ndim))
    assert balance.imbalance <= before
    assert (senses[~free] == start[~free]).all()
    assert (np.abs(senses) == (level > 0)).all()


def test_a_chessboard_of_equal_levels_is_balanced() -> None:
    level = np.full((6, 6), 7)
    balance = balance_of(level, level > 0)
    balance.begin(np.ones((6, 6), dtype=np.int64))
    balance.anneal(100, stop=lambda: False)
    assert balance.imbalance == 0


def test_nothing_to_choose_is_no_fault() -> None:
    level = np.zeros((3, 3))
    balance = balance_of(level, level > 0)
    balance.begin(np.zeros((3, 3), dtype=np.int64))
    balance.anneal(5, stop=lambda: False)
    assert balance.imbalance == 0


def test_it_stops_when_told_to() -> None:
    turns: list[int] = []

    def stop() -> bool:
        turns.append(1)
        return len(turns) == 3

    level = np.full((4, 4), 3)
    balance = balance_of(level, level > 0)
    balance.begin(np.ones((4, 4), dtype=np.int64))
    balance.anneal(10**9, stop=stop)
    assert len(turns) == 3
