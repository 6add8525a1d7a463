"""Small tables with suppressed cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.pattern import NO_BOUND, SuppressionPattern


def grid_relations(rows: int, columns: int) -> csr_matrix:
    """Sums of a table with its margins last."""
    index = np.arange((rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
    lines = [*index, *index.T]
    matrix = np.zeros((len(lines), index.size), dtype=np.int64)
    for row, line in enumerate(lines):
        matrix[row, line[:-1]], matrix[row, line[-1]] = 1, -1
    return csr_matrix(matrix)


def grid(inner: list[list[int]], hidden: list[int], primary: list[int], level: int = 1, **more: Any) -> SuppressionPattern:
    """A table with margins; cells are numbered row by row, margins included."""
    table = np.array(inner, dtype=np.int64)
    table = np.vstack([table, table.sum(axis=0)])
    value = np.hstack([table, table.sum(axis=1, keepdims=True)]).reshape(-1)
    relations = grid_relations(*np.array(inner).shape)
    marks = {name: np.isin(np.arange(value.size), cells) for name, cells in (("suppressed", hidden), ("primary", primary))}
    levels = np.where(marks["primary"], level, 0)
    known: dict[str, Any] = {"lower": np.zeros_like(value), "upper": np.full(value.size, NO_BOUND), "lower_level": levels}
    known |= {"upper_level": levels, "rhs": np.zeros(relations.shape[0], dtype=np.int64)}
    return SuppressionPattern(relations=relations, value=value, **{**known, **marks, **more})
