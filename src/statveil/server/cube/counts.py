"""The cube of counts: no number between zero and the smallest one published, sums that stay near the truth (T24).

A small leaf cell becomes zero or the smallest count, drawn so that it is right on average; larger ones may move by one. Then they are
searched, so that all sums stay within a few of the truth. A row of at least the smallest count is never released below it: a zero that
stands beside a measure is shown as "less than the smallest", and that is then true.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, mixed
from statveil.server.cube.lattice import Lattice, Members


class CountsTuning(NamedTuple):
    """benchmarks/RESULTS.md, the cube."""

    sweeps: tuple[int, int] = (30, 400)
    """So many at least and at most;"""
    visits: float = 2.5e8
    """between them, as many as look at rows about so often."""
    neighbours: int = 8
    """Neighbours that are tried to win back what a leaf cell's other number would cost,"""
    picks: int = 3
    """each from the smallest of so many rows."""
    hottest: float = 5.0
    coldest: float = 0.3
    within: int = 3
    steep: float = 1.0
    """What each unit of an error beyond `within` costs on top;"""
    beyond: float = 0.02
    """and how much more each further one, so that no total drifts."""
    short: float = 30.0
    """What each unit costs that a sensitive row is short of its level, or another below the smallest count,"""
    never: float = 1e6
    """and once none is any more;"""
    after: int = 30
    """sweeps that then take back what lifting cost the sums."""


TUNING = CountsTuning()


class CountRows(NamedTuple):
    """By row: its leaf cells, true count, level of sensitive ones (0: none), sense that was published before (0: none)."""

    leaves_of: Members
    value: IntArray
    level: IntArray
    stored: IntArray
    weight: FloatArray
    smallest: int


class _CountLeaves(NamedTuple):
    """By leaf cell: its rows, true and released count, the sense that is kept, the least above zero; and how far each row has moved."""

    rows_of: Members
    value: IntArray
    released: IntArray
    moved: IntArray
    kept: IntArray
    least: IntArray


def adjust_counts(lattice: Lattice, stored: IntArray, drawn: FloatArray, *, smallest: int, seed: int) -> IntArray:
    """The released counts of leaf cells. `drawn`: a keyed number from 0 to 1 for each; `stored`: senses by row that are kept."""
    value = lattice.leaf_value
    row, shown = np.maximum(lattice.leaf_row, 0), lattice.leaf_row >= 0
    small = shown & (value < smallest)
    kept = np.where(shown, stored[row], 0)
    up = np.where(kept != 0, kept > 0, drawn * smallest < value)
    released = np.where(small, np.where(up, smallest, 0), value)
    rows = CountRows(lattice.leaves_of, lattice.value, np.maximum(lattice.up, lattice.down), stored, np.ones(lattice.rows), smallest)
    moved = lattice.sums(released - value)
    leaves = _CountLeaves(lattice.rows_of, value, released, moved, kept, np.where(shown, smallest, 0))
    sweeps = int(np.clip(TUNING.visits / max(lattice.rows_of.item.size, 1), *TUNING.sweeps))
    heats = TUNING.hottest * (TUNING.coldest / TUNING.hottest) ** (np.arange(sweeps) / max(sweeps - 1, 1))
    _anneal(rows, leaves, TUNING, np.append(heats, 0.0), np.uint64(seed), EXPONENTIAL)
    _lift_all(rows, leaves)
    _anneal(rows, leaves, TUNING._replace(short=TUNING.never), np.zeros(TUNING.after), np.uint64(seed), EXPONENTIAL)
    _lift_all(rows, leaves)
    return released


def _lift_all(rows: CountRows, leaves: _CountLeaves) -> None:
    while _lift(rows, leaves):
        pass


@numba.njit(cache=True, nogil=True, inline="always")
def _too_small(rows, row, moved):  # type: ignore[no-untyped-def]
    """Whether a row would be told as a small count, or as none although it is not small."""
    told = rows.value[row] + moved
    return told < rows.smallest and (told > 0 or rows.value[row] >= rows.smallest)


@numba.njit(cache=True, nogil=True, inline="always")
def _cost(rows, tuning, row, moved):  # type: ignore[no-untyped-def]
    """What it costs that a row has moved so far: beyond its bound, short of its level, against its sign, or too small."""
    off = abs(moved)
    cost = off + tuning.beyond * off * off
    if off > tuning.within:
        cost += tuning.steep * (off - tuning.within)
    level = rows.level[row]
    if off < level:
        cost += tuning.short * (level - off)
    if rows.stored[row] * moved < 0:
        cost += tuning.short * off
    if _too_small(rows, row, moved):
        cost += tuning.short * (rows.smallest - rows.value[row] - moved)
    return cost * rows.weight[row]


