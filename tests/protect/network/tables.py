"""Tables that are networks: plain two-way ones, and small ones with a hierarchy of rows, with every complication at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of


def hierarchy_relations(parent: list[int], columns: int) -> np.ndarray:
    """Relations of a tree of rows (parent[0] = -1 is the root) crossed with columns and their total, the last column."""
    rows, wide = len(parent), columns + 1
    matrix = []
    for r in range(rows):
        line = np.zeros((rows, wide), dtype=np.int64)
        line[r, :columns], line[r, columns] = 1, -1
        matrix.append(line.ravel())
    for r in sorted(set(parent) - {-1}):
        for c in range(wide):
            line = np.zeros((rows, wide), dtype=np.int64)
            line[[child for child in range(rows) if parent[child] == r], c], line[r, c] = 1, -1
            matrix.append(line.ravel())
    return np.array(matrix)


def hierarchy_values(parent: list[int], leaves: np.ndarray) -> np.ndarray:
    """The table whose leaf rows (in order) have these inner cells; children come after their parents."""
    rows, columns = len(parent), leaves.shape[1]
    table = np.zeros((rows, columns + 1), dtype=np.int64)
    table[[r for r in range(rows) if r not in parent], :columns] = leaves
    for r in range(rows - 1, 0, -1):
        table[parent[r]] += table[r]
    table[:, columns] = table[:, :columns].sum(axis=1)
    return table


THREE_LEVELS = [-1, 0, 0, 1, 1, 2, 2, 2]
"""A root with two inner rows, which have two and three leaves."""


def small_hierarchy(*, levels: dict[int, Any], **changes: Any) -> ProtectionProblem:
    """THREE_LEVELS with two columns and their total; cell numbers are row * 3 + column."""
    leaves = np.array([[10, 20], [30, 40], [50, 60], [70, 80], [90, 100]])
    value = hierarchy_values(THREE_LEVELS, leaves).ravel()
    return problem_of(value, hierarchy_relations(THREE_LEVELS, 2), levels=levels, **changes)


@st.composite
def small_hierarchies(draw: st.DrawFn) -> ProtectionProblem:
    """One hierarchy of rows by a few columns: asymmetric levels, finite bounds, fixed cells, negatives, weights, both variants."""
    parent = draw(st.sampled_from([[-1, 0, 0], [-1, 0, 0, 1, 1], THREE_LEVELS, [-1, 0, 1, 1], [-1, 0, 0, 0, 2, 2]]))
    columns = draw(st.integers(2, 3))
    count = len([r for r in range(len(parent)) if r not in parent])
    least = draw(st.sampled_from([0, -20]))
    leaves = np.array(draw(st.lists(st.integers(least, 60), min_size=count * columns, max_size=count * columns))).reshape(count, columns)
    value = hierarchy_values(parent, leaves).ravel()
    cells = draw(st.lists(st.integers(0, value.size - 1), max_size=6, unique=True))
    level = st.integers(1, 12)
    levels = {cell: (draw(level), draw(level)) for cell in cells}
    lower, upper = np.where(value >= 0, 0, -NO_LIMIT), np.full(value.size, NO_LIMIT)
    reach = draw(st.sampled_from([None, 15, 40]))
    if reach is not None:
        lower, upper = np.maximum(lower, value - reach), np.minimum(upper, value + reach)
    for cell in set(draw(st.lists(st.integers(0, value.size - 1), max_size=2, unique=True))) - set(cells):
        lower[cell] = upper[cell] = value[cell]
    weight = np.array(draw(st.lists(st.sampled_from([0.25, 1.0, 1.5, 3.0]), min_size=value.size, max_size=value.size)))
    variant = draw(st.sampled_from(["at-least", "exact"]))
    relations = hierarchy_relations(parent, columns)
    return problem_of(value, relations, levels=levels, lower=lower, upper=upper, weight=weight, variant=variant)
