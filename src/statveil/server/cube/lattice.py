"""All that can be asked for, as rows over the smallest cells: a row is a distinct set of leaf cells within the depth.

Positions that hold the same leaf cells are one row, whatever their labels: they have the same records, and get the same number. What the
rules ask about a row is found here: what it adds up to, how large its holdings are, who leads it, how far it must move.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import STEP, mixed
from statveil.core.errors import InputError
from statveil.risk.assess import assess
from statveil.risk.rules import contributions_needed
from statveil.server.cube.depth import Depth, levels_of
from statveil.server.dataset.dataset import MeasureBlock, ServedData
from statveil.tables.positions import Grid, merge_marks
from statveil.tables.table import Table


class LatticeTuning(NamedTuple):
    """By judgement, where nothing else is said."""

    most_positions: int = 20_000_000
    weights: tuple[float, ...] = (10000.0, 60.0, 5.0, 1.5)
    """What a relative error costs by the number of dimensions shown; one beyond (benchmarks/RESULTS.md, the cube)."""
    least_contributions: int = 2
    marks: int = 4
    """Codes are numbered by a table of marks where that has no more places than so many times the records."""


TUNING = LatticeTuning()


class Members(NamedTuple):
    """A sparse relation: `item[start[i]:start[i + 1]]` belong to i."""

    start: IntArray
    item: AnyArray


class Pairs(NamedTuple):
    """What each holding has in each leaf cell, by holding: `start[h]` to `start[h + 1]` are holding h's."""

    start: IntArray
    leaf: AnyArray
    amount: IntArray


@dataclass(frozen=True, kw_only=True, repr=False)
class Lattice:
    """Confidential. `coordinates[j, d]`: the place of leaf cell j among the smallest codes of dimension d. The rest is by row.

    `rows_of`: the rows of each leaf cell. `leaf_row`: the row that is the leaf cell alone, -1 where none is shown.
    `up`, `down`: how far a sensitive row must move at least, zero where it is not sensitive. `weight`: what a relative error of it
    costs. `dimensions`: the fewest that one of its positions shows. `positions`: (row, keys in the grid), for the memory of editions.
    """

    coordinates: IntArray
    pairs: Pairs
    rows_of: Members
    leaf_row: IntArray
    value: IntArray
    magnitude: IntArray
    respondents: IntArray
    top: IntArray
    leader: IntArray
    second: IntArray
    up: IntArray
    down: IntArray
    weight: FloatArray
    dimensions: IntArray
    position_row: IntArray
    position_key: IntArray
    grid: Grid

    @property
    def leaves(self) -> int:
        return int(self.coordinates.shape[0])

    @property
    def rows(self) -> int:
        return self.value.size

    @property
    def sensitive(self) -> BoolArray:
        found: BoolArray = self.up > 0
        return found

    @cached_property
    def coarse(self) -> bool:
        """Whether the depth ends above some leaf cells."""
        return bool((self.leaf_row < 0).any())

    @cached_property
    def leaves_of(self) -> Members:
        """The leaf cells of each row."""
        return Members(*_transposed(self.rows_of.start, self.rows_of.item, self.rows))

    @cached_property
    def leaf_value(self) -> IntArray:
        found = np.zeros(self.leaves, np.int64)
        np.add.at(found, self.pairs.leaf, self.pairs.amount)
        return found

    @cached_property
    def leaf_magnitude(self) -> IntArray:
        found = np.zeros(self.leaves, np.int64)
        np.add.at(found, self.pairs.leaf, np.abs(self.pairs.amount))
        return found

    @cached_property
    def leaf_keys(self) -> IntArray:
        """The key of each leaf cell's own position in the grid, shown or not."""
        keys = np.zeros(self.leaves, np.int64)
        for axis, dimension in enumerate(self.grid.dimensions):
            codes = np.array([dimension.position[code] for code in dimension.trees[0].leaves], np.int64)
            keys += codes[self.coordinates[:, axis]] * self.grid.strides[axis]
        return keys

    def sums(self, of_leaves: AnyArray) -> AnyArray:
        """What the leaf cells' numbers add up to in each row."""
        found: AnyArray = _row_sums(self.rows_of.start, self.rows_of.item, of_leaves, self.rows)
        return found


