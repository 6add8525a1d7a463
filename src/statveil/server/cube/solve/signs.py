"""The direction of every holding: stored ones stay, others are searched so that changes cancel where rows are safe.

A sensitive leaf cell goes the way of its leader, wherever the leader leads: else what it has in several cells would be told by their sum.
Searched signs make close rivals go opposite ways more often than chance, and each of them knows its own way. Pairs of rivals therefore
have a price of their own, set so that opposite ways stay hardly likelier than a coin shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, mixed
from statveil.server.cube.floors import Floors
from statveil.server.cube.lattice import Lattice, Members


class SignTuning(NamedTuple):
    """benchmarks/RESULTS.md, the cube."""

    sweeps: tuple[int, int] = (60, 1000)
    """So many at least and at most;"""
    visits: float = 3e8
    """between them, as many as turn rows about so often."""
    hottest: tuple[float, float] = (0.5, 5.0)
    """Where all leaf cells are shown, and where the depth ends above them;"""
    coldest: float = 0.003
    short: tuple[float, float] = (4.0, 30.0)
    """likewise what a sensitive row costs that is short of its floor, relative to its size: above leaf cells none is met by itself."""
    sensitive_weight: float = 0.02
    """A sensitive row's own error counts so much less."""
    opposite: float = 0.55
    """The share of rivals in opposite directions that the price of pairs aims at."""
    close: float = 0.25
    """Rivals have a price if the smaller moves at least so much of what the larger does."""
    price: float = 0.05
    """The first price of a pair in opposite directions."""
    follow: float = 4.0
    """How quickly the price follows the share."""


TUNING = SignTuning()


class Movers(NamedTuple):
    """By leaf cell: the holding whose way it goes (-1: none), how far up or down, and where it stands if it goes nobody's way."""

    leader: IntArray
    up: FloatArray
    down: FloatArray
    rest: FloatArray

    def changes(self, signs: IntArray) -> FloatArray:
        """Where the leaf cells stand by these signs of holdings."""
        sign = signs[self.leader] if signs.size else np.zeros(0, np.int64)
        return np.where(self.leader < 0, self.rest, np.where(sign > 0, self.up, -self.down))


class SignMeasure(NamedTuple):
    """One measure in the search. `stored`: senses of rows; `number`: of each of its holdings among those of all measures."""

    lattice: Lattice
    floors: Floors
    movers: Movers
    stored: IntArray
    number: IntArray


class SignLeaves(NamedTuple):
    """By leaf cell: how far it goes up and down. By holding: the leaf cells that it leads, and its rivals; `large`: pairs of large ones."""

    rows_of: Members
    up: FloatArray
    down: FloatArray
    led: Members
    rivals: Members
    large: AnyArray


class SignRows(NamedTuple):
    """By row: what its error costs, the floors of a sensitive one, what it costs to be short of them, each for a unit;
    the sense that it was published in before (0: none); where it stands."""

    cost: FloatArray
    up: FloatArray
    down: FloatArray
    short: FloatArray
    stored: IntArray
    moved: FloatArray


def search_signs(measures: Sequence[SignMeasure], signs: IntArray, fixed: BoolArray, seed: int) -> IntArray:
    """The signs of all holdings after the search: one sign for all measures, for a ratio of two that go opposite ways tells both."""
    signs = signs.copy()
    leader = np.concatenate([np.where(each.movers.leader < 0, -1, each.number[each.movers.leader]) for each in measures])
    leaves = SignLeaves(
        _one_after_the_other([each.lattice.rows_of for each in measures], [each.lattice.rows for each in measures]),
        np.concatenate([each.movers.up for each in measures]),
        np.concatenate([each.movers.down for each in measures]),
        by_holding(leader, signs.size),
        *_paired(np.concatenate([_rivals(each) for each in measures]), signs.size),
    )
    rows = SignRows(*(np.concatenate(column) for column in zip(*(_rows(each, signs) for each in measures), strict=True)))
    free = np.flatnonzero(~fixed & (np.diff(leaves.led.start) > 0))
    entries = max(leaves.rows_of.item.size, 1)
    sweeps = int(np.clip(TUNING.visits / entries, *TUNING.sweeps))
    hottest = TUNING.hottest[any(each.lattice.coarse for each in measures)]
    heats = hottest * (TUNING.coldest / hottest) ** (np.arange(sweeps) / max(sweeps - 1, 1))
    _anneal(leaves, rows, signs, free, TUNING, heats, np.uint64(seed), EXPONENTIAL)
    return signs


