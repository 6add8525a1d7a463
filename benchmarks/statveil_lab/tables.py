"""The tables on which the papers compared their methods, made from a seed as far as the papers describe them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity, kron, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import system_of
from statveil_lab.generators.random_tables import LARGEST_VALUE, random_problem
from statveil_lab.runner import Posed, Table

LINKED_CODES = {13: (4, 5, 6), 12: (1, 6), 11: (3, 4), 10: (3, 6), 9: (4, 5), 8: (1, 2), 7: (3, 8, 13)}
"""S1 section 3, paragraph 21: the thirteen codes of a dimension; 1 to 6 are elementary, the others sums that overlap."""
ELEMENTARY = 6
LINKED_ZEROS, LINKED_SENSITIVE, LINKED_PERCENT = 0.42, 24 / 6**3, 20
"""Shares of the elementary cells, as in CSPLIB's table of this structure; and percent of a value to protect it by."""


class Figure(NamedTuple):
    """A family of tables by size: its short name, its title and axis on a chart, its sizes, and a table's name and making."""

    group: str
    title: str
    axis: str
    sizes: tuple[int, ...]
    most: int
    name: Callable[[int], str]
    problem: Callable[[int, int], ProtectionProblem]


_SQUARES = Figure(
    "squares",
    "Two dimensions: N x N (S0, figures 1 and 4)",
    "N (rows and columns)",
    (4, 8, 12, 18, 25),
    100,
    lambda size: f"{size}x{size}",
    lambda size, seed: random_problem((size, size), seed=seed),
)
FIGURES: dict[str, Figure] = {
    "1": _SQUARES,
    "2": Figure(
        "layers",
        "Three dimensions: 10 x 10 x N (S0, figure 2)",
        "N (layers of 10 x 10)",
        (3, 8, 20),
        100,
        lambda size: f"10x10x{size}",
        lambda size, seed: random_problem((10, 10, size), seed=seed),
    ),
    "3": Figure(
        "cubes",
        "Three dimensions: N x N x N (S0, figure 3)",
        "N",
        (5, 10, 20),
        40,
        lambda size: f"{size}x{size}x{size}",
        lambda size, seed: random_problem((size, size, size), seed=seed),
    ),
    "4": _SQUARES,
    "s1": Figure(
        "linked",
        "Linked codes: 13 in each dimension (S1)",
        "dimensions",
        (2, 3),
        4,
        lambda size: "x".join(["13"] * size),
        lambda size, seed: linked_problem(size, seed=seed),
    ),
}


def check_figures(figures: Sequence[str] | None) -> Sequence[str]:
    """The figures asked for, or all; an unknown one is refused."""
    for figure in figures or ():
        known("figure", figure, tuple(FIGURES))
    return figures or tuple(FIGURES)


def tables_of(figure: str, sizes: Sequence[int] | None = None) -> list[Table]:
    """The tables of a figure, in its usual sizes or in those given."""
    family = FIGURES[figure]
    chosen = family.sizes if sizes is None else tuple(sizes)
    if not chosen or min(chosen) < 1 or max(chosen) > family.most:
        raise InputError(f"The sizes of figure {figure} are from 1 to {family.most}.")
    return [Table(family.group, family.name(size), size, _posed(family, size)) for size in chosen]


def _posed(family: Figure, size: int) -> Callable[[int], Posed]:
    def pose(seed: int) -> Posed:
        problem = family.problem(size, seed)
        return Posed(system_of(problem), problem)

    return pose


def linked_problem(dimensions: int, *, seed: int) -> ProtectionProblem:
    """A table whose codes overlap in every dimension (S1), with random values: at least 20%, bounds of 100%, unit weights.

    S1 gives the relations of one dimension, "approximately 100" sensitive cells and no values. Here all dimensions have those
    relations, as in CSPLIB's hier13x13x13d, and as there many elementary cells are zero, some of the others are sensitive, and
    so is every sum that has one of these as its only part that is not zero.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    count = ELEMENTARY**dimensions
    value = rng.integers(1, LARGEST_VALUE + 1, size=count) * (100 // LINKED_PERCENT)
    value[rng.choice(count, size=round(LINKED_ZEROS * count), replace=False)] = 0
    able = np.flatnonzero(value)
    sensitive = np.zeros(count, dtype=np.int64)
    sensitive[rng.choice(able, size=max(round(LINKED_SENSITIVE * count), 1), replace=False)] = 1
    values, parts, marked = (_with_sums(each, dimensions) for each in (value, (value > 0).astype(np.int64), sensitive))
    secret = (parts == 1) & (marked == 1)
    level = np.where(secret, values * LINKED_PERCENT // 100, 0)
    relations = _linked_relations(dimensions)
    return ProtectionProblem(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=values,
        weight=np.ones(values.size),
        lower=np.zeros(values.size, dtype=np.int64),
        upper=2 * values,
        sensitive=secret,
        lower_level=level,
        upper_level=level,
    )


def _with_sums(elementary: IntArray, dimensions: int) -> IntArray:
    """Elementary cells and all sums of them that the codes make, in one row."""
    cells = elementary.reshape((ELEMENTARY,) * dimensions)
    for axis in range(dimensions):
        cells = np.moveaxis(np.tensordot(_all_codes(), cells, axes=(1, axis)), 0, axis)
    return cells.ravel()


def _all_codes() -> IntArray:
    """Each code as a sum of elementary ones."""
    rows: dict[int, IntArray] = {code: np.eye(ELEMENTARY, dtype=np.int64)[code - 1] for code in range(1, ELEMENTARY + 1)}
    for code in (13, 12, 11, 10, 9, 8, 7):
        rows[code] = np.sum([rows[part] for part in LINKED_CODES[code]], axis=0)
    return np.stack([rows[code] for code in sorted(rows)])


def _linked_relations(dimensions: int) -> csr_matrix:
    """Along every axis, for every line: the parts less their sum is zero."""
    codes = ELEMENTARY + len(LINKED_CODES)
    one: FloatArray = np.zeros((len(LINKED_CODES), codes))
    for row, (code, parts) in enumerate(LINKED_CODES.items()):
        one[row, [part - 1 for part in parts]], one[row, code - 1] = 1, -1
    blocks = []
    for axis in range(dimensions):
        before, after = identity(codes**axis), identity(codes ** (dimensions - axis - 1))
        blocks.append(kron(kron(before, csr_matrix(one)), after))
    return csr_matrix(vstack(blocks, format="csr"), dtype=np.int64)
