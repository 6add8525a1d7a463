"""The random tables on which S0 compared its methods (its section 3): uniform values, some zeros, some cells sensitive.

Sizes there: 4x4 to 25x25 in two dimensions; 10x10xN and NxNxN up to 20x20x20 in three. All margins are present.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem

LARGEST_VALUE = 1000


class RandomTable(NamedTuple):
    """Values with all margins (the last place on each axis is the total) and which of them are sensitive. Both are tensors."""

    values: IntArray
    sensitive: BoolArray


def random_problem(shape: Sequence[int], *, seed: int, sensitive: float = 0.3, zeros: float = 0.1, percent: int = 20) -> ProtectionProblem:
    """A random table of S0 as a problem: `protect_within(random_table(...))`."""
    return protect_within(random_table(shape, seed=seed, sensitive=sensitive, zeros=zeros, percent=percent), percent=percent)


def random_table(shape: Sequence[int], *, seed: int, sensitive: float = 0.3, zeros: float = 0.1, percent: int = 20) -> RandomTable:
    """Inner entries uniform on 0..1000, a share of them set to zero, another share (never of a zero) sensitive.

    Values are multiplied so that `percent` of any value is whole: by 5 when it is 20.
    """
    _check(shape, sensitive, zeros, percent)
    rng = np.random.Generator(np.random.PCG64(seed))
    count = math.prod(shape)
    values = rng.integers(LARGEST_VALUE + 1, size=count) * _whole_factor(percent)
    values[rng.choice(count, size=round(zeros * count), replace=False)] = 0
    able = np.flatnonzero(values)
    marked = np.zeros(count, dtype=np.bool_)
    marked[rng.choice(able, size=min(round(sensitive * count), able.size), replace=False)] = True
    return RandomTable(_with_margins(values.reshape(tuple(shape))), np.pad(marked.reshape(tuple(shape)), [(0, 1)] * len(shape)))


def protect_within(table: RandomTable, *, percent: int = 20) -> ProtectionProblem:
    """Sensitive cells move by exactly `percent` up or down, all others by at most that; unit weights; zeros stay."""
    value = table.values.ravel()
    reach = value * percent // 100
    sensitive = table.sensitive.ravel()
    level = np.where(sensitive, reach, 0)
    relations = margin_relations([size - 1 for size in table.values.shape])
    return ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        weight=np.ones(value.size),
        lower=value - reach,
        upper=value + reach,
        sensitive=sensitive,
        lower_level=level,
        upper_level=level,
        variant="exact",
    )


def margin_relations(shape: Sequence[int]) -> csr_matrix:
    """For every axis and every line along it, margins included: the parts less their total is zero."""
    cells = np.arange(math.prod(size + 1 for size in shape)).reshape([size + 1 for size in shape])
    blocks = []
    for axis in range(len(shape)):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, shape[axis] + 1)
        signs = np.ones_like(lines)
        signs[:, -1] = -1
        starts = np.arange(0, lines.size + 1, lines.shape[1])
        blocks.append(csr_matrix((signs.ravel(), lines.ravel(), starts), shape=(lines.shape[0], cells.size)))
    return csr_matrix(vstack(blocks, format="csr", dtype=np.int64))


def _with_margins(inner: IntArray) -> IntArray:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def _whole_factor(percent: int) -> int:
    return 100 // math.gcd(percent, 100)


def _check(shape: Sequence[int], sensitive: float, zeros: float, percent: int) -> None:
    if not shape or min(shape) < 1:
        raise InputError("random_table: the shape needs one or more sizes, each 1 or more.")
    if not (0 <= sensitive <= 1 and 0 <= zeros <= 1):
        raise InputError("random_table: sensitive and zeros are shares between 0 and 1.")
    if not 1 <= percent <= 100:
        raise InputError("random_table: percent must be a whole number from 1 to 100.")
