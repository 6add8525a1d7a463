"""The compiled part of the tabu search: choosing, taking and forbidding moves."""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.protect.keep.tabu.moves import best_length, cost_of, sum_up, take_sums, walk, wipe

RESTING = 12
"""Kicks during which a sense that was forced over stays."""
LEAST_GAIN = 1e-12
ONE_UNIT, BEST_LENGTH, ANY_LENGTH = 0, 1, 2
"""How far to take a move whose worth only measures can tell."""


@njit(cache=True)
def _seed_cell(seeds, z, ranges):  # type: ignore[no-untyped-def]
    """A cell to start with and which way: any of the seeds, or one that has moved, mostly back."""
    cell = seeds[np.random.randint(seeds.size)]
    if np.random.random() < 0.4:
        for _ in range(8):
            if z[cell] != 0 and not ranges.sensitive[cell]:
                break
            cell = seeds[np.random.randint(seeds.size)]
    amount = 1 if np.random.random() < 0.5 else -1
    if z[cell] != 0 and np.random.random() < 0.5:
        amount = -1 if z[cell] > 0 else 1
    return cell, amount


@njit(cache=True)
def _take(length, cells, z, wishes, sums, more, scratch):  # type: ignore[no-untyped-def]
    """Take the move that the scratch holds, and keep the running sums."""
    sum_up(cells, scratch.step, z, wishes, more)
    take_sums(length, sums, more, wishes.size.size)
    for number in range(cells.size):
        z[cells[number]] += length * scratch.step[cells[number]]


@njit(cache=True)
def _any_length(cells, step, z, ranges, furthest):  # type: ignore[no-untyped-def]
    """A length by chance on a logarithmic scale, from one unit to where a cell meets its bound; 0 where there is no room that way."""
    sign = 1 if np.random.random() < 0.5 else -1
    room = furthest
    for number in range(cells.size):
        cell, by = cells[number], sign * step[cells[number]]
        if by > 0:
            room = min(room, (ranges.high[cell] - z[cell]) // by)
        elif by < 0:
            room = min(room, (z[cell] - ranges.low[cell]) // -by)
    if room < 1:
        return 0
    return sign * min(int(np.exp(np.random.random() * np.log(room + 1.0))), room)


@njit(cache=True)
def propose(seed, z, relations, ranges, wishes, sums, more, scratch, seeds, reach, furthest, resting, clock):  # type: ignore[no-untyped-def]
    """Change the table by one move; tells whether there was one.

    By how much: by what is best for all but the measures, by one unit either way, or by any length, up to `furthest`. What it does
    to the measures is not known here.
    """
    np.random.seed(seed)
    for _ in range(20):
        cell, amount = _seed_cell(seeds, z, ranges)
        count, touched = walk(cell, amount, z, relations, ranges, scratch, 3.0)
        length = 0
        if count > 0:
            cells = scratch.cells[:count]
            if reach == ANY_LENGTH:
                length = _any_length(cells, scratch.step, z, ranges, furthest)
                change = cost_of(length, cells, scratch.step, z, ranges, resting, clock)
            else:
                lengths = scratch.lengths[: scratch.lengths.size if reach == BEST_LENGTH else 2]
                length, change = best_length(cells, scratch.step, z, ranges, wishes, sums, more, lengths, resting, clock, False)
            if length != 0 and change < np.inf:
                _take(length, cells, z, wishes, sums, more, scratch)
            else:
                length = 0
        wipe(count if count > 0 else -count - 1, touched, scratch)
        if length != 0:
            return True
    return False


@njit(cache=True)
def descend(looks, patience, worth, seed, z, relations, ranges, wishes, sums, more, scratch, seeds, resting, clock):  # type: ignore[no-untyped-def]
    """Take moves that improve until so many were looked at, or so many in a row brought nothing worth mentioning.

    Tells (change of the objective, moves looked at, whether it ended because nothing improves any more).
    """
    np.random.seed(seed)
    gained, idle = 0.0, 0
    for look in range(looks):
        cell, amount = _seed_cell(seeds, z, ranges)
        count, touched = walk(cell, amount, z, relations, ranges, scratch, 6.0 * np.random.random())
        idle += 1
        if count > 0:
            cells = scratch.cells[:count]
            length, change = best_length(cells, scratch.step, z, ranges, wishes, sums, more, scratch.lengths, resting, clock, False)
            if change < -LEAST_GAIN:
                _take(length, cells, z, wishes, sums, more, scratch)
                gained += change
                idle = 0 if change < -worth else idle
        wipe(count if count > 0 else -count - 1, touched, scratch)
        if idle >= patience:
            return gained, look + 1, True
    return gained, looks, False


@njit(cache=True)
def kick(flips, seed, z, relations, ranges, wishes, sums, more, scratch, choices, resting, clock):  # type: ignore[no-untyped-def]
    """Force the senses of some sensitive cells over, each by the least bad of a few moves; the cells rest. Tells how many."""
    np.random.seed(seed)
    done = 0
    for _ in range(20 * flips):
        cell = choices[np.random.randint(choices.size)]
        amount = -1 if z[cell] > 0 else 1
        if resting[cell] > clock:
            continue
        count, touched = walk(cell, amount, z, relations, ranges, scratch, 6.0 * np.random.random())
        if count > 0:
            cells = scratch.cells[:count]
            length, change = best_length(cells, scratch.step, z, ranges, wishes, sums, more, scratch.lengths, resting, clock, True)
            if change < np.inf:
                _take(length, cells, z, wishes, sums, more, scratch)
                resting[cell] = clock + RESTING
                done += 1
        wipe(count if count > 0 else -count - 1, touched, scratch)
        if done >= flips:
            break
    return done
