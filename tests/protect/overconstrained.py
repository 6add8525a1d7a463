"""Random tables that ask too much: tight bounds, caps, frozen cells, sums that are off."""

from __future__ import annotations

import numpy as np

from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of, two_way_relations, with_margins


def overconstrained(seed: int, *, largest: int = 6) -> ProtectionProblem:
    """A two-way table of up to so many rows and columns; which of its requirements are too tight depends on the seed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows, columns = int(rng.integers(1, largest)), int(rng.integers(2, largest + 1))
    inner = rng.integers(0, 200, (rows, columns)) - (60 if seed % 7 == 0 else 0)
    value = with_margins(inner).ravel()
    if seed % 5 == 0:
        value = value + rng.integers(-1, 2, value.size)
    cells = rng.choice(value.size, size=int(rng.integers(1, 1 + value.size // 2)), replace=False)
    levels = {int(cell): (int(rng.integers(1, 40)), int(rng.integers(1, 40))) for cell in cells}
    percent = int(rng.choice([0, 2, 5, 10, 30]))
    reach = np.abs(value) * percent // 100
    cap = int(rng.choice([1, 2, 5]))
    for cell, (down, up) in levels.items():
        reach[cell] = cap * max(down, up)
    lower, upper = value - reach, value + reach
    lower = np.where(value >= 0, np.maximum(lower, 0), lower)
    upper = np.where(value < 0, np.minimum(upper, 0), upper)
    frozen = rng.choice(value.size, size=int(rng.integers(0, 4)), replace=False)
    for cell in frozen.tolist():
        if cell not in levels:
            lower[cell] = upper[cell] = value[cell]
    if seed % 3 == 0:
        upper = np.where(rng.random(value.size) < 0.3, NO_LIMIT, upper)
    variant = "exact" if seed % 4 == 0 else "at-least"
    return problem_of(value, two_way_relations(rows, columns), levels=levels, lower=lower, upper=upper, variant=variant)
