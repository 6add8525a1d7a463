"""Two-dimensional tables with one hierarchical variable (1H2D), in the shapes of S3's Table 1.

A tree of rows is crossed with columns and their total. With R rows (the root and all inner rows among them), I of them inner,
and k columns (the total among them) there are n = R k cells, m = R + I k relations and 2n + (I - 1) k coefficients.
Table 1 tells n, m and the coefficients, and so R, I and k. The tree itself and the values were never published: they are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LinearSystem

Values = Literal["uniform", "lognormal"]
Where = Literal["leaf", "any"]

MOST_CELLS = 50_000_000
"""Beyond it a table would not fit the memory of usual machines."""
LARGEST_UNIFORM = 1000
MEDIAN_LOGNORMAL = 200.0
_MOST_PERCENT = 10_000
_FINEST = 10**6
"""Percentages have at most four decimals, so that levels are computed exactly."""
_LARGEST_TOTAL = 2**62 // (_MOST_PERCENT // 100 * _FINEST)
"""Beyond it a share of a value might not fit 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Rows (all of them), columns (the total among them), inner rows, levels below the root, and sensitive cells."""

    rows: int
    columns: int
    inner: int
    depth: int
    sensitive: int

    def __post_init__(self) -> None:
        leaves = self.rows - self.inner
        if min(self.rows, self.columns, self.inner, self.depth) < 1 or self.sensitive < 0:
            raise InputError("A shape needs rows, columns, inner rows and a depth of 1 or more.")
        if max(self.rows, self.columns, self.depth) > MOST_CELLS or self.cells > MOST_CELLS:
            raise InputError(f"A table of more than {MOST_CELLS:,} cells is too large to be made.", hint="Give fewer rows or columns.")
        if self.columns < 3:
            raise InputError("A table needs two columns and their total: columns is 3 or more.")
        if self.depth > self.inner or (self.inner > 1 and self.depth == 1):
            raise InputError(f"{self.inner} inner rows cannot reach a depth of {self.depth}.", hint="Depth 1 has one inner row: the root.")
        if leaves < 2 * self.inner:
            raise InputError(f"{self.rows} rows are too few for {self.inner} inner ones.", hint="Give three rows or more for each.")
        if self.sensitive > self.cells:
            raise InputError("More cells are to be sensitive than there are cells.")

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def relations(self) -> int:
        return self.rows + self.inner * self.columns

    @property
    def coefficients(self) -> int:
        return 2 * self.cells + (self.inner - 1) * self.columns


def _shape(rows: int, columns: int, inner: int, sensitive: int, depth: int = 6) -> Shape:
    return Shape(rows=rows, columns=columns, inner=inner, depth=depth, sensitive=sensitive)


SHAPES: Mapping[str, Shape] = {
    "table11": _shape(780, 26, 30, 973),
    "table12": _shape(826, 26, 33, 2062),
    "table13": _shape(3346, 11, 226, 3345),
    "table14": _shape(898, 6, 96, 224),
    "table15": _shape(2444, 11, 84, 2443),
    "table16": _shape(4733, 11, 197, 4732, depth=5),
    "table17": _shape(1532, 11, 78, 1531, depth=5),
    "table18": _shape(756, 11, 53, 755, depth=4),
    "table21": _shape(3082, 41, 59, 12324),
    "table22": _shape(2065, 21, 72, 4128),
    "table23": _shape(1990, 36, 40, 10442),
    "table24": _shape(4618, 36, 93, 12927),
    "table25": _shape(1545, 36, 37, 4323),
    "table26": _shape(8056, 26, 158, 16110),
    "table27": _shape(5931, 11, 119, 4744),
    "table28": _shape(2449, 36, 52, 6854),
    "table31": _shape(3801, 41, 75, 14744),
    "table32": _shape(10809, 41, 181, 44096),
    "table33": _shape(2291, 51, 45, 14083),
    "table34": _shape(3549, 51, 57, 26432),
    "table35": _shape(12178, 41, 209, 55527),
    "table36": _shape(29279, 41, 399, 107743),
    "table37": _shape(5804, 51, 100, 42652),
    "table38": _shape(11223, 51, 150, 81359),
}
"""S3's 24 tables (depth: its section 4.2)."""


