"""Small problems for tests: stories checked by hand, and random ones for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem


def problem_of(value: Any, relations: Any, *, levels: dict[int, Any], **changes: Any) -> ProtectionProblem:
    """A problem from short lists. `levels[i]` is a level, or (lower, upper)."""
    value = np.array(value, dtype=np.int64)
    lower_level, upper_level = np.zeros_like(value), np.zeros_like(value)
    sensitive = np.zeros(value.size, dtype=np.bool_)
    for cell, level in levels.items():
        lower_level[cell], upper_level[cell] = level if isinstance(level, tuple) else (level, level)
        sensitive[cell] = True
    matrix = csr_matrix(np.array(relations, dtype=np.int64).reshape(len(relations), value.size))
    fields: dict[str, Any] = {
        "relations": matrix,
        "rhs": np.zeros(matrix.shape[0], dtype=np.int64),
        "value": value,
        "weight": np.ones(value.size),
        "lower": np.where(value > 0, 0, -NO_LIMIT),
        "upper": np.full(value.size, NO_LIMIT),
        "sensitive": sensitive,
        "lower_level": lower_level,
        "upper_level": upper_level,
    }
    fields.update(changes)
    return ProtectionProblem(**fields)


def two_way_relations(rows: int, columns: int) -> np.ndarray:
    """Relations of a table with margins, cells in row-major order, totals last in each row and column."""
    wide = columns + 1
    matrix = []
    for r in range(rows + 1):
        line = np.zeros((rows + 1, wide), dtype=np.int64)
        line[r, :columns], line[r, columns] = 1, -1
        matrix.append(line.ravel())
    for c in range(wide):
        line = np.zeros((rows + 1, wide), dtype=np.int64)
        line[:rows, c], line[rows, c] = 1, -1
        matrix.append(line.ravel())
    return np.array(matrix)


def with_margins(inner: np.ndarray) -> np.ndarray:
    inner = np.hstack([inner, inner.sum(axis=1, keepdims=True)])
    return np.vstack([inner, inner.sum(axis=0, keepdims=True)])


@st.composite
def small_problems(draw: st.DrawFn, *, additive: bool = True) -> ProtectionProblem:
    """Two-way tables up to 3 x 4 with every complication at once: asymmetric levels, caps, fixed cells, negatives, weights."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    least = draw(st.sampled_from([0, -20]))
    inner = np.array(draw(st.lists(st.integers(least, 60), min_size=rows * columns, max_size=rows * columns))).reshape(rows, columns)
    value = with_margins(inner).ravel()
    if not additive:
        value = value + np.array(draw(st.lists(st.integers(-1, 1), min_size=value.size, max_size=value.size)))
    cells = draw(st.lists(st.integers(0, value.size - 1), max_size=5, unique=True))
    level = st.integers(1, 12)
    levels = {cell: (draw(level), draw(level)) for cell in cells}
    lower = np.where(value >= 0, 0, -NO_LIMIT)
    upper = np.full(value.size, NO_LIMIT)
    reach = draw(st.sampled_from([None, 15, 40]))
    if reach is not None:
        lower, upper = np.maximum(lower, value - reach), np.minimum(upper, value + reach)
    fixed = draw(st.lists(st.integers(0, value.size - 1), max_size=3, unique=True))
    for cell in set(fixed) - set(cells):
        lower[cell] = upper[cell] = value[cell]
    weight = np.array(draw(st.lists(st.sampled_from([0.25, 1.0, 1.5, 3.0]), min_size=value.size, max_size=value.size)))
    variant = draw(st.sampled_from(["at-least", "exact"]))
    return problem_of(value, two_way_relations(rows, columns), levels=levels, lower=lower, upper=upper, weight=weight, variant=variant)


@st.composite
def tied_problems(draw: st.DrawFn) -> ProtectionProblem:
    """Up to five narrow cells, most of them tied to another one, equal or opposite; levels may be zero on either side, or on both."""
    size = draw(st.integers(2, 5))
    relations = []
    for cell in range(1, size):
        row = np.zeros(size, dtype=np.int64)
        row[cell] = -1
        count = min(cell, draw(st.sampled_from([1, 1, 1, 1, 2, 2, 0])))
        others = draw(st.lists(st.integers(0, cell - 1), min_size=count, max_size=count, unique=True))
        row[others] = draw(st.lists(st.sampled_from([1, -1]), min_size=len(others), max_size=len(others)))
        relations.append(row)
    relations += relations[: draw(st.integers(0, 1))]
    value = np.array(draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size)))
    off = draw(st.sampled_from([0, 0, 0, -1, 2]))
    low = np.array(draw(st.lists(st.sampled_from([-3, -3, -2, -1, 0, 1]), min_size=size, max_size=size)))
    width = np.array(draw(st.lists(st.sampled_from([6, 6, 4, 2, 1, 0]), min_size=size, max_size=size)))
    level = st.sampled_from([0, 0, 1, 2, 3])
    cells = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True))
    return problem_of(
        value,
        relations,
        levels={cell: (draw(level), draw(level)) for cell in cells},
        rhs=np.array(relations) @ value + off * np.array([1] + [0] * (len(relations) - 1)),
        lower=value + low,
        upper=value + low + width,
        weight=np.array(draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=size, max_size=size))),
        variant=draw(st.sampled_from(["at-least", "exact"])),
        norm=draw(st.sampled_from(["l1", "l2"])),
    )
