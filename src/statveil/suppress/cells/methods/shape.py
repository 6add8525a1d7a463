"""Where the cells of a table stand: the simple tables, one family of codes in each dimension, that methods work through one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.tables.spec import Dimension

MOST_POSITIONS = 50_000_000
"""Of a grid that is kept whole. By judgement: 400 MB."""


class Family(NamedTuple):
    """A code and what it is the sum of, as places among the codes of its dimension; `depth` of the code below the total."""

    parent: int
    children: IntArray
    depth: int

    @property
    def codes(self) -> IntArray:
        """All of them, the sum first."""
        return np.append(self.parent, self.children)


@dataclass(frozen=True, kw_only=True)
class GridShape:
    """One table: the families of each dimension, and the cell at each position (-1: none stands there)."""

    families: tuple[tuple[Family, ...], ...]
    cells: IntArray = field(repr=False)

    @property
    def hierarchies(self) -> list[int]:
        """The dimensions with more than one family."""
        return [axis for axis, families in enumerate(self.families) if len(families) > 1]


class SimpleTable(NamedTuple):
    """The cells of one family in each dimension, sums at place 0 of each axis; `depth` is the sum of the families' depths."""

    depth: int
    cells: IntArray


def shape_of(dimensions: Sequence[Dimension], coordinates: IntArray, cell: IntArray) -> GridShape:
    """The positions of a table with these codes."""
    size = [len(each.codes) for each in dimensions]
    if math.prod(size) > MOST_POSITIONS:
        raise InputError(f"The table has more than {MOST_POSITIONS:,} positions: too many for methods that work by simple tables.")
    cells = np.full(size, -1, dtype=np.int64)
    cells[tuple(coordinates.T)] = cell
    return GridShape(families=tuple(_families(each) for each in dimensions), cells=cells)


def shape_of_parents(parents: Sequence[IntArray]) -> GridShape:
    """A full grid whose cells are numbered in reading order; parents: of each code of each dimension, -1 for the total."""
    size = [each.size for each in parents]
    families = []
    for parent in parents:
        depth = np.zeros(parent.size, dtype=np.int64)
        for code in range(parent.size):
            above = code
            while parent[above] >= 0:
                above, depth[code] = int(parent[above]), depth[code] + 1
        inner = sorted({int(each) for each in parent if each >= 0}, key=lambda code: (depth[code], code))
        families.append(tuple(Family(code, np.flatnonzero(parent == code), int(depth[code])) for code in inner))
    return GridShape(families=tuple(families), cells=np.arange(math.prod(size)).reshape(size))


def _families(dimension: Dimension) -> tuple[Family, ...]:
    """Of every tree, the highest first."""
    found = [
        (tree.depth[above], number, dimension.position[above], [dimension.position[code] for code in codes])
        for number, tree in enumerate(dimension.trees)
        for above, codes in tree.children.items()
    ]
    return tuple(Family(parent, np.array(children), depth) for depth, _, parent, children in sorted(found))


def simple_tables(shapes: Sequence[GridShape]) -> list[SimpleTable]:
    """Of all tables together, top first: what is the rim of one was inside of one before."""
    found = [each for shape in shapes for each in _of_one(shape)]
    order = sorted(range(len(found)), key=lambda place: (found[place].depth, place))
    return [found[place] for place in order]


def _of_one(shape: GridShape) -> Iterator[SimpleTable]:
    for chosen in product(*shape.families):
        cells = shape.cells[np.ix_(*(family.codes for family in chosen))]
        if (cells >= 0).any():
            yield SimpleTable(sum(family.depth for family in chosen), cells)


def tables_with(tables: Sequence[SimpleTable], size: int) -> list[list[int]]:
    """For each cell the simple tables that it is in."""
    found: list[list[int]] = [[] for _ in range(size)]
    for number, table in enumerate(tables):
        for cell in np.unique(table.cells[table.cells >= 0]).tolist():
            found[cell].append(number)
    return found
