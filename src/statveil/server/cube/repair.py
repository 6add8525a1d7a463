"""Whole numbers that hold: rows that fall short of their floors are moved by the leaf cells that can, at the least cost.

Exact integers, and it always ends: what cannot be mended between the others is lifted. A lifted row only ever rises, and a falling row
that is lifted along turns once, so that there is an end; every row is then beyond its level.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.server.cube.lattice import Members


class RepairTuning(NamedTuple):
    rounds: int = 30
    """Passes over the short rows before lifting; by judgement."""


TUNING = RepairTuning()
NO_LIMIT = 2**62


class Wanted(NamedTuple):
    """By row: `sense` (0: not sensitive), floor in that sense, floor if it has to be turned upward, and the most that it may be off.

    By leaf cell: the least change, and what a change costs for each unit.
    """

    sense: IntArray
    floor: IntArray
    turned: IntArray
    most: IntArray
    least: IntArray
    cost: FloatArray


def repair(rows_of: Members, leaves_of: Members, wanted: Wanted, change: IntArray) -> tuple[IntArray, IntArray]:
    """The changes of leaf cells after repair, and the senses of rows, which are the wanted ones but for those that had to be turned."""
    change, sense, floor = change.copy(), wanted.sense.copy(), wanted.floor.copy()
    np.maximum(change, wanted.least, out=change)
    moved = _sums(rows_of.start, rows_of.item, change, sense.size)
    state = _State(rows_of.start, rows_of.item, leaves_of.start, leaves_of.item, change, moved, sense, floor)
    for _ in range(TUNING.rounds):
        if not _mend(state, wanted.most, wanted.least, wanted.cost):
            break
    while _lift(state, wanted.turned):
        pass
    return change, sense


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
    state.change[leaf] += amount
    for at in range(state.row_start[leaf], state.row_start[leaf + 1]):
        state.moved[state.row[at]] += amount


@numba.njit(cache=True, nogil=True)
def _mend(state, most, least, cost):  # type: ignore[no-untyped-def]
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
            if direction < 0:
                amount = min(amount, state.change[leaf] - least[leaf])
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
def _lift(state, turned):  # type: ignore[no-untyped-def]
    """One pass; tells how many short rows were lifted, each by the largest of its leaf cells that rises anyway, else by its first."""
    lifted = 0
    for row in range(state.sense.size):
        if state.sense[row] == 0 or state.sense[row] * state.moved[row] >= state.floor[row]:
            continue
        if state.sense[row] < 0:
            state.sense[row] = 1
            state.floor[row] = turned[row]
            if state.moved[row] >= turned[row]:
                continue
        best = -1
        for at in range(state.leaf_start[row], state.leaf_start[row + 1]):
            leaf = state.leaf[at]
            if best < 0 or state.change[leaf] > state.change[best]:
                best = leaf
        _add(state, best, state.floor[row] - state.moved[row])
        lifted += 1
    return lifted
