"""The differencing guard: pairs of published cells that differ by one respondent (docs/threats.md, section 7; T07).

The difference of two prints is the print of the records that only one of the sets has. If that is the print of one record, of one
holding or of a sensitive cell, subtracting the two published numbers gives an estimate of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.risk.rules.exact import share
from statveil.server.engine.dataset import MeasureBlock
from statveil.server.engine.identity import among, subtract
from statveil.server.engine.protection.nested import nested_pairs
from statveil.server.engine.protection.stage_one import CellTable
from statveil.server.engine.protection.stage_two import Fences
from statveil.server.store.protocol import SeenCell

_FILTER_BITS = 23
"""A bit per possible difference, by its last bits: most pairs are dismissed by one look at a small table."""
_MOST = 1_000_000


class Slivers(NamedTuple):
    """Pairs found: the new cell, the published number of the other one, whether the new one is the larger set, and the respondent.

    `target` is the number of a record or holding in `Guard.amount`, or -1 for a sensitive cell that was published itself.
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


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """Published cells that are not sensitive, by ascending number of records."""

    records: IntArray
    value: IntArray
    low: AnyArray
    high: AnyArray


class Guard:
    """What was published of one measure, and the respondents whose prints a difference may be."""

    def __init__(self, block: MeasureBlock, *, records: int, least: float) -> None:
        self.block, self.reach, self.least = block, records, least
        self.last = 0
        nothing = np.zeros(0, dtype=np.int64)
        self._seen = _Seen(records=nothing, value=nothing, low=nothing.astype(np.uint64), high=nothing.astype(np.uint64))
        self.amount, self.sign, self.low, self.high = _respondents(block, records)
        self._filter = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
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
        merged = {
            "records": np.concatenate([self._seen.records, records[safe]]),
            "value": np.concatenate([self._seen.value, value[safe]]),
            "low": np.concatenate([self._seen.low, prints[safe, 0]]),
            "high": np.concatenate([self._seen.high, prints[safe, 1]]),
        }
        order = np.argsort(merged["records"], kind="stable")
        self._seen = _Seen(**{name: array[order] for name, array in merged.items()})

    def find(self, cells: CellTable, new: BoolArray) -> Slivers:
        """Pairs of a new cell that is not sensitive with a published one."""
        asked = np.flatnonzero(new & ~cells.sensitivity.sensitive)
        records = cells.table.records[asked]
        seen = self._seen
        first = np.searchsorted(seen.records, records - self.reach)
        last = np.searchsorted(seen.records, records + self.reach, side="right")
        found = _pairs(
            cells.low[asked], cells.high[asked], records, first, last, seen.low, seen.high, seen.records, self._filter, self._sorted_low,
            self._sorted_high,
        )  # fmt: skip
        other, target = found[:, 1], found[:, 3]
        order = np.argsort(cells.low, kind="stable")
        here = cells.low[order], cells.high[order]
        inside = among(*here, seen.low[other], seen.high[other]) & among(*here, self._sorted_low[target], self._sorted_high[target])
        return Slivers(asked[found[:, 0]], seen.value[other], found[:, 2] == 1, self._sorted_target[target], inside)

    def within(self, cells: CellTable, new: BoolArray) -> int:
        """Pairs of two new cells of the same table. Sums hold in it, so that their difference is a cell of it, protected as such."""
        small, large = nested_pairs(cells.view, cells.table.records, new & ~cells.sensitivity.sensitive, reach=self.reach)
        difference = subtract(cells.low[large], cells.high[large], cells.low[small], cells.high[small])
        return int(among(self._sorted_low, self._sorted_high, *difference).sum())

    def fences(self, cells: CellTable, slivers: Slivers) -> Fences:
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
        self._filter[(self.low & np.uint64((1 << _FILTER_BITS) - 1)).astype(np.int64)] = True


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
def _pairs(low, high, records, first, last, seen_low, seen_high, seen_records, small, target_low, target_high):  # type: ignore[no-untyped-def]
    """Rows (new cell, published cell, 1 if the new one is larger, target), for differences that are some target's print."""
    found = np.empty((1024, 4), np.int64)
    count = 0
    mask = np.uint64(small.size - 1)
    for i in range(low.size):
        for j in range(first[i], last[i]):
            if seen_records[j] == records[i] or count >= _MOST:
                continue
            larger = records[i] > seen_records[j]
            difference = low[i] - seen_low[j] if larger else seen_low[j] - low[i]
            if not small[difference & mask]:
                continue
            place = np.searchsorted(target_low, difference)
            if place == target_low.size or target_low[place] != difference:
                continue
            if larger:
                upper = high[i] - seen_high[j] - np.uint64(1 if low[i] < seen_low[j] else 0)
            else:
                upper = seen_high[j] - high[i] - np.uint64(1 if seen_low[j] < low[i] else 0)
            if upper != target_high[place]:
                continue
            if count == found.shape[0]:
                found = np.concatenate((found, np.empty_like(found)))
            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = i, j, 1 if larger else 0, place
            count += 1
    return found[:count]