def _rows(measure: SignMeasure, signs: IntArray) -> SignRows:
    lattice, floors = measure.lattice, measure.floors
    scale = np.maximum(lattice.magnitude, 1).astype(np.float64)
    weight = lattice.weight * np.where(lattice.sensitive, TUNING.sensitive_weight, 1.0)
    short = np.where(lattice.sensitive, TUNING.short[lattice.coarse], 0.0) / scale
    moved = lattice.sums(measure.movers.changes(signs[measure.number]))
    return SignRows(weight / scale, floors.up.astype(np.float64), floors.down.astype(np.float64), short, measure.stored, moved)


def _one_after_the_other(parts: Sequence[Members], rows: Sequence[int]) -> Members:
    """The relations of several measures as one: their leaf cells and their rows numbered on."""
    starts, items, before, entries = [np.zeros(1, np.int64)], [], 0, 0
    for part, size in zip(parts, rows, strict=True):
        starts.append(part.start[1:] + entries)
        items.append(part.item + np.int32(before))
        before, entries = before + size, entries + part.item.size
    return Members(np.concatenate(starts), np.concatenate(items))


@numba.njit(cache=True, nogil=True, inline="always")
def _row_cost(rows, row, moved):  # type: ignore[no-untyped-def]
    """What a row costs where it has moved so far: its change, and what is lacking to its floor in its sense."""
    if rows.stored[row] >= 0 and (moved > 0 or rows.stored[row] > 0):
        return rows.cost[row] * abs(moved) + rows.short[row] * max(rows.up[row] - moved, 0.0)
    return rows.cost[row] * abs(moved) + rows.short[row] * max(rows.down[row] + moved, 0.0)


@numba.njit(cache=True, nogil=True)
def _turn(leaves, rows, holding, sign):  # type: ignore[no-untyped-def]
    """Let a holding's leaf cells go the other way, from `sign`; tells what that costs."""
    cost, rows_of = 0.0, leaves.rows_of
    for place in range(leaves.led.start[holding], leaves.led.start[holding + 1]):
        leaf = leaves.led.item[place]
        step = -sign * (leaves.up[leaf] + leaves.down[leaf])
        for at in range(rows_of.start[leaf], rows_of.start[leaf + 1]):
            row = rows_of.item[at]
            before = _row_cost(rows, row, rows.moved[row])
            rows.moved[row] += step
            cost += _row_cost(rows, row, rows.moved[row]) - before
    return cost


@numba.njit(cache=True, nogil=True)
def _opposite(leaves, price, signs, holding):  # type: ignore[no-untyped-def]
    """What it is worth that rivals go the other way, less those that go the same."""
    found = 0.0
    for at in range(leaves.rivals.start[holding], leaves.rivals.start[holding + 1]):
        found -= price[leaves.large[at]] * signs[leaves.rivals.item[at]] * signs[holding]
    return found


@numba.njit(cache=True, nogil=True)
def _follow(leaves, price, signs, tuning):  # type: ignore[no-untyped-def]
    """Raise the prices of pairs, large and other ones, that go opposite ways too often; lower them if too seldom."""
    pairs, opposite = np.zeros(2), np.zeros(2)
    for holding in range(signs.size):
        for at in range(leaves.rivals.start[holding], leaves.rivals.start[holding + 1]):
            pairs[leaves.large[at]] += 1
            opposite[leaves.large[at]] += signs[holding] != signs[leaves.rivals.item[at]]
    for kind in range(2):
        if pairs[kind] > 0:
            price[kind] *= np.exp(tuning.follow * (opposite[kind] / pairs[kind] - tuning.opposite))


