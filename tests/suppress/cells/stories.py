"""Small tables to suppress cells of."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from statveil.suppress.cells.problem import ENDLESS, SuppressionProblem


def grid(inner, levels, *, single=(), frozen=(), upper=None) -> SuppressionProblem:
    """A table of rows and columns with their totals, in reading order; levels: cell -> protection level both ways."""
    inner = np.asarray(inner)
    full = np.block([[inner, inner.sum(axis=1)[:, None]], [inner.sum(axis=0)[None, :], np.array([[inner.sum()]])]])
    number, sums = np.arange(full.size).reshape(full.shape), []
    for line in [*number, *number.T]:
        row = np.zeros(full.size, dtype=np.int64)
        row[line[:-1]], row[line[-1]] = 1, -1
        sums.append(row)
    return of_arrays(np.array(sums), full.ravel(), levels, single=single, frozen=frozen, upper=upper)


def of_arrays(relations, value, levels, *, single=(), frozen=(), upper=None) -> SuppressionProblem:
    size = value.size
    primary, level = np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int64)
    primary[list(levels)] = True
    level[list(levels)] = list(levels.values())
    alone, still = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    alone[list(single)], still[list(frozen)] = True, True
    return SuppressionProblem(
        relations=csr_matrix(relations),
        value=value,
        lower=np.zeros(size, dtype=np.int64),
        upper=np.full(size, ENDLESS) if upper is None else np.maximum(value, upper),
        primary=primary,
        candidate=~primary & ~still & (value != 0),
        hidden=np.zeros(size, dtype=bool),
        single=alone,
        lower_level=np.minimum(level, value),
        upper_level=level,
        cost=np.full(size, 1000),
    )


def random_grid(rng: np.random.Generator) -> SuppressionProblem:
    """Two or three rows and columns, zeros among them, one to three sensitive cells."""
    inner = rng.integers(0, 30, size=(rng.integers(2, 4), rng.integers(2, 4)))
    inner[rng.random(inner.shape) < 0.15] = 0
    full = grid(inner, {})
    filled = np.flatnonzero(full.value[: -inner.shape[1] - 1] > 0)
    chosen = rng.choice(filled, size=min(int(rng.integers(1, 4)), filled.size), replace=False)
    return grid(inner, {int(cell): int(max(1, full.value[cell] * rng.choice([10, 30, 60]) // 100)) for cell in chosen})
