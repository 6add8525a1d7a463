"""Block coordinate descent along the hierarchy (S3 section 3, "tree-BCD"): blocks are levels, then wider and wider windows of levels.

S3 numbers the levels of the one hierarchy of its tables. A linear system names no hierarchy, and a table may have several: the level
rule here is ours. A cell's level is the longest chain of sums above it, so that in a table with one hierarchy it is S3's, and every
total lies above its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from statveil.core.arrays import IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import improve_block
from statveil.protect.search.papers import sat
from statveil.protect.search_state import Search


def run(search: Search, *, gap: float = 0.01, seconds: float = 20.0) -> None:
    """Method `tree-bcd`: windows of one level, of two, ... The last holds all levels: the whole problem, from the best table.

    `gap` and `seconds` end a window's branch and bound; the last one has all the time that is left.
    """
    sat.begin(search)
    levels = sense_levels(search.problem)
    for width in range(1, len(levels) + 1):
        search.enter(f"levels, {width} at a time")
        last = width == len(levels)
        for window in windows(levels, width):
            if search.done or search.best is None:
                return
            improve_block(search, window, seconds=search.seconds_left if last else seconds, gap=search.limits.gap if last else gap)


def windows(levels: list[IntArray], width: int) -> list[IntArray]:
    """The cells of so many consecutive levels, from the top down."""
    return [np.concatenate(levels[first : first + width]) for first in range(len(levels) - width + 1)]


def sense_levels(problem: ProtectionProblem) -> list[IntArray]:
    """The cells with a choice by their depth, from the top down; depths without such cells are left out."""
    cells = problem.choices
    depth = depths(problem.relations)[cells]
    return [cells[depth == level] for level in np.unique(depth)]


def depths(relations: csr_matrix) -> IntArray:
    """For each cell the longest chain from a total that is nobody's part.

    Where relations go in a circle (they cannot in a table, but may in any linear system) their order means nothing and is ignored.
    """
    total, part = _arcs(relations)
    size = relations.shape[1]
    graph = csr_matrix((np.ones(total.size), (total, part)), shape=(size, size))
    _, circle = connected_components(graph, directed=True, connection="strong")
    onward = circle[total] != circle[part]
    total, part = total[onward], part[onward]
    depth = np.zeros(size, dtype=np.int64)
    while True:
        deeper = depth.copy()
        np.maximum.at(deeper, part, depth[total] + 1)
        if np.array_equal(deeper, depth):
            return depth
        depth = deeper


def _arcs(relations: csr_matrix) -> tuple[IntArray, IntArray]:
    """From total to part, for each relation with a total."""
    arcs = [np.stack([np.full(parts.size, total), parts]) for total, parts in parts_by_total(relations)]
    together = np.concatenate([np.zeros((2, 0), dtype=np.int64), *arcs], axis=1)
    return together[0], together[1]


def parts_by_total(relations: csr_matrix) -> Iterator[tuple[int, IntArray]]:
    """Each relation's total and its parts: the one cell whose sign is against all others (of two, the negative one)."""
    for start, end in pairwise(relations.indptr.tolist()):
        cells, signs = relations.indices[start:end], np.sign(relations.data[start:end])
        total = _total(signs)
        if total is not None:
            yield int(cells[total]), np.delete(cells, total).astype(np.int64)


def _total(signs: IntArray) -> int | None:
    for sign in (-1, 1):
        at = np.flatnonzero(signs == sign)
        if at.size == 1 < signs.size:
            return int(at[0])
    return None
