"""Full tables for tests: random ones with all margins, as problems and as tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem


def summed(inner: np.ndarray) -> np.ndarray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def relations(shape: tuple[int, ...]) -> csr_matrix:
    """A row for every line along every axis: its parts less its total."""
    full = [size + 1 for size in shape]
    cells, rows = np.arange(math.prod(full)).reshape(full), []
    for axis in range(len(shape)):
        for line in np.moveaxis(cells, axis, -1).reshape(-1, full[axis]):
            row = np.zeros(cells.size, dtype=np.int64)
            row[line], row[line[-1]] = 1, -1
            rows.append(csr_matrix(row))
    return csr_matrix(vstack(rows, format="csr"))


def full_problem(shape: tuple[int, ...], *, seed: int = 0, share: float = 0.3, **changes: Any) -> ProtectionProblem:
    rng = np.random.default_rng(seed)
    inner = rng.integers(5, 200, shape)
    held = rng.random(shape) < share
    held.flat[0] = True
    value = summed(inner).ravel()
    sensitive = np.pad(held, [(0, 1)] * len(shape)).ravel()
    level = np.where(sensitive, -(-value // 10), 0)
    matrix = relations(shape)
    fields: dict[str, Any] = {
        "relations": matrix,
        "rhs": np.zeros(matrix.shape[0], dtype=np.int64),
        "value": value,
        "weight": np.ones(value.size),
        "lower": np.zeros(value.size, dtype=np.int64),
        "upper": np.full(value.size, NO_LIMIT),
        "sensitive": sensitive,
        "lower_level": level,
        "upper_level": level,
    }
    fields.update(changes)
    return ProtectionProblem(**fields)


def in_another_order(problem: ProtectionProblem, *, seed: int) -> tuple[ProtectionProblem, np.ndarray]:
    """The same problem with cells and relations shuffled, some relations with all signs turned; and which cell went where."""
    rng = np.random.default_rng(seed)
    order, rows = rng.permutation(problem.size), rng.permutation(problem.rhs.size)
    turned = rng.choice([-1, 1], problem.rhs.size)
    names = ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    shuffled = {name: getattr(problem, name)[order] for name in names}
    matrix = csr_matrix(problem.relations[rows][:, order].multiply(turned[:, np.newaxis]), dtype=np.int64)
    return ProtectionProblem(relations=matrix, rhs=problem.rhs, variant=problem.variant, norm=problem.norm, **shuffled), order
