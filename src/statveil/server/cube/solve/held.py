"""Public totals in whole numbers: moves of one or two leaf cells that bring them nearer, or mend a sensitive row and leave them alone.

Leaf cells that lie in the same public totals are a group. What one of a group gains and another one loses, no public total notices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.compiled_random import STEP, mixed
from statveil.server.cube.lattice import Members


class HeldTuning(NamedTuple):
    """By judgement."""

    rounds: int = 20
    shakes: int = 200
    """How often, where no move helps, some that do no harm are made."""
    partners: int = 60
    """Leaf cells of a group that are tried,"""
    own: int = 12
    """and leaf cells of a row."""


TUNING = HeldTuning()
NO_LIMIT = 2**62


class Held(NamedTuple):
    """`rows`: those that are public, `most`: how far off each may be. `number`: of each leaf cell's group (0: in no public total),
    `leaves`: of each group, the cheapest first; `within`: the public totals of each group, as places in `rows`."""

    rows: IntArray
    most: IntArray
    number: IntArray
    leaves: Members
    within: Members


class Moving(NamedTuple):
    """By row where it stands, its sense and its floor; by leaf cell its change and the least and the greatest one."""

    rows_of: Members
    moved: IntArray
    sense: IntArray
    floor: IntArray
    change: IntArray
    low: IntArray
    high: IntArray


def held_of(rows_of: Members, most: IntArray, limit: int, cost: AnyArray) -> Held:
    """The public totals and the groups that they make; `limit` marks rows that are not public."""
    rows = np.flatnonzero(most < limit)
    place = np.full(most.size, -1, np.int64)
    place[rows] = np.arange(rows.size)
    leaf = np.repeat(np.arange(rows_of.start.size - 1), np.diff(rows_of.start))
    of_entry = place[rows_of.item]
    kept = of_entry >= 0
    marks = np.zeros((rows_of.start.size - 1, -(-max(rows.size, 1) // 62)), np.int64)
    np.bitwise_or.at(marks, (leaf[kept], of_entry[kept] // 62), np.int64(1) << (of_entry[kept] % 62))
    every = np.concatenate([np.zeros((1, marks.shape[1]), np.int64), marks])
    signature, number = np.unique(every, axis=0, return_inverse=True)
    number = number.reshape(-1)[1:]
    order = np.lexsort((cost, number))
    leaves = Members(np.searchsorted(number[order], np.arange(signature.shape[0] + 1)).astype(np.int64), order.astype(np.int32))
    inside = [
        np.flatnonzero([signature[group, at // 62] >> (at % 62) & 1 for at in range(rows.size)]) for group in range(signature.shape[0])
    ]
    start = np.append(0, np.cumsum([each.size for each in inside])).astype(np.int64)
    within = Members(start, np.concatenate([np.zeros(0, np.int64), *inside]).astype(np.int32))
    return Held(rows, most[rows], number.astype(np.int64), leaves, within)


def hold(held: Held, moving: Moving, inside: Members, cost: AnyArray) -> bool:
    """Bring public totals within their distances and short rows to their floors; whether all are. No row that is well is given up."""
    shakes = 0
    for turn in range(TUNING.rounds + TUNING.shakes):
        nearer = _nearer(held, moving, TUNING.partners, np.uint64(0))
        mended, short = _mend_in_pairs(held, moving, inside, cost, TUNING)
        off = bool((np.abs(moving.moved[held.rows]) > held.most).any())
        if not off and not short:
            return True
        if not nearer and not mended:
            shakes += 1
            if not off or shakes > TUNING.shakes or not _nearer(held, moving, TUNING.partners, np.uint64(turn + 1)):
                break
    return False


@numba.njit(cache=True, nogil=True)
def _room(moving, leaf, direction, but):  # type: ignore[no-untyped-def]
    """How far a leaf cell can go before it is at its end, or a sensitive row that is well is not any more; `but` one leaf cell's rows,
    which move the other way."""
    start, item = moving.rows_of
    room: Any = moving.high[leaf] - moving.change[leaf] if direction > 0 else moving.change[leaf] - moving.low[leaf]
    other, end = (start[but], start[but + 1]) if but >= 0 else (0, 0)
    for at in range(start[leaf], start[leaf + 1]):
        row = item[at]
        while other < end and item[other] < row:
            other += 1
        if moving.sense[row] == -direction and not (other < end and item[other] == row):
            room = min(room, max(-direction * moving.moved[row] - moving.floor[row], 0))
        if room <= 0:
            return np.int64(0)
    return room


@numba.njit(cache=True, nogil=True)
def _add(moving, leaf, amount):  # type: ignore[no-untyped-def]
    """Move a leaf by an amount, and every row that it is in."""
    moving.change[leaf] += amount
    for at in range(moving.rows_of.start[leaf], moving.rows_of.start[leaf + 1]):
        moving.moved[moving.rows_of.item[at]] += amount


@numba.njit(cache=True, nogil=True)
def _worse(held, moved, one, step, other):  # type: ignore[no-untyped-def]
    """How much further off the public totals are when group `one` moves by `step`, and `other` by as much the other way."""
    found, start, item = np.int64(0), held.within.start, held.within.item
    at, end, back, last = start[one], start[one + 1], start[other], start[other + 1]
    while at < end or back < last:
        first = item[at] if at < end else np.int32(2**31 - 1)
        second = item[back] if back < last else np.int32(2**31 - 1)
        at, back = at + (first <= second), back + (second <= first)
        if first == second:
            continue
        place = min(first, second)
        now, by = moved[held.rows[place]], step if first < second else -step
        found += max(abs(now + by) - held.most[place], 0) - max(abs(now) - held.most[place], 0)
    return found


@numba.njit(cache=True, nogil=True)
def _with_room(held, moving, group, direction, wanted, but, partners):  # type: ignore[no-untyped-def]
    """The first leaf cell of a group that can go so far, else the one that can go furthest, and how far."""
    best, most = -1, np.int64(0)
    end = min(held.leaves.start[group + 1], held.leaves.start[group] + partners)
    for at in range(held.leaves.start[group], end):
        leaf = held.leaves.item[at]
        room = _room(moving, leaf, direction, but) if leaf != but else np.int64(0)
        if room > most:
            best, most = leaf, room
        if most >= wanted:
            break
    return best, min(most, wanted)


@numba.njit(cache=True, nogil=True)
def _nearer(held, moving, partners, shake):  # type: ignore[no-untyped-def]
    """One pass over the public totals that are too far off: a leaf cell of one group moves, one of another group (0: none) goes back.
    With `shake`, some moves are made that bring none nearer and none further in sum."""
    count = 0
    for place in range(held.rows.size):
        for one in range(1, held.leaves.start.size - 1):
            inside = held.within.item[held.within.start[one] : held.within.start[one + 1]]
            if not (inside == place).any():
                continue
            for other in range(held.leaves.start.size - 1):
                moved = moving.moved[held.rows[place]]
                excess = abs(moved) - held.most[place]
                if excess <= 0:
                    break
                direction = -1 if moved > 0 else 1
                wanted, worst = excess, 0
                if shake > 0 and mixed(shake * STEP + np.uint64(one * 65536 + other)) % np.uint64(16) == 0:
                    worst = 1
                while wanted > 0 and _worse(held, moving.moved, one, direction * wanted, other) >= worst:
                    wanted //= 2
                if wanted > 0 and other != one:
                    count += _moved_by(held, moving, one, other, direction, wanted, worst, partners)
    return count


@numba.njit(cache=True, nogil=True)
def _moved_by(held, moving, one, other, direction, wanted, worst, partners):  # type: ignore[no-untyped-def]
    """Move a leaf cell of one group, and one of another back unless that is group 0; whether that could be."""
    leaf, amount = _with_room(held, moving, one, direction, wanted, -1, partners)
    back = -1
    if amount > 0 and other > 0:
        back, amount = _with_room(held, moving, other, -direction, amount, leaf, partners)
    if amount <= 0 or _worse(held, moving.moved, one, direction * amount, other) >= worst:
        return 0
    _add(moving, leaf, direction * amount)
    if back >= 0:
        _add(moving, back, -direction * amount)
    return 1


@numba.njit(cache=True, nogil=True)
def _mend_in_pairs(held, moving, inside, cost, tuning):  # type: ignore[no-untyped-def]
    """One pass over the rows that are short: a leaf cell of theirs moves, one outside of the same group goes back. Tells how many moved
    and how many rows are short still."""
    count, short = 0, 0
    for row in range(moving.sense.size):
        direction = moving.sense[row]
        missing = moving.floor[row] - direction * moving.moved[row]
        if direction == 0 or missing <= 0:
            continue
        own = inside.item[inside.start[row] : inside.start[row + 1]]
        for place in np.argsort(cost[own], kind="mergesort")[: tuning.own]:
            leaf = own[place]
            group = held.number[leaf]
            room = min(missing, _room(moving, leaf, direction, -1))
            if room > 0 and group > 0:
                room = _paired(held, moving, row, leaf, group, direction, room, tuning.partners)
            elif room > 0:
                _add(moving, leaf, direction * room)
            count += room > 0
            missing -= room
            if missing <= 0:
                break
        short += missing > 0
    return count, short


@numba.njit(cache=True, nogil=True)
def _paired(held, moving, row, leaf, group, direction, wanted, partners):  # type: ignore[no-untyped-def]
    """Move a leaf cell, and others of its group that are not in the row back, the cheapest and some of the rest; tells how far."""
    done, start, item = np.int64(0), moving.rows_of.start, moving.rows_of.item
    first, size = held.leaves.start[group], held.leaves.start[group + 1] - held.leaves.start[group]
    for turn in range(min(size, partners)):
        place = turn if 2 * turn < partners else (turn + 7919 * row) % size
        other = held.leaves.item[first + place]
        rows = item[start[other] : start[other + 1]]
        at = np.searchsorted(rows, row)
        if other == leaf or (at < rows.size and rows[at] == row):
            continue
        amount = min(wanted - done, _room(moving, other, -direction, leaf), _room(moving, leaf, direction, other))
        if amount > 0:
            _add(moving, leaf, direction * amount)
            _add(moving, other, -direction * amount)
            done += amount
        if done >= wanted:
            break
    return done