def build_lattice(data: ServedData, block: MeasureBlock, depth: Depth) -> Lattice:
    """The rows of one measure."""
    bases = [each.lowest for each in data.dimensions]
    grid = Grid(dimensions=tuple(base.cut for base in bases))
    coordinates, record_leaf = leaf_cells(data, block)
    pairs = _pairs(block, record_leaf)
    del record_leaf
    levels, choices = [levels_of(base) for base in bases], list(depth.choices(data.dimensions))
    sums = _Positions(coordinates.shape[0], len(choices), max(TUNING.least_contributions, contributions_needed(block.rules)))
    for choice in choices:
        shown = [axis for axis, level in enumerate(choice) if level]
        keys = np.zeros(coordinates.shape[0], np.int64)
        outside = np.zeros(keys.size, np.bool_)
        for axis, level in enumerate(choice):
            place = levels[axis][level][coordinates[:, axis]]
            outside |= place < 0
            keys += place * grid.strides[axis]
        sums.add(np.where(outside, -1, keys), len(shown), pairs, block.tie)
    return sums.lattice(block, grid, coordinates, pairs)


def leaf_cells(data: ServedData, block: MeasureBlock) -> tuple[IntArray, AnyArray]:
    """The places of the leaf cells that hold a record among the smallest codes, and the number of each record's."""
    key, sizes = np.zeros(block.value.size, np.int64), []
    for axis, dimension in enumerate(data.dimensions):
        base = dimension.lowest
        smallest = base.cut.trees[0].leaves
        place = np.zeros(len(base.cut.codes), np.int64)
        place[[base.cut.position[code] for code in smallest]] = np.arange(len(smallest))
        key = key * len(smallest) + place[base.position[block.leaf[axis]]]
        sizes.append(len(smallest))
    found, number = numbered(key, prod(sizes))
    coordinates = np.empty((found.size, len(sizes)), np.int64)
    for axis in range(len(sizes) - 1, -1, -1):
        found, coordinates[:, axis] = np.divmod(found, sizes[axis])
    return coordinates, number


def numbered(key: IntArray, size: int) -> tuple[IntArray, AnyArray]:
    """The different keys, all below `size`, in ascending order, and the number of each: by a table of marks where that is no larger."""
    if size > TUNING.marks * key.size:
        found, number = np.unique(key, return_inverse=True)
        return found, number.reshape(-1).astype(np.int32)
    marks = np.zeros(size, np.bool_)
    marks[key] = True
    found, number = np.flatnonzero(marks), np.cumsum(marks, dtype=np.int32)
    number -= np.int32(1)
    return found, number[key]


def _pairs(block: MeasureBlock, leaf: AnyArray) -> Pairs:
    """By holding and leaf cell; what cancels out within a holding's leaf cell is kept at zero, for it is there."""
    start, of_leaf, amount = np.zeros_like(block.start), np.empty_like(leaf), np.empty_like(block.value)
    count = _gather_pairs(block.start, leaf, block.value, start, of_leaf, amount)
    return Pairs(start, of_leaf[:count], amount[:count])


