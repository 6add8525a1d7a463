"""The positions of a table: their keys, the levels they lie on, those that no record can hold, and what was added up at each.

A level of a dimension sends each leaf to at most one code. Each code lies on exactly one level, so the
combinations of one level per dimension (every way to replace leaf codes by their ancestors) share out all positions of a table.
Structural zeros are positions that no record can ever hold, as opposed to positions that happen to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import HierarchyError, InputError
from statveil.tables.spec import Dimension, TableSpec

LARGEST_GRID = 2**62


class TableTuning(NamedTuple):
    """What is refused as too large to be a table. By judgement."""

    most_cells: int = 20_000_000
    most_structural: int = 1_000_000
    """Positions that patterns of structural zeros may rule out."""


TUNING = TableTuning()


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
        if cells > TUNING.most_cells:
            raise InputError(
                f"The table may have {cells:,} cells, more than {TUNING.most_cells:,}.", hint="Leave out a dimension, or use coarser codes."
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


class LevelStep(NamedTuple):
    """How a combination of levels comes from a finer one: the number of that one, the dimension that they differ in, and the code that
    each of its codes there becomes, -1 for none."""

    source: int
    axis: int
    up: IntArray


def steps(grid: Grid) -> list[LevelStep]:
    """Every combination of levels but the leaves' own, which is number 0: the first step makes number 1. Each comes from one before it,
    in the dimension where that leaves the fewest positions to look at."""
    chains = [_finer_levels(ancestor_levels(dimension)) for dimension in grid.dimensions]
    chosen = product(*(range(len(chain)) for chain in chains))
    order = sorted(chosen, key=lambda levels: sum(chain[level].depth for chain, level in zip(chains, levels, strict=True)))
    number = {levels: place for place, levels in enumerate(order)}
    found = []
    for levels in order[1:]:
        coarse = [axis for axis, level in enumerate(levels) if level]
        axis = min(coarse, key=lambda axis: chains[axis][levels[axis]].growth)
        finer = chains[axis][levels[axis]]
        found.append(LevelStep(number[(*levels[:axis], finer.source, *levels[axis + 1 :])], axis, finer.up))
    return found


class _Finer(NamedTuple):
    """From which level of a dimension another is made: its number, how many levels lie below, how many times as many codes it has."""

    source: int
    depth: int
    growth: float
    up: IntArray


def _finer_levels(levels: Sequence[IntArray]) -> list[_Finer]:
    """For each level the one with the fewest codes that tells all of its codes apart; the leaves, number 0, tell everything."""
    codes = [int(np.unique(level[level >= 0]).size) for level in levels]
    order = sorted(range(len(levels)), key=lambda level: (level > 0, -codes[level], level))
    found = {0: _Finer(0, 0, 1.0, levels[0])}
    for place, level in enumerate(order[1:], start=1):
        source, up = next((each, up) for each in reversed(order[:place]) if (up := _step_up(levels[each], levels[level])) is not None)
        found[level] = _Finer(source, found[source].depth + 1, codes[source] / codes[level], up)
    return [found[level] for level in range(len(levels))]


def _step_up(finer: IntArray, coarser: IntArray) -> IntArray | None:
    """What each code of a level becomes on a coarser one, or None where that cannot be told."""
    leaves = np.flatnonzero(finer >= 0)
    up = np.full(finer.size, -1, dtype=np.int64)
    up[finer[leaves]] = coarser[leaves]
    told = np.where(finer >= 0, up[finer], -1)
    return up if np.array_equal(told, coarser) else None


def structural_positions(spec: TableSpec, grid: Grid) -> IntArray:
    """Coordinates of all positions that the patterns rule out, in ascending order, each once."""
    ruled_out = [_axes(grid, pattern) for pattern in spec.structural_zeros]
    if sum(prod(codes.size for codes in axes) for axes in ruled_out) > TUNING.most_structural:
        raise InputError(
            f"structural_zeros of {spec.name!r} rules out more than {TUNING.most_structural:,} positions.", hint="Give narrower patterns."
        )
    keys = [grid.keys(_crossed(axes)) for axes in ruled_out]
    return grid.coordinates(np.unique(np.concatenate([np.zeros(0, np.int64), *keys])))


def check_structural(spec: TableSpec, grid: Grid, leaf_coordinates: IntArray, records: IntArray) -> None:
    """Refuse data that hold a record where none can be."""
    for pattern in spec.structural_zeros:
        inside = [np.isin(leaf_coordinates[:, axis], codes) for axis, codes in enumerate(_axes(grid, pattern))]
        count = int(records[np.logical_and.reduce(inside)].sum())
        if count:
            raise InputError(
                f"{count} records lie where structural_zeros of {spec.name!r} rules them out: {dict(pattern)}.",
                hint="Mend the data or the pattern.",
            )


def _axes(grid: Grid, pattern: Mapping[str, str]) -> list[IntArray]:
    return [
        at_or_below(dimension, pattern[dimension.name]) if dimension.name in pattern else np.arange(len(dimension.codes))
        for dimension in grid.dimensions
    ]


def at_or_below(dimension: Dimension, code: str) -> IntArray:
    """What holds nothing holds nothing below it."""
    if code not in dimension.position:
        raise HierarchyError(
            f"structural_zeros names code {code!r}, which dimension {dimension.name!r} lacks.", hint="Codes are compared as text."
        )
    found = {code}
    for tree in dimension.trees:
        waiting = [code]
        while waiting:
            below = tree.children.get(waiting.pop(), ())
            found.update(below)
            waiting.extend(below)
    return np.array(sorted(dimension.position[each] for each in found), dtype=np.int64)


def _crossed(axes: Sequence[IntArray]) -> IntArray:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


@dataclass(frozen=True, kw_only=True)
class PositionSums:
    """Arrays side by side, one entry per position that holds a record.

    `low_print` and `high_print` are the fingerprint of the set of records: equal sets, equal prints.
    """

    key: IntArray
    records: IntArray
    low_print: AnyArray
    high_print: AnyArray
    value: IntArray
    weight: IntArray
    mass: IntArray
    respondents: IntArray
    magnitude: IntArray
    top: IntArray
    unwaived: IntArray
    requested: IntArray
    leader: AnyArray

    def take(self, order: IntArray) -> PositionSums:
        return PositionSums(**{field.name: getattr(self, field.name)[order] for field in fields(self)})


def join_positions(parts: Sequence[PositionSums]) -> PositionSums:
    if len(parts) == 1:
        return parts[0]
    return PositionSums(**{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(PositionSums)})


def merge_equal(positions: PositionSums, response: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """(cell of each position, first position of each cell); cells are numbered by first appearance.

    Positions are one cell if they have the same records and, where it is given, the same response.
    """
    marks = (positions.low_print, positions.high_print, positions.records, *(() if response is None else (response,)))
    return merge_marks(marks)


def merge_marks(marks: Sequence[AnyArray]) -> tuple[IntArray, IntArray]:
    """The same for positions that are one cell where all their marks are equal."""
    if marks[0].size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.argsort(marks[0])  # as a rule the first mark tells all apart that any does
    if (_changes(marks, order) != _changes(marks[:1], order)).any():
        order = np.lexsort(marks)
    new = _changes(marks, order)
    if new.all():
        return np.arange(order.size), np.arange(order.size)
    firsts = np.minimum.reduceat(order, np.flatnonzero(new))
    rank = np.empty(firsts.size, np.int64)
    rank[np.argsort(firsts)] = np.arange(firsts.size)
    cell = np.empty(order.size, np.int64)
    cell[order] = rank[np.cumsum(new) - 1]
    return cell, np.sort(firsts)


def _changes(marks: Sequence[AnyArray], order: IntArray) -> AnyArray:
    """Whether any mark differs from the one before, in this order; the first does."""
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = False
    for mark in marks:
        new[1:] |= np.diff(mark[order]) != 0
    return new
