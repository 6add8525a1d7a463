"""Whole numbers that hold: rows that fall short of their floors are moved by the leaf cells that can, at the least cost.

Exact integers, and it always ends: what cannot be mended between the others is lifted. A lifted row only ever rises, and a falling row
that is lifted along turns once, so that there is an end; every row is then beyond its level.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.server.cube.lattice import Members
from statveil.server.cube.public import FREE
from statveil.server.cube.solve.held import Moving, held_of, hold


class RepairTuning(NamedTuple):
    rounds: int = 30
    """Passes over the short rows before others have to give way; by judgement."""
    pushes: int = 10
    """How often others have to, before rows are turned and lifted; by judgement."""


TUNING = RepairTuning()
NO_LIMIT = 2**62


class Wanted(NamedTuple):
    """By row: `sense` (0: not sensitive), how far `up` or `down` it must be, and the most that it may be off.

    `stored`: rows whose sense was published before. By leaf cell: the least change, the usual ones, and what a change costs for each unit.
    """

    sense: IntArray
    up: IntArray
    down: IntArray
    most: IntArray
    stored: BoolArray
    least: IntArray
    low: IntArray
    high: IntArray
    cost: FloatArray


def repair(rows_of: Members, leaves_of: Members, wanted: Wanted, change: IntArray) -> tuple[IntArray, IntArray]:
    """The changes of leaf cells after repair, and the senses of rows, which are the wanted ones but for those that had to be turned."""
    change, sense = change.copy(), wanted.sense.copy()
    np.maximum(change, wanted.least, out=change)
    moved = _sums(rows_of.start, rows_of.item, change, sense.size)
    floor = np.where(sense > 0, wanted.up, wanted.down)
    state = _State(rows_of.start, rows_of.item, leaves_of.start, leaves_of.item, change, moved, sense, floor)
    low, high = np.maximum(np.minimum(wanted.low, change), wanted.least), np.maximum(wanted.high, change)
    _mend_all(state, wanted, low, high)
    _turn(state, wanted, ~wanted.stored & (_to_other(state, wanted) < floor - sense * moved))
    _mend_all(state, wanted, low, high)
    _held(state, rows_of, leaves_of, wanted, change)
    for _ in range(TUNING.pushes):
        if not _push(state, wanted.least, wanted.cost):
            break
        _mend_all(state, wanted, wanted.least, np.full(high.size, NO_LIMIT))
    _turn(state, wanted, ~wanted.stored & (_to_other(state, wanted) <= 0))
    while _lift(state, wanted.up, wanted.cost):
        pass
    _mend_all(state, wanted, wanted.least, np.full(high.size, NO_LIMIT))
    if not _held(state, rows_of, leaves_of, wanted, change):
        raise InputError(
            "The public totals cannot be held while all cells that need it are protected.", hint="Hold fewer of them, or within a distance."
        )
    return change, sense


def _held(state: _State, rows_of: Members, leaves_of: Members, wanted: Wanted, change: IntArray) -> bool:
    """Whether the public totals are held, after moves in pairs where they are not or keep others from being mended."""
    off, short = (np.abs(state.moved) > wanted.most).any(), (state.sense * state.moved < state.floor).any()
    if (wanted.most >= FREE).all() or not (off or short):
        return not off
    held = held_of(rows_of, wanted.most, int(FREE), wanted.cost)
    far = np.maximum(wanted.high, np.abs(change)) + 1
    for times in (1, 4, 16, 1024):
        low, high = np.maximum(-times * far, wanted.least), times * far
        moving = Moving(rows_of, state.moved, state.sense, state.floor, change, np.minimum(low, change), np.maximum(high, change))
        if hold(held, moving, leaves_of, wanted.cost):
            return True
    return not (np.abs(state.moved) > wanted.most).any()


def _to_other(state: _State, wanted: Wanted) -> IntArray:
    """How far each row is from its floor on the other side."""
    found: IntArray = np.where(state.sense > 0, wanted.down, wanted.up) + state.sense * state.moved
    return found


def _turn(state: _State, wanted: Wanted, chosen: BoolArray) -> None:
    """Send those of the rows to the other side that are short on theirs."""
    turned = chosen & (state.sense * state.moved < state.floor) & (state.sense != 0)
    state.sense[turned] *= -1
    state.floor[turned] = np.where(state.sense > 0, wanted.up, wanted.down)[turned]


def _mend_all(state: _State, wanted: Wanted, low: IntArray, high: IntArray) -> None:
    for _ in range(TUNING.rounds):
        if not _mend(state, wanted.most, low, high, wanted.cost):
            break


class _State(NamedTuple):
    row_start: IntArray
    row: AnyArray
    leaf_start: IntArray
    leaf: AnyArray
    change: IntArray
    moved: IntArray
    sense: IntArray
    floor: IntArray


@numba.njit(cache=True, nogil=True)
def _sums(start, index, change, rows):  # type: ignore[no-untyped-def]
    """How far every row has moved by the changes of its leaves."""
    moved = np.zeros(rows, np.int64)
    for leaf in range(start.size - 1):
        for at in range(start[leaf], start[leaf + 1]):
            moved[index[at]] += change[leaf]
    return moved


@numba.njit(cache=True, nogil=True)
def _room(state, leaf, direction, most):  # type: ignore[no-untyped-def]
    """How far a leaf cell can move before a row that is well is not any more."""
    room: Any = np.int64(NO_LIMIT)
    for at in range(state.row_start[leaf], state.row_start[leaf + 1]):
        row = state.row[at]
        room = min(room, max(most[row] - direction * state.moved[row], 0))
        if state.sense[row] == -direction:
            room = min(room, max(-direction * state.moved[row] - state.floor[row], 0))
        if room == 0:
            break
    return room


@numba.njit(cache=True, nogil=True)
def _add(state, leaf, amount):  # type: ignore[no-untyped-def]
    """Change a leaf by an amount, and move every row that it is in."""
    state.change[leaf] += amount
    for at in range(state.row_start[leaf], state.row_start[leaf + 1]):
        state.moved[state.row[at]] += amount


@numba.njit(cache=True, nogil=True)
def _mend(state, most, low, high, cost):  # type: ignore[no-untyped-def]
    """One pass; tells how many rows are still short that were short before, if any of them was moved."""
    helped, short = 0, 0
    for row in range(state.sense.size):
        direction, missing = _missing(state, row, most)
        if missing <= 0:
            continue
        inside = state.leaf[state.leaf_start[row] : state.leaf_start[row + 1]]
        order = np.argsort(cost[inside], kind="mergesort")
        for place in order:
            leaf = inside[place]
            amount = min(missing, _room(state, leaf, direction, most))
            amount = min(amount, high[leaf] - state.change[leaf] if direction > 0 else state.change[leaf] - low[leaf])
            if amount > 0:
                _add(state, leaf, direction * amount)
                missing -= amount
                helped += 1
            if missing == 0:
                break
        short += missing > 0
    return helped if short else 0


@numba.njit(cache=True, nogil=True)
def _missing(state, row, most):  # type: ignore[no-untyped-def]
    """Which way a row must go, and how far."""
    sense, moved = state.sense[row], state.moved[row]
    if sense != 0 and sense * moved < state.floor[row]:
        return sense, state.floor[row] - sense * moved
    if abs(moved) > most[row]:
        return (-1 if moved > 0 else 1), abs(moved) - most[row]
    return 1, 0


@numba.njit(cache=True, nogil=True)
def _push(state, least, cost):  # type: ignore[no-untyped-def]
    """One pass: short rows are moved by their cheapest leaf cell, whatever other rows become of it; tells how many."""
    pushed = 0
    for row in range(state.sense.size):
        sense = state.sense[row]
        missing = state.floor[row] - sense * state.moved[row]
        if sense == 0 or missing <= 0:
            continue
        best = -1
        for at in range(state.leaf_start[row], state.leaf_start[row + 1]):
            leaf = state.leaf[at]
            if (sense > 0 or state.change[leaf] - missing >= least[leaf]) and (best < 0 or cost[leaf] < cost[best]):
                best = leaf
        if best >= 0:
            _add(state, best, sense * missing)
            pushed += 1
    return pushed


@numba.njit(cache=True, nogil=True)
def _lift(state, up, cost):  # type: ignore[no-untyped-def]
    """One pass; tells how many short rows were lifted, each by the cheapest of its leaf cells that rise anyway, else by its cheapest."""
    lifted = 0
    for row in range(state.sense.size):
        if state.sense[row] == 0 or state.sense[row] * state.moved[row] >= state.floor[row]:
            continue
        if state.sense[row] < 0:
            state.sense[row] = 1
            state.floor[row] = up[row]
            if state.moved[row] >= up[row]:
                continue
        best = -1
        for at in range(state.leaf_start[row], state.leaf_start[row + 1]):
            leaf = state.leaf[at]
            rising = state.change[leaf] > 0
            if best < 0 or (rising, -cost[leaf]) > (state.change[best] > 0, -cost[best]):
                best = leaf
        _add(state, best, state.floor[row] - state.moved[row])
        lifted += 1
    return lifted
