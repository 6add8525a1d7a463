"""The levels of a table: every way to replace leaf codes by their ancestors.

A level of a dimension sends each leaf to at most one code. Each code lies on exactly one level, so the
combinations of one level per dimension share out all positions of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.tables.spec import Dimension

LARGEST_GRID = 2**62
LARGEST_TABLE = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Grid:
    """All positions of a table, each with an integer key: its coordinates read as digits of a mixed radix."""

    dimensions: tuple[Dimension, ...]

    def __post_init__(self) -> None:
        if prod(self.shape) >= LARGEST_GRID:
            raise InputError(
                f"A table of {' x '.join(map(str, self.shape))} codes is too large to number its cells.", hint="Use fewer dimensions."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(dimension.codes) for dimension in self.dimensions)

    @cached_property
    def strides(self) -> IntArray:
        return np.array([prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))], dtype=np.int64)

    def keys(self, coordinates: IntArray) -> IntArray:
        keys: IntArray = coordinates @ self.strides
        return keys

    def coordinates(self, keys: IntArray) -> IntArray:
        digits = [(keys // stride) % size for stride, size in zip(self.strides, self.shape, strict=True)]
        return np.stack(digits, axis=1).astype(np.int64)

    def check_size(self, leaf_cells: int) -> None:
        """Refuse a table whose cells would not fit, before any of them is made."""
        levels = [[int(np.unique(level[level >= 0]).size) for level in ancestor_levels(dimension)] for dimension in self.dimensions]
        cells = sum(min(leaf_cells, prod(sizes)) for sizes in product(*levels))
        if cells > LARGEST_TABLE:
            raise InputError(
                f"The table may have {cells:,} cells, more than {LARGEST_TABLE:,}.", hint="Leave out a dimension, or use coarser codes."
            )


def ancestor_levels(dimension: Dimension) -> list[IntArray]:
    """Per level, the index of each code's ancestor there, -1 where it has none. Only entries of leaves are filled."""
    leaves = np.array([dimension.position[code] for code in dimension.trees[0].leaves], dtype=np.int64)
    levels = [_filled(dimension, leaves, leaves), _filled(dimension, leaves, np.full(leaves.size, dimension.position[dimension.total]))]
    for index, tree in enumerate(dimension.trees):
        depth = np.array([tree.depth.get(code, -1) for code in dimension.codes], dtype=np.int64)
        parents = dimension.parents(index)
        levels += [level for level in _inner_levels(dimension, leaves, parents, depth) if (level >= 0).any()]
    return levels


def _inner_levels(dimension: Dimension, leaves: IntArray, parents: IntArray, depth: IntArray) -> Iterator[IntArray]:
    """The levels between the leaves and the total of one tree, the highest last."""
    for wanted in range(int(depth.max(initial=0)) - 1, 0, -1):
        ancestor = leaves.copy()
        for _ in range(int(depth.max())):
            ancestor = np.where(depth[ancestor] > wanted, parents[ancestor], ancestor)
        inner = (depth[ancestor] == wanted) & (ancestor != leaves)
        yield _filled(dimension, leaves[inner], ancestor[inner])


def _filled(dimension: Dimension, leaves: IntArray, ancestors: IntArray) -> IntArray:
    level = np.full(len(dimension.codes), -1, dtype=np.int64)
    level[leaves] = ancestors
    return level


def combinations(grid: Grid, leaf_coordinates: IntArray) -> Iterator[IntArray]:
    """For each combination of levels, the key of the position that every leaf cell belongs to, -1 for none."""
    columns = [[level[leaf_coordinates[:, axis]] for level in ancestor_levels(dimension)] for axis, dimension in enumerate(grid.dimensions)]
    for chosen in product(*columns):
        yield _combined(grid, chosen)


def _combined(grid: Grid, chosen: Sequence[IntArray]) -> IntArray:
    key = np.zeros(chosen[0].size, dtype=np.int64)
    inside = np.ones(chosen[0].size, dtype=np.bool_)
    for stride, ancestors in zip(grid.strides, chosen, strict=True):
        key += stride * ancestors
        inside &= ancestors >= 0
    return np.where(inside, key, -1)
