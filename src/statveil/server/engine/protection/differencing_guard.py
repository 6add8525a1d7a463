"""The differencing guard: pairs of published cells that differ by one respondent (docs/threats.md, section 7; T07).

The difference of two prints is the print of the records that only one of the sets has. If that is the print of one record, of one
holding or of a sensitive cell, subtracting the two published numbers gives an estimate of it. Pairs within one table are found by their
places in the trees.

Populations that filters make are held against those published before: what only one of two has must not be sensitive itself. Both are
answered by sums; where one holds all records of the other, subtracting the two answers gives a sum over the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray, frozen_array
from statveil.core.secret import SecretKey
from statveil.protect.options import NO_LIMIT
from statveil.risk.assess import assess
from statveil.risk.rules.base import share
from statveil.server.engine.dataset import MeasureBlock, ServedData
from statveil.server.engine.keyed import among, subtract
from statveil.server.engine.layout import Layout
from statveil.server.engine.protection.stage_one import ServedCells, add_up, rules_table
from statveil.server.engine.protection.stage_two import Fences
from statveil.server.store.protocol import SeenCell
from statveil.tables.positions import Grid, ancestor_levels
from statveil.tables.spec import Dimension
from statveil.tables.table import View


class GuardTuning(NamedTuple):
    """Both by judgement."""

    filter_bits: int = 23
    """A bit per possible difference, by its last bits: most pairs are dismissed by one look at a small table."""
    most_pairs: int = 1_000_000
    """Pairs that are looked for in one table. The search ends there, and the table is refused: nobody knows what was not looked at."""


TUNING = GuardTuning()


class Slivers(NamedTuple):
    """Pairs found: the new cell, the published number of the other one, whether the new one is the larger set, and the respondent.

    `target` is the number of a record or holding in `DifferencingGuard.amount`, or -1 for a sensitive cell that was published itself.
    `inside`: both the other cell and the difference are cells of the same table, which protects the difference as such if it keeps
    the published number.
    """

    cell: IntArray
    other: IntArray
    larger: BoolArray
    target: IntArray
    inside: BoolArray

    @property
    def size(self) -> int:
        return int(self.cell.size)

    @property
    def too_many(self) -> bool:
        """Whether the search ended at its limit, so that there may be pairs that were not looked at."""
        return self.size >= TUNING.most_pairs


class _PublishedCells(NamedTuple):
    """Published cells that are not sensitive, by ascending number of records."""

    records: IntArray
    value: IntArray
    low: AnyArray
    high: AnyArray


class DifferencingGuard:
    """What was published of one measure, and the respondents whose prints a difference may be."""

    def __init__(self, block: MeasureBlock, *, records: int, least: float) -> None:
        self.block, self.reach, self.least = block, records, least
        self.last = 0
        nothing = np.zeros(0, dtype=np.int64)
        self._seen = _PublishedCells(records=nothing, value=nothing, low=nothing.astype(np.uint64), high=nothing.astype(np.uint64))
        self.amount, self.sign, self.low, self.high = _respondents(block, records)
        self._filter = np.zeros(1 << TUNING.filter_bits, dtype=np.bool_)
        self._index()

    def learn(self, seen: list[SeenCell]) -> None:
        """Take in what was published since the last time."""
        if not seen:
            return
        self.last = seen[-1].number
        sense = np.array([each.sense for each in seen])
        records = np.array([each.records for each in seen], dtype=np.int64)
        prints = np.frombuffer(b"".join(each.print_ for each in seen), dtype="<u8").reshape(-1, 2).astype(np.uint64)
        value = np.array([each.value for each in seen], dtype=np.int64)
        small = (sense != 0) & (records <= self.reach)
        if small.any():
            self._add_targets(prints[small, 0], prints[small, 1])
        safe = np.flatnonzero(sense == 0)
        fresh = _PublishedCells(records[safe], value[safe], prints[safe, 0], prints[safe, 1])
        merged = [np.concatenate(pair) for pair in zip(self._seen, fresh, strict=True)]
        order = np.argsort(merged[0], kind="stable")
        self._seen = _PublishedCells(*(array[order] for array in merged))

    def find(self, cells: ServedCells, new: BoolArray) -> Slivers:
        """Pairs of a new cell that is not sensitive with a published one."""
        asked = np.flatnonzero(new & ~cells.sensitivity.sensitive)
        records = cells.table.records[asked]
        seen = self._seen
        first = np.searchsorted(seen.records, records - self.reach)
        last = np.searchsorted(seen.records, records + self.reach, side="right")
        near = first, last
        targets = self._sorted_low, self._sorted_high
        found = _pairs(cells.low[asked], cells.high[asked], records, near, seen, self._filter, targets, TUNING.most_pairs)
        other, target = found[:, 1], found[:, 3]
        order = np.argsort(cells.low, kind="stable")
        here = cells.low[order], cells.high[order]
        inside = among(*here, seen.low[other], seen.high[other]) & among(*here, self._sorted_low[target], self._sorted_high[target])
        return Slivers(asked[found[:, 0]], seen.value[other], found[:, 2] == 1, self._sorted_target[target], inside)

    def within(self, cells: ServedCells, new: BoolArray) -> int:
        """Pairs of two new cells of the same table. Sums hold in it, so that their difference is a cell of it, protected as such."""
        small, large = nested_pairs(cells.view, cells.table.records, new & ~cells.sensitivity.sensitive, reach=self.reach)
        difference = subtract(cells.low[large], cells.high[large], cells.low[small], cells.high[small])
        return int(among(self._sorted_low, self._sorted_high, *difference).sum())

    def fences(self, cells: ServedCells, slivers: Slivers) -> Fences:
        """Bounds that keep each difference away from the truth like a virtual sensitive cell, on the side where the reference has it.

        Where several differences of one cell ask for what cannot be had together, they are left to the permanent changes.
        """
        low, high = np.full(cells.size, -NO_LIMIT), np.full(cells.size, NO_LIMIT)
        known = np.flatnonzero(slivers.target >= 0)
        cell, other, larger, target, _ = (array[known] for array in slivers)
        level = self._level(self.amount[target])
        exact = np.where(larger, other + self.amount[target], other - self.amount[target])
        keyed_up = (self.sign[target] > 0) == larger
        moved = cells.reference[cell] - exact
        up = np.where(np.abs(moved) >= level, moved > 0, keyed_up)
        np.maximum.at(low, cell[up], (exact + level)[up])
        np.minimum.at(high, cell[~up], (exact - level)[~up])
        clash = low > high
        return Fences(np.where(clash, -NO_LIMIT, low), np.where(clash, NO_LIMIT, high))

    def not_apart(self, slivers: Slivers, released: IntArray) -> int:
        """How many differences of these numbers are nearer to the truth than a fence would let them be."""
        known = np.flatnonzero(slivers.target >= 0)
        cell, other, larger, target, _ = (array[known] for array in slivers)
        difference = np.where(larger, released[cell] - other, other - released[cell])
        return int((np.abs(difference - self.amount[target]) < self._level(self.amount[target])).sum())

    def _level(self, amount: IntArray) -> IntArray:
        """How far a difference stays away from an amount."""
        return share(amount, Fraction(str(self.least)) / 100)

    def _add_targets(self, low: AnyArray, high: AnyArray) -> None:
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self._index()

    def _index(self) -> None:
        order = np.argsort(self.low, kind="stable")
        self._sorted_low, self._sorted_high = self.low[order], self.high[order]
        self._sorted_target = np.where(order < self.amount.size, order, -1)
        self._filter[(self.low & np.uint64((1 << TUNING.filter_bits) - 1)).astype(np.int64)] = True


def _respondents(block: MeasureBlock, records: int) -> tuple[IntArray, IntArray, AnyArray, AnyArray]:
    """Amount, direction and print of every record, and of every holding that has a few of them."""
    size = np.diff(block.start)
    holding = np.repeat(np.arange(size.size), size)
    several = np.flatnonzero((size > 1) & (size <= records))
    low, high, amount = [block.low], [block.high], [block.value]
    for owner in several.tolist():
        rows = slice(block.start[owner], block.start[owner + 1])
        total = sum((int(h) << 64) + int(lo) for lo, h in zip(block.low[rows], block.high[rows], strict=True)) % (1 << 128)
        low.append(np.array([total & (2**64 - 1)], dtype=np.uint64))
        high.append(np.array([total >> 64], dtype=np.uint64))
        amount.append(np.array([block.value[rows].sum()]))
    sign = np.concatenate([block.sign[holding], block.sign[several]])
    return np.concatenate(amount), sign, np.concatenate(low), np.concatenate(high)


@numba.njit(cache=True, nogil=True)
def _pairs(low, high, records, near, seen, small, targets, most):  # type: ignore[no-untyped-def]
    """Rows (new cell, published cell, 1 if the new one is larger, target), for differences that are some target's print.

    Only the published cells from the first to the last of `near` are near each new one; `small` dismisses most pairs by their last
    bits. It ends at `most` rows.
    """
    target_low, target_high = targets
    first, last = near
    found = np.empty((1024, 4), np.int64)
    count = 0
    mask = np.uint64(small.size - 1)
    for i in range(low.size):
        for j in range(first[i], last[i]):
            if count >= most:
                return found[:count]
            if seen.records[j] == records[i]:
                continue
            larger = records[i] > seen.records[j]
            difference = low[i] - seen.low[j] if larger else seen.low[j] - low[i]
            if not small[difference & mask]:
                continue
            place = np.searchsorted(target_low, difference)
            if place == target_low.size or target_low[place] != difference:
                continue
            if larger:
                upper = high[i] - seen.high[j] - np.uint64(1 if low[i] < seen.low[j] else 0)
            else:
                upper = seen.high[j] - high[i] - np.uint64(1 if seen.low[j] < low[i] else 0)
            if upper != target_high[place]:
                continue
            if count == found.shape[0]:
                found = np.concatenate((found, np.empty_like(found)))
            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = i, j, 1 if larger else 0, place
            count += 1
    return found[:count]


def nested_pairs(view: View, records: IntArray, wanted: BoolArray, *, reach: int) -> tuple[IntArray, IntArray]:
    """Smaller and larger cells, both wanted, that differ by up to `reach` records, each pair once; all nested pairs are among them.

    Where one cell holds the other, the codes of both share leaves on every axis. Where the larger cell's code lies inside the smaller
    one's, the smaller cell also stands at that code, for no record of it is elsewhere. So codes that do not lie inside are enough.
    """
    grid = Grid(dimensions=view.dimensions)
    cell_at = np.full(int(np.prod(grid.shape)), -1, dtype=np.int64)
    cell_at[grid.keys(view.coordinates)] = view.cell
    kept = wanted[view.cell]
    coordinates, cell = view.coordinates[kept], view.cell[kept]
    others = [list(_not_inside(dimension)[:, coordinates[:, axis]]) for axis, dimension in enumerate(view.dimensions)]
    found = [np.zeros((0, 2), dtype=np.int64)]
    for chosen in product(*others):
        there = np.logical_and.reduce([codes >= 0 for codes in chosen])
        keys = sum(
            (codes[there] * stride for codes, stride in zip(chosen, grid.strides, strict=True)), np.zeros(int(there.sum()), np.int64)
        )
        larger, smaller = cell_at[keys], cell[there]
        more = np.where(larger >= 0, records[larger] - records[smaller], 0)
        near = (more > 0) & (more <= reach) & wanted[larger]
        found.append(np.stack([smaller[near], larger[near]], axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _not_inside(dimension: Dimension) -> IntArray:
    """Column by code, the codes that share leaves with it and do not lie inside it, itself among them; -1 where there are no more."""
    size = len(dimension.codes)
    leaves = np.array([dimension.position[code] for code in dimension.trees[0].leaves], dtype=np.int64)
    levels = [level[leaves] for level in ancestor_levels(dimension)]
    shared: list[IntArray] = [(one * size + other)[(one >= 0) & (other >= 0)] for one, other in product(levels, levels)]
    pairs, count = np.unique(np.concatenate(shared), return_counts=True)
    code, other = pairs // size, pairs % size
    leaves_of = np.zeros(size, dtype=np.int64)
    leaves_of[code[code == other]] = count[code == other]
    kept = (count < leaves_of[other]) | (leaves_of[other] == leaves_of[code])
    code, other = code[kept], other[kept]
    rank = np.arange(code.size) - np.searchsorted(code, code)
    found = np.full((int(rank.max(initial=0)) + 1, size), -1, dtype=np.int64)
    found[rank, code] = other
    return found


@dataclass(frozen=True, kw_only=True)
class PublishedPopulation:
    """The codes of a population, by dimension, and the other dimensions of its table."""

    codes: Mapping[str, tuple[str, ...]]
    shown: frozenset[str]

    @classmethod
    def of(cls, layout: Layout) -> PublishedPopulation:
        codes = layout.populations
        return cls(codes=codes, shown=frozenset(each.id for each in layout.dimensions if each.id not in codes))


def fact_name(key: SecretKey, block: MeasureBlock) -> str:
    """Where the store keeps the populations of a measure."""
    return "populations " + key.digest("populations", block.space, size=16).hex()


def read_populations(fact: str | None) -> list[PublishedPopulation]:
    return [
        PublishedPopulation(codes={name: tuple(codes) for name, codes in each["codes"].items()}, shown=frozenset(each["shown"]))
        for each in json.loads(fact or "[]")
    ]


def write_populations(found: Sequence[PublishedPopulation]) -> str:
    return json.dumps([{"codes": dict(each.codes), "shown": sorted(each.shown)} for each in found], sort_keys=True)


def sensitive_sliver(data: ServedData, block: MeasureBlock, layout: Layout, published: Sequence[PublishedPopulation]) -> bool:
    """Whether some published population and this one are nested, and what lies between them has a sensitive cell in both tables."""
    inside = _records(data, block, layout.populations)
    for other in published:
        theirs = _records(data, block, other.codes)
        sliver = inside ^ theirs
        nested = not (inside & ~theirs).any() or not (theirs & ~inside).any()
        if nested and sliver.any() and _is_sensitive(data, _only(block, sliver), layout, other.shown):
            return True
    return False


def _records(data: ServedData, block: MeasureBlock, codes: Mapping[str, tuple[str, ...]]) -> BoolArray:
    """The records of a population."""
    found = np.ones(block.value.size, dtype=np.bool_)
    for axis, dimension in enumerate(data.dimensions):
        if dimension.id in codes:
            members = frozenset[str]().union(*(dimension.members[code] for code in codes[dimension.id]))
            found &= np.array([leaf in members for leaf in dimension.full.trees[0].leaves])[block.leaf[axis]]
    return found


def _only(block: MeasureBlock, kept: BoolArray) -> MeasureBlock:
    """The block with these records alone."""
    size = np.add.reduceat(kept.astype(np.int64), block.start[:-1])
    owners = size > 0
    records: dict[str, Any] = {name: frozen_array(getattr(block, name)[kept]) for name in ("value", "reference", "low", "high")}
    holdings: dict[str, Any] = {name: frozen_array(getattr(block, name)[owners]) for name in ("floor", "sign", "tie")}
    start = frozen_array(np.concatenate([[0], np.cumsum(size[owners])]).astype(np.int64))
    return replace(block, **records, **holdings, start=start, leaf=frozen_array(block.leaf[:, kept]))


def _is_sensitive(data: ServedData, block: MeasureBlock, layout: Layout, common: frozenset[str]) -> bool:
    """Whether the records have a sensitive cell by the dimensions that both tables show; the totals of the others."""
    ids = [each.id for each in data.dimensions]
    kept = [place for place, each in enumerate(layout.dimensions) if each.id not in layout.populations]
    plain = replace(
        layout, dimensions=tuple(layout.dimensions[place] for place in kept), levels=tuple(layout.levels[place] for place in kept)
    )
    grid = Grid(dimensions=plain.cuts)
    sums, _, _ = add_up(block, plain, [ids.index(each.id) for each in plain.dimensions], grid)
    filled = np.flatnonzero(sums.records)
    coordinates = grid.coordinates(filled)
    for axis, dimension in enumerate(plain.dimensions):
        if dimension.id not in common:
            at_total = coordinates[:, axis] == plain.cuts[axis].position[plain.cuts[axis].total]
            filled, coordinates = filled[at_total], coordinates[at_total]
    return bool(assess(rules_table(block, sums, filled), block.rules).sensitive.any())