@numba.njit(cache=True, nogil=True)
def _anneal(rows, leaves, tuning, heats, seed, exponential):  # type: ignore[no-untyped-def]
    """Sweeps over the leaf cells, each offered another number, ever colder; what it costs alone may be won back by a neighbour that goes
    the other way."""
    counter = seed
    for heat in heats:
        for leaf in range(leaves.value.size):
            counter += STEP
            chance = mixed(counter)
            step = _other(leaves, leaf, chance)
            if step == 0:
                continue
            room = heat * exponential[np.int64(chance >> np.uint64(32)) % CHANCES]
            cost = _move(rows, leaves, tuning, leaf, step)
            if cost > room and not _with_neighbour(rows, leaves, tuning, leaf, step, cost - room, chance):
                _move(rows, leaves, tuning, leaf, -step)


@numba.njit(cache=True, nogil=True, inline="always")
def _other(leaves, leaf, chance):  # type: ignore[no-untyped-def]
    """How far it is to another number of a leaf cell; zero if it keeps the one that it has."""
    value, released, least = leaves.value[leaf], leaves.released[leaf], leaves.least[leaf]
    if value < least:
        return (least if released == 0 else np.int64(0)) - released if leaves.kept[leaf] == 0 else np.int64(0)
    other = value + np.int64(chance % np.uint64(3)) - 1
    return other - released if other >= least else np.int64(0)


@numba.njit(cache=True, nogil=True)
def _move(rows, leaves, tuning, leaf, step):  # type: ignore[no-untyped-def]
    """Move a leaf cell, and tell what that costs its rows."""
    cost, moved, rows_of = 0.0, leaves.moved, leaves.rows_of
    leaves.released[leaf] += step
    for at in range(rows_of.start[leaf], rows_of.start[leaf + 1]):
        row = rows_of.item[at]
        before = moved[row]
        moved[row] = before + step
        cost += _cost(rows, tuning, row, before + step) - _cost(rows, tuning, row, before)
    return cost


@numba.njit(cache=True, nogil=True)
def _with_neighbour(rows, leaves, tuning, leaf, step, missing, chance):  # type: ignore[no-untyped-def]
    """Whether one of a few neighbours, going the other way, wins back what is missing; it is moved then. Of some rows that a leaf cell is
    in, the one of fewest leaf cells decides who is its neighbour."""
    rows_of, leaves_of = leaves.rows_of, rows.leaves_of
    width = np.uint64(rows_of.start[leaf + 1] - rows_of.start[leaf])
    for _ in range(tuning.neighbours):
        chance = mixed(chance + STEP)
        chosen, fewest = np.int64(0), np.int64(0)
        for pick in range(tuning.picks):
            row = rows_of.item[rows_of.start[leaf] + np.int64((chance >> np.uint64(8 * pick)) % width)]
            size = leaves_of.start[row + 1] - leaves_of.start[row]
            if size > 1 and (fewest == 0 or size < fewest):
                chosen, fewest = row, size
        if fewest == 0:
            continue
        lot = mixed(chance)
        other = leaves_of.item[leaves_of.start[chosen] + np.int64(lot % np.uint64(fewest))]
        back = _other(leaves, other, lot >> np.uint64(40)) if other != leaf else np.int64(0)
        if back * step >= 0:
            continue
        if _move(rows, leaves, tuning, other, back) <= -missing:
            return True
        _move(rows, leaves, tuning, other, -back)
    return False


@numba.njit(cache=True, nogil=True)
def _lift(rows, leaves):  # type: ignore[no-untyped-def]
    """One pass: what is short is lifted, by its largest leaf cell; nothing falls, so that it ends. Tells how many."""
    lifted, released, moved, rows_of, leaves_of = 0, leaves.released, leaves.moved, leaves.rows_of, rows.leaves_of
    for row in range(rows.value.size):
        level, sense = rows.level[row], rows.stored[row]
        short = abs(moved[row]) < level or (sense < 0 and moved[row] > 0 and moved[row] < 4 * level) or (sense > 0 and moved[row] < level)
        below = _too_small(rows, row, moved[row])
        if not short and not below:
            continue
        wanted = (4 if sense < 0 else 1) * level if short else np.int64(0)
        wanted = max(wanted, rows.smallest - rows.value[row]) if below else wanted
        best = -1
        for at in range(leaves_of.start[row], leaves_of.start[row + 1]):
            leaf = leaves_of.item[at]
            if best < 0 or released[leaf] > released[best]:
                best = leaf
        step = max(wanted - moved[row], leaves.least[best] - released[best])
        released[best] += step
        for at in range(rows_of.start[best], rows_of.start[best + 1]):
            moved[rows_of.item[at]] += step
        lifted += 1
    return lifted
