"""Amounts under fixed senses against a simplex solver, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from statveil.protect.dense.amounts import AmountProgram
from statveil.protect.dense.margins import with_margins
from statveil.solve.tensors import Tensors


def solved(weight: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[AmountProgram, float]:
    on = Tensors(0)
    ranges = on.put(low, "float"), on.put(high, "float")
    program = AmountProgram(on, on.put(weight, "float"), *ranges)
    program.begin(*ranges)
    return program, program.solve(gap=1e-4, most=20_000, stop=lambda: False).cost


def by_simplex(weight: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """min sum w u with u >= z, u >= -z of every cell, totals written as sums of the inner variables."""
    sums = np.array([np.asarray(with_margins(Tensors(0), unit.reshape(low.shape))).ravel() for unit in np.eye(low.size)]).T
    cells = weight.size
    above = np.block([[sums, -np.eye(cells)], [-sums, -np.eye(cells)]])
    bounds = [*zip(low.ravel(), high.ravel(), strict=True), *[(0, None)] * cells]
    found = linprog(np.concatenate([np.zeros(low.size), weight.ravel()]), A_ub=above, b_ub=np.zeros(2 * cells), bounds=bounds)
    return float(found.fun)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("uneven", [False, True])
def test_the_cost_is_that_of_the_simplex(seed: int, uneven: bool) -> None:
    rng = np.random.default_rng(seed)
    shape = (4, 3, 3) if seed % 2 else (5, 4)
    senses = np.where(rng.random(shape) < 0.4, rng.choice([-1, 1], shape), 0)
    level = rng.integers(1, 6, shape)
    low, high = np.where(senses > 0, level, -8.0), np.where(senses < 0, -level, 8.0)
    weight = rng.uniform(0.5, 2.0, [size + 1 for size in shape]) if uneven else np.ones([size + 1 for size in shape])
    best = by_simplex(weight, low, high)
    program, cost = solved(weight, low, high)
    assert best - 1e-6 <= cost <= best * (1 + 2e-3)
    assert (program.x >= low - 1e-5).all()
    assert (program.x <= high + 1e-5).all()


def test_one_cell_that_must_rise_drags_its_box_along() -> None:
    """2 x 2: up by 6 costs least where the three others of the box take it back, or three totals do: 24 either way."""
    low, high = np.full((2, 2), -50.0), np.full((2, 2), 50.0)
    low[0, 0] = 6.0
    assert solved(np.ones((3, 3)), low, high)[1] == pytest.approx(24.0, rel=2e-3)
