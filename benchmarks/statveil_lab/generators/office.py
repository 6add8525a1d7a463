"""Tables as offices have them: two or three hierarchies crossed, values over nine decades, costs equal to values, many empty cells.

The finest cells are drawn with effects of their codes, so that whole lines are large or small, and each has a largest and a second
largest contributor. A cell is sensitive by the p% rule, p as fits the share wanted: a total with a single part is so with its part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity, kron, vstack

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.amounts import NO_BOUND
from statveil.formats.system import LinearSystem

MOST_CELLS = 5_000_000
SMALLEST, LARGEST = 1, 10**9
"""Of the finest cells that are not empty: nine decades."""
MIDDLE, CODE_SPREAD, CELL_SPREAD = 4.5, 1.1, 1.0
"""Of the decimal logarithm of a finest cell: its median, the spread of all its codes' effects together, and its own."""


@dataclass(frozen=True, kw_only=True)
class OfficeShape:
    """Codes of each dimension, how many of them are sums of others (the root is one), levels below the root, and shares.

    sensitive: of all cells, in percent. empty: of the finest cells, in percent. level: protection, in percent of the value.
    """

    codes: tuple[int, ...] = (117, 225)
    inner: tuple[int, ...] = (30, 95)
    depth: int = 5
    sensitive: float = 4.0
    empty: float = 25.0
    level: int = 10

    def __post_init__(self) -> None:
        if len(self.codes) not in (2, 3) or len(self.inner) != len(self.codes):
            raise InputError("An office's table needs codes and inner codes of two or three dimensions.")
        if min(self.inner) < 1 or any(codes <= 2 * inner for codes, inner in zip(self.codes, self.inner, strict=True)):
            raise InputError("Each dimension needs an inner code, and more than two codes for each.")
        if self.depth < 1 or (self.depth == 1 and max(self.inner) > 1):
            raise InputError("Depth 1 has one inner code in each dimension: the total.")
        if self.cells > MOST_CELLS:
            raise InputError(f"A table of more than {MOST_CELLS:,} cells is too large to be made.", hint="Give fewer codes.")
        if not (0 < self.sensitive <= 50 and 0 <= self.empty <= 90 and 0 < self.level <= 100):
            raise InputError("Shares in percent: sensitive above 0 up to 50, empty 0 to 90, level 1 to 100.")

    @property
    def cells(self) -> int:
        return math.prod(self.codes)

    @property
    def relations(self) -> int:
        return sum(inner * self.cells // codes for codes, inner in zip(self.codes, self.inner, strict=True))


THREE_HIERARCHIES = OfficeShape(codes=(45, 26, 22), inner=(12, 7, 5))


class _Drawn(NamedTuple):
    """All cells, as tensors: values, and the largest and second largest contributor of each."""

    value: IntArray
    first: FloatArray
    second: FloatArray


def office_system(shape: OfficeShape, *, seed: int) -> LinearSystem:
    """A table of that shape, as an office publishes it to whoever protects it; the same seed gives the same table.

    Cells are numbered with the last dimension running fastest. Empty cells stay empty; nothing else has an upper bound.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    trees = [draw_tree(codes, inner, shape.depth, rng) for codes, inner in zip(shape.codes, shape.inner, strict=True)]
    drawn = _add_up(_draw_finest(shape, rng), trees, shape.inner)
    value, sensitive = drawn.value.ravel(), _dominated(drawn, shape).ravel()
    return system_of_cells(office_relations(trees, shape.inner), value, np.maximum(value, 1), sensitive, shape.level)


def system_of_cells(relations: csr_matrix, value: IntArray, cost: IntArray, sensitive: BoolArray, percent: int) -> LinearSystem:
    """Cells of zero or more with levels of so many percent, rounded up. Empty cells stay empty; nothing else has an upper bound."""
    level = np.where(sensitive, -(-value * percent // 100), 0)
    status: AnyArray = np.where(sensitive, "u", np.where(value == 0, "z", "s"))
    return LinearSystem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        cost=cost.astype(np.float64),
        status=status,
        lower=np.zeros_like(value),
        upper=np.where(value == 0, 0, NO_BOUND).astype(np.int64),
        lower_level=level,
        upper_level=level,
        decimals=0,
    )


def draw_tree(codes: int, inner: int, depth: int, rng: np.random.Generator) -> IntArray:
    """The parent of each code: code 0 is the root, inner codes come first, each after its parent; some have a single part."""
    parent, level = np.full(codes, -1, dtype=np.int64), np.zeros(inner, dtype=np.int64)
    for code in range(1, inner):
        parent[code] = rng.choice(np.flatnonzero(level[:code] < depth - 1))
        level[code] = level[parent[code]] + 1
    childless = np.setdiff1d(np.arange(inner), parent[1:inner])
    parent[inner:] = np.concatenate([childless, rng.integers(0, inner, size=codes - inner - childless.size)])
    return parent


def office_relations(trees: Sequence[IntArray], inner: Sequence[int]) -> csr_matrix:
    """Along every dimension, for each inner code and each choice of the other codes: the parts less their sum is zero."""
    sizes = [tree.size for tree in trees]
    blocks = []
    for axis, (tree, count) in enumerate(zip(trees, inner, strict=True)):
        children = np.arange(1, tree.size)
        rows, columns = np.concatenate([np.arange(count), tree[1:]]), np.concatenate([np.arange(count), children])
        factors = np.concatenate([np.full(count, -1), np.ones(children.size, dtype=np.int64)])
        one = csr_matrix((factors, (rows, columns)), shape=(count, tree.size))
        before, after = identity(math.prod(sizes[:axis])), identity(math.prod(sizes[axis + 1 :]))
        blocks.append(kron(kron(before, one), after))
    return csr_matrix(vstack(blocks, format="csr"), dtype=np.int64)


def _draw_finest(shape: OfficeShape, rng: np.random.Generator) -> _Drawn:
    """The cells of codes that are no sums, with what their two largest contributors have of them."""
    sizes = [codes - inner for codes, inner in zip(shape.codes, shape.inner, strict=True)]
    logarithm = MIDDLE + CELL_SPREAD * rng.standard_normal(sizes)
    for axis, size in enumerate(sizes):
        effect = CODE_SPREAD / math.sqrt(len(sizes)) * rng.standard_normal(size)
        logarithm += effect.reshape([-1 if axis == other else 1 for other in range(len(sizes))])
    value = np.clip(np.rint(10**logarithm), SMALLEST, LARGEST).astype(np.int64)
    value[rng.random(sizes) < shape.empty / 100] = 0
    largest = rng.beta(2, 2, sizes)
    second: FloatArray = np.minimum(largest, (1 - largest) * rng.random(sizes))
    amount = value.astype(np.float64)
    return _Drawn(value, amount * largest, amount * second)


def _add_up(finest: _Drawn, trees: Sequence[IntArray], inner: Sequence[int]) -> _Drawn:
    """Sums over all trees, and the two largest contributors of every sum."""
    drawn = finest
    for axis, (tree, count) in enumerate(zip(trees, inner, strict=True)):
        moved = [np.moveaxis(each, axis, 0) for each in drawn]
        value, first, second = (np.concatenate([np.zeros((count, *each.shape[1:]), dtype=each.dtype), each]) for each in moved)
        for code in range(tree.size - 1, 0, -1):  # every code before its parent
            above = tree[code]
            value[above] += value[code]
            runner_up = np.minimum(first[above], first[code])
            second[above] = np.maximum(np.maximum(second[above], second[code]), runner_up)
            first[above] = np.maximum(first[above], first[code])
        drawn = _Drawn(*(np.moveaxis(each, 0, axis) for each in (value, first, second)))
    return drawn


def _dominated(drawn: _Drawn, shape: OfficeShape) -> BoolArray:
    """The share of cells in which the rest is least beside the largest contributor (p% rule); cells alike are all so."""
    rest = drawn.value - drawn.first - drawn.second
    ratio = np.where(drawn.value > 0, rest / np.maximum(drawn.first, 1e-9), np.inf)
    wanted = max(1, round(shape.sensitive / 100 * shape.cells))
    return np.asarray((ratio <= np.partition(ratio.ravel(), wanted - 1)[wanted - 1]) & np.isfinite(ratio))