class _Positions:
    """Gathers what there is at every position, one choice of levels after the other, and makes rows of it."""

    def __init__(self, leaves: int, choices: int, contributions: int) -> None:
        self.contributions = contributions
        self.place = np.empty((choices, leaves), np.int32)
        self.keys: list[IntArray] = []
        self.shown: list[int] = []
        self.found: list[list[AnyArray]] = []
        self.count = 0
        first = np.arange(1, leaves + 1, dtype=np.uint64) * STEP
        self.prints = mixed(first), mixed(first ^ np.uint64(0xD1B54A32D192ED03))

    def add(self, keys: IntArray, shown: int, pairs: Pairs, tie: AnyArray) -> None:
        found, place = np.unique(keys, return_inverse=True)
        outside = int(found.size > 0 and found[0] < 0)
        found, place = found[outside:], (place.reshape(-1) - outside).astype(np.int32)  # -1 where none is shown
        if self.count + found.size > TUNING.most_positions:
            raise InputError(
                f"The tables of this dataset have more than {TUNING.most_positions:,} cells.",
                hint="Choose a smaller depth or lower detail.",
            )
        low, high, size = _prints(place, *self.prints, found.size)
        *sums, top = _holding_sums(*pairs, place, tie, found.size, self.contributions)
        self.found.append([top, *sums, size, high, low])
        self.place[len(self.shown)] = np.where(place < 0, place, place + np.int32(self.count))
        self.keys.append(found)
        self.shown.append(shown)
        self.count += found.size

    def _next(self) -> AnyArray:
        """The last field that is left, of all positions: it is not kept twice."""
        return np.concatenate([each.pop() for each in self.found])

    def lattice(self, block: MeasureBlock, grid: Grid, coordinates: IntArray, pairs: Pairs) -> Lattice:
        low, high, size = self._next(), self._next(), self._next()
        row, at = merge_marks((low, high, size))
        size = size[at]
        second, leader, respondents, magnitude, value, top = (self._next()[at] for _ in range(6))
        shown = np.repeat(self.shown, [keys.size for keys in self.keys])
        weights: FloatArray = np.array([*TUNING.weights, *(1.0,) * grid.strides.size])[shown]
        alone = np.full(coordinates.shape[0], -1, np.int64)
        rows_of = Members(*_rows_of(self.place, row.astype(np.int32), size, alone))
        fewest = np.full(at.size, grid.strides.size, np.int64)
        np.minimum.at(fewest, row, shown)
        up, down = _levels(block, value, magnitude, respondents, top)
        return Lattice(
            coordinates=coordinates,
            pairs=pairs,
            rows_of=rows_of,
            leaf_row=alone,
            value=value,
            magnitude=magnitude,
            respondents=respondents,
            top=top,
            leader=leader,
            second=second,
            up=up,
            down=down,
            weight=np.bincount(row, weights, minlength=at.size).astype(np.float64),
            dimensions=fewest,
            position_row=row,
            position_key=np.concatenate(self.keys),
            grid=grid,
        )


def _levels(block: MeasureBlock, value: IntArray, magnitude: IntArray, respondents: IntArray, top: IntArray) -> tuple[IntArray, IntArray]:
    """What the rules ask of each row, upward and downward."""
    table = rules_table(block.decimals, value, magnitude, respondents, top)
    found = assess(table, block.rules)
    up = np.where(found.sensitive, np.maximum(found.upper_level, 1), 0)
    down = np.where(found.sensitive, np.maximum(found.lower_level, 1), 0)
    return up, down


def rules_table(decimals: int, value: IntArray, magnitude: IntArray, respondents: IntArray, top: IntArray) -> Table:
    """Rows as the rules see cells."""
    return Table(
        views=(),
        value=value,
        scale=decimals,
        decimals=decimals,
        records=respondents,
        respondents=respondents,
        frequency=respondents,
        frequency_scale=0,
        magnitude=magnitude,
        top=top,
        largest_unwaived=top[:, 0],
        largest_requested=np.full(value.size, -1, dtype=np.int64),
        rule_scale=decimals,
        has_shadow=False,
        input_hash="",
    )


@numba.njit(cache=True, nogil=True)
def _gather_pairs(begin, leaf, value, start, of_leaf, amount):  # type: ignore[no-untyped-def]
    """Adds up what each holding has in each leaf cell, in ascending order of these; tells how many pairs there are."""
    count = 0
    for holding in range(begin.size - 1):
        first, end = begin[holding], begin[holding + 1]
        order = np.argsort(leaf[first:end], kind="mergesort") if end > first + 1 else np.zeros(1, np.int64)
        for place in range(end - first):
            record = first + order[place]
            if count > start[holding] and of_leaf[count - 1] == leaf[record]:
                amount[count - 1] += value[record]
                continue
            of_leaf[count], amount[count] = leaf[record], value[record]
            count += 1
        start[holding + 1] = count
    return count


@numba.njit(cache=True, nogil=True)
def _prints(place, low, high, size):  # type: ignore[no-untyped-def]
    """Per position: two sums that tell sets of leaf cells apart, and how many leaf cells it has."""
    first, second, count = np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.int64)
    for leaf in range(place.size):
        if place[leaf] >= 0:
            first[place[leaf]] += low[leaf]
            second[place[leaf]] += high[leaf]
            count[place[leaf]] += 1
    return first, second, count