@numba.njit(cache=True, nogil=True)
def _anneal(leaves, rows, signs, free, tuning, heats, seed, exponential):  # type: ignore[no-untyped-def]
    """Sweeps over the holdings that lead, ever colder; the price of opposite rivals follows their share."""
    counter, price = seed, np.full(2, tuning.price)
    for heat in heats:
        for holding in free:
            counter += STEP
            lot = exponential[np.int64(mixed(counter) >> np.uint64(40)) % CHANCES]
            sign = signs[holding]
            cost = _turn(leaves, rows, holding, sign) - _opposite(leaves, price, signs, holding)
            if cost <= heat * lot:
                signs[holding] = -sign
            else:
                _turn(leaves, rows, holding, -sign)
        _follow(leaves, price, signs, tuning)


def rivals_in(lattice: Lattice, leader: IntArray, size: FloatArray, rows: BoolArray, close: float) -> tuple[IntArray, IntArray]:
    """Pairs of leaf cells of which the one's leader may guess the other's direction: the two largest movers of each of these rows.

    The second is at least `close` times the first. In sensitive rows two close ones must go the same way, or their sum would be told.
    """
    first, second = _two_largest(lattice.leaves_of.start, lattice.leaves_of.item, leader, size, close)
    found = np.flatnonzero((second >= 0) & (first >= 0) & rows)
    pairs = np.stack([np.minimum(first[found], second[found]), np.maximum(first[found], second[found])], axis=1)
    pairs = np.unique(pairs, axis=0) if found.size else pairs
    return pairs[:, 0], pairs[:, 1]


def _rivals(measure: SignMeasure) -> IntArray:
    """The same as pairs of holdings, with 1 for the largest tenth of them: those are betted on first."""
    movers = measure.movers
    one, other = rivals_in(measure.lattice, movers.leader, movers.up, ~measure.lattice.sensitive, TUNING.close)
    size = np.minimum(movers.up[one], movers.up[other])
    large = size >= np.quantile(size, 0.9) if size.size else np.zeros(0, np.bool_)
    return np.stack([measure.number[movers.leader[one]], measure.number[movers.leader[other]], large], axis=1).astype(np.int64)


def _paired(pairs: IntArray, holdings: int) -> tuple[Members, AnyArray]:
    both = np.unique(np.concatenate([pairs, pairs[:, [1, 0, 2]]]), axis=0)
    rivals = Members(np.searchsorted(both[:, 0], np.arange(holdings + 1)).astype(np.int64), both[:, 1].astype(np.int32))
    return rivals, both[:, 2].astype(np.int8)


@numba.njit(cache=True, nogil=True)
def _two_largest(start, item, leader, size, close):  # type: ignore[no-untyped-def]
    """Per row, the two leaf cells of the largest changes that different holdings lead; -1 where the second is not close."""
    rows = start.size - 1
    first, second = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
    for row in range(rows):
        one, other = -1, -1
        for at in range(start[row], start[row + 1]):
            leaf = item[at]
            if leader[leaf] < 0:
                continue
            if one < 0 or size[leaf] > size[one]:
                if one >= 0 and leader[one] != leader[leaf]:
                    other = one
                one = leaf
            elif leader[leaf] != leader[one] and (other < 0 or size[leaf] > size[other]):
                other = leaf
        if other >= 0 and leader[other] != leader[one] and size[other] >= close * size[one]:
            first[row], second[row] = one, other
    return first, second


def by_holding(leader: AnyArray, holdings: int) -> Members:
    """The leaf cells that each holding leads (`leader`: -1 for none)."""
    order = np.argsort(leader, kind="stable")
    order = order[leader[order] >= 0]
    return Members(np.searchsorted(leader[order], np.arange(holdings + 1)).astype(np.int64), order.astype(np.int32))
