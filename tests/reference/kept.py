"""Every safe table of a small problem, one by one, and the smallest distance at which one of them keeps what is asked: slow and plain."""

from __future__ import annotations

from itertools import product

import numpy as np

import statveil as sv
from statveil.core.arrays import IntArray
from statveil.protect.keep.wishes import Target
from tests.protect.problems import problem_of, two_way_relations, with_margins

REACH = 8
"""How far a cell of the small tables moves at the most."""


def small_random_table(seed: int) -> sv.ProtectionProblem:
    """Two rows and two columns with margins; two to four cells anywhere are sensitive, and every cell has a reach of its own."""
    rng = np.random.Generator(np.random.PCG64(seed))
    value = with_margins(rng.integers(5, 40, size=(2, 2))).ravel()
    cells = rng.choice(9, size=rng.integers(2, 5), replace=False)
    levels = {int(cell): int(rng.integers(1, 1 + max(2, min(value[cell] // 5, REACH)))) for cell in cells}
    reach = np.minimum(rng.integers(4, REACH + 1, size=9), value)
    reach = np.array([max(int(most), levels.get(cell, 0)) for cell, most in enumerate(reach)])
    return problem_of(value, two_way_relations(2, 2), levels=levels, lower=value - reach, upper=value + reach)


def safe_tables(problem: sv.ProtectionProblem) -> IntArray:
    """Deviations of all safe tables of two rows and two columns with margins, one a row."""
    low, high = problem.free
    inner = np.array(list(product(*(range(int(low[cell]), int(high[cell]) + 1) for cell in (0, 1, 3, 4)))), dtype=np.int64)
    grid = inner.reshape(-1, 2, 2)
    wide = np.concatenate([grid, grid.sum(axis=2, keepdims=True)], axis=2)
    tables = np.concatenate([wide, wide.sum(axis=1, keepdims=True)], axis=1).reshape(-1, 9)
    safe = ~problem.sensitive | (tables <= -problem.lower_level) | (tables >= problem.upper_level)
    return np.asarray(tables[(safe & (tables >= low) & (tables <= high)).all(axis=1)])


def smallest_within(target: Target, tables: IntArray) -> float:
    """The smallest distance at which some table keeps all that is asked of the target; infinite where none keeps the mean."""
    true = target.value
    moves = tables[:, target.cells].astype(np.float64)
    if target.mean:
        moves = moves[moves.sum(axis=1) == 0]
    if not len(moves):
        return float("inf")
    if not target.spread:
        return 0.0
    centred = true - true.mean()
    released = true + moves
    off = released - released.mean(axis=1, keepdims=True)
    slope = off @ centred / (centred @ centred)
    ratio = (off**2).sum(axis=1) / (centred @ centred)
    correlation = np.where((slope > 0) & (ratio > 0), slope / np.sqrt(np.maximum(ratio, 1e-300)), 0.0)
    worst = np.zeros(len(moves))
    for asked, distance in ((target.slope, abs(slope - 1)), (target.variance, abs(ratio - 1)), (target.correlation, 1 - correlation)):
        worst = np.maximum(worst, distance) if asked else worst
    return float(worst.min())