@dataclass(frozen=True, kw_only=True)
class Filling:
    """What stands in the cells.

    values: leaf cells `uniform` on 1..1000, or `lognormal` with median 200 and the given spread (in logarithms).
    where: sensitive cells are drawn among the `leaf` cells (no totals on either axis), or among `any`.
    lower_percent, upper_percent: protection levels, in percent of the value, rounded up.
    bound_percent: upper bound of every cell in percent of its value, or none. The lower bound is zero.
    """

    values: Values = "uniform"
    where: Where = "leaf"
    spread: float = 1.5
    lower_percent: Fraction = Fraction(10)
    upper_percent: Fraction = Fraction(10)
    bound_percent: Fraction | None = None

    def __post_init__(self) -> None:
        if self.values not in get_args(Values):
            raise InputError(f"Unknown values {self.values!r}. Known: {', '.join(get_args(Values))}.")
        if self.where not in get_args(Where):
            raise InputError(f"Unknown place {self.where!r}. Known: {', '.join(get_args(Where))}.")
        if not 0 < self.spread <= 5:
            raise InputError("The spread of lognormal values must be above 0 and at most 5.")
        for percent in (self.lower_percent, self.upper_percent, self.bound_percent or Fraction(100)):
            if not 0 < percent <= _MOST_PERCENT or (percent * _FINEST // 100 * 100) != percent * _FINEST:
                raise InputError("A percentage must be above 0, at most 10000, with four decimals at most.")
        if self.bound_percent is not None and self.bound_percent < 100:
            raise InputError("An upper bound cannot lie below the value: give 100% or more.")


def one_hierarchy_system(shape: Shape, *, seed: int, filling: Filling | None = None) -> LinearSystem:
    """A table of that shape. The cell of row r and column c is number r * columns + c; row 0 and column 0 are the totals.

    The tree depends on shape and seed alone, so that fillings can be compared on the same relations.
    """
    filling = Filling() if filling is None else filling
    tree_draws, value_draws, place_draws = (np.random.Generator(np.random.PCG64(each)) for each in np.random.SeedSequence(seed).spawn(3))
    tree = _draw_tree(shape, tree_draws)
    table = _fill(shape, tree, filling, value_draws)
    value = table.ravel()
    sensitive = _draw_sensitive(shape, filling, place_draws)
    relations = _relations(shape, tree)
    status = np.full(value.size, "s")
    status[sensitive] = "u"
    levels = [np.zeros_like(value) for _ in range(2)]
    for level, percent in zip(levels, (filling.lower_percent, filling.upper_percent), strict=True):
        level[sensitive] = -_share(-value[sensitive], percent)
    return LinearSystem(
        relations=relations,
        rhs=np.zeros(shape.relations, dtype=np.int64),
        value=value,
        cost=np.ones(value.size),
        status=status,
        lower=np.zeros_like(value),
        upper=np.full_like(value, NO_BOUND) if filling.bound_percent is None else _share(value, filling.bound_percent),
        lower_level=levels[0],
        upper_level=levels[1],
        decimals=0,
    )


@dataclass(frozen=True, kw_only=True)
class _Tree:
    """Rows as a tree: the inner ones first, every parent before its children."""

    parent: IntArray
    depth: IntArray


def _draw_tree(shape: Shape, rng: np.random.Generator) -> _Tree:
    """Inner rows: a chain to the full depth, then each below a random one that is not at the bottom. Leaves: shared out around the mean."""
    parent, depth = np.full(shape.rows, -1), np.zeros(shape.rows, dtype=np.int64)
    for row in range(1, shape.inner):
        above = np.flatnonzero(depth[:row] < shape.depth - 1)
        parent[row] = row - 1 if row < shape.depth else rng.choice(above)
        depth[row] = depth[parent[row]] + 1
    least = 2
    share = rng.uniform(0.5, 1.5, size=shape.inner)
    leaves = least + rng.multinomial(shape.rows - shape.inner * (1 + least), share / share.sum())
    parent[shape.inner :] = np.repeat(np.arange(shape.inner), leaves)
    depth[shape.inner :] = depth[parent[shape.inner :]] + 1
    return _Tree(parent=parent, depth=depth)


def _fill(shape: Shape, tree: _Tree, filling: Filling, rng: np.random.Generator) -> IntArray:
    """Values of the leaf cells, added up to the totals of columns and then, from the bottom of the tree, to those of rows."""
    table = np.zeros((shape.rows, shape.columns), dtype=np.int64)
    size = (shape.rows - shape.inner, shape.columns - 1)
    if filling.values == "uniform":
        table[shape.inner :, 1:] = rng.integers(1, LARGEST_UNIFORM, size=size, endpoint=True)
    else:
        table[shape.inner :, 1:] = np.maximum(np.rint(MEDIAN_LOGNORMAL * np.exp(filling.spread * rng.standard_normal(size))), 1)
    table[:, 0] = table[:, 1:].sum(axis=1)
    for level in range(int(tree.depth.max()), 0, -1):
        rows = np.flatnonzero(tree.depth == level)
        np.add.at(table, tree.parent[rows], table[rows])
    if table[0, 0] >= _LARGEST_TOTAL:
        raise InputError("The grand total is too large to compute with exactly.", hint="Choose a smaller spread.")
    return table


def _draw_sensitive(shape: Shape, filling: Filling, rng: np.random.Generator) -> IntArray:
    able = np.arange(shape.cells).reshape(shape.rows, shape.columns)
    able = able[shape.inner :, 1:] if filling.where == "leaf" else able
    if shape.sensitive > able.size:
        raise InputError(f"{shape.sensitive} cells are to be sensitive, but there are only {able.size} of that kind.")
    return np.sort(rng.choice(able.ravel(), size=shape.sensitive, replace=False))


def _relations(shape: Shape, tree: _Tree) -> csr_matrix:
    """Each row's cells less its total; then for each inner row and column the children's cells less its own. The total comes first."""
    across = np.arange(shape.cells).reshape(shape.rows, shape.columns)
    family, sizes = _families(shape, tree)
    lengths = np.repeat(sizes, shape.columns)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.full(shape.rows, shape.columns), lengths]))])
    column = np.tile(np.arange(shape.columns), shape.inner)
    begin = np.repeat(np.concatenate([[0], np.cumsum(sizes)[:-1]]), shape.columns)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    down = family[np.repeat(begin, lengths) + within] * shape.columns + np.repeat(column, lengths)
    factors = np.ones(starts[-1], dtype=np.int64)
    factors[starts[:-1]] = -1
    return csr_matrix((factors, np.concatenate([across.ravel(), down]), starts), shape=(shape.relations, shape.cells))


def _families(shape: Shape, tree: _Tree) -> tuple[IntArray, IntArray]:
    """Each inner row followed by its children, one family after the other; and how many rows each family has."""
    children = 1 + np.argsort(tree.parent[1:], kind="stable")
    sizes = np.bincount(tree.parent[1:], minlength=shape.inner) + 1
    family = np.empty(int(sizes.sum()), dtype=np.int64)
    heads = np.cumsum(sizes) - sizes
    family[heads] = np.arange(shape.inner)
    others = np.ones(family.size, dtype=np.bool_)
    others[heads] = False
    family[others] = children
    return family, sizes


def _share(value: IntArray, percent: Fraction) -> IntArray:
    """So many percent of each value, rounded down."""
    part = percent * _FINEST / 100
    return np.asarray(value * int(part) // _FINEST, dtype=np.int64)