@numba.njit(cache=True, nogil=True)
def _holding_sums(start, leaf, amount, place, tie, size, contributions):  # type: ignore[no-untyped-def]
    """Per position: value, magnitude, holdings, leader, second, largest contributions. A holding counts once, by what it has there."""
    value, magnitude, respondents = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    leader, second, top = np.full(size, -1, np.int64), np.full(size, -1, np.int64), np.zeros((size, contributions), np.int64)
    seen, held = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    touched = np.empty(size, np.int64)
    for holding in range(start.size - 1):
        count = 0
        for pair in range(start[holding], start[holding + 1]):
            where = place[leaf[pair]]
            if where < 0:
                continue
            if seen[where] != holding:
                seen[where] = holding
                held[where] = 0
                touched[count] = where
                count += 1
            held[where] += amount[pair]
        for each in range(count):
            where = touched[each]
            size_here = abs(held[where])
            value[where] += held[where]
            magnitude[where] += size_here
            respondents[where] += 1
            largest = top[where]
            if _before(size_here, holding, largest[0], leader[where], tie):
                second[where], leader[where] = leader[where], holding
            elif _before(size_here, holding, largest[1], second[where], tie):
                second[where] = holding
            _rank(largest, size_here)
    return value, magnitude, respondents, leader, second, top


@numba.njit(cache=True, nogil=True)
def _rank(largest, size):  # type: ignore[no-untyped-def]
    """Put a contribution among the largest, in descending order."""
    rank = largest.size
    while rank > 0 and largest[rank - 1] < size:
        if rank < largest.size:
            largest[rank] = largest[rank - 1]
        rank -= 1
    if rank < largest.size:
        largest[rank] = size


@numba.njit(cache=True, nogil=True, inline="always")
def _before(size, holding, other_size, other, tie):  # type: ignore[no-untyped-def]
    """Whether a holding comes before another one, if there is one; of equal ones the keyed number decides."""
    return other < 0 or size > other_size or (size == other_size and tie[holding] > tie[other])


@numba.njit(cache=True, nogil=True)
def _rows_of(place, row, size, alone):  # type: ignore[no-untyped-def]
    """The distinct rows of each leaf cell, in ascending order; `alone` gets the row that is that leaf cell only."""
    choices, leaves = place.shape
    start, scratch = np.zeros(leaves + 1, np.int64), np.empty(choices, np.int32)
    for leaf in range(leaves):
        start[leaf + 1] = start[leaf] + _distinct(place, row, leaf, scratch)
    item = np.empty(start[leaves], np.int32)
    for leaf in range(leaves):
        count = _distinct(place, row, leaf, scratch)
        item[start[leaf] : start[leaf + 1]] = scratch[:count]
        for each in scratch[:count]:
            if size[each] == 1:
                alone[leaf] = each
    return start, item


@numba.njit(cache=True, nogil=True)
def _distinct(place, row, leaf, scratch):  # type: ignore[no-untyped-def]
    """Puts the distinct rows of a leaf cell into `scratch`, and tells how many."""
    count, kept = 0, 0
    for choice in range(place.shape[0]):
        if place[choice, leaf] >= 0:
            scratch[count] = row[place[choice, leaf]]
            count += 1
    scratch[:count].sort()
    for each in range(count):
        if each == 0 or scratch[each] != scratch[kept - 1]:
            scratch[kept] = scratch[each]
            kept += 1
    return kept


@numba.njit(cache=True, nogil=True)
def _transposed(start, index, size):  # type: ignore[no-untyped-def]
    """The same incidence the other way round: who names each of `size` things."""
    other, place = np.zeros(size + 1, np.int64), np.empty(index.size, np.int32)
    for each in index:
        other[each + 1] += 1
    for each in range(size):
        other[each + 1] += other[each]
    following = other[:-1].copy()
    for one in range(start.size - 1):
        for at in range(start[one], start[one + 1]):
            place[following[index[at]]] = one
            following[index[at]] += 1
    return other, place


@numba.njit(cache=True, nogil=True)
def _row_sums(start, index, of_leaves, rows):  # type: ignore[no-untyped-def]
    """What the leaves add up to in every row."""
    found = np.zeros(rows, of_leaves.dtype)
    for leaf in range(start.size - 1):
        for at in range(start[leaf], start[leaf + 1]):
            found[index[at]] += of_leaves[leaf]
    return found
