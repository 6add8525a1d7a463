"""Moves of the tabu search: changes of a few cells that keep every relation, found from the relations alone, and how far to take them.

A move starts with one cell and repairs each relation that this breaks by changing another of its cells, until none is broken (a short
circuit of the relations). It prefers cells that repair several at once, that cost little, and, the longer it gets, totals: following
totals upward always comes to an end. So it finds rectangles in two-way tables, cubes in three-way ones, a cell with all sums
above it in hierarchies, and what joins the tables of a linked set, without being told which of these it is in. The means asked for are
relations like the others.

How far: the objective along a move is known at every length from a few sums. Lengths at which a cell comes to rest, at its
true value, at a protection level on either side or at a bound, and those at which a statistic is met, are tried; a length through the
forbidden middle of a sensitive cell changes its sense. Only lengths that leave every cell safe and within bounds count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.keep.tabu.objective import TargetSums, Wishes, statistics_score, sum_up
from statveil.protect.problem import ProtectionProblem


class MoveTuning(NamedTuple):
    """How long moves may get, and how much is looked at to find one. All by judgement."""

    longest: int = 512
    """Changes of cells in one move, at most."""
    scanned: int = 256
    """Cells of a relation that are looked at to repair it; of longer ones, a sample of a quarter as many."""
    tried: int = 10
    """Cells of a move whose resting places are tried as lengths."""
    lengths: int = 96
    """Lengths tried, at most: eight for each of those cells, and some at which a statistic is met."""
    relations_per_cell: int = 64
    """Relations that a move may touch, for each of its cells."""


TUNING = MoveTuning()


class Relations(NamedTuple):
    """The relations by rows and by columns, and each one's total (-1: none)."""

    rows_at: IntArray
    rows_to: IntArray
    rows_by: IntArray
    cols_at: IntArray
    cols_to: IntArray
    cols_by: IntArray
    total: IntArray


class CellRanges(NamedTuple):
    """Where a cell's deviation may be, and what it costs."""

    low: IntArray
    high: IntArray
    down_low: IntArray
    down_high: IntArray
    up_low: IntArray
    up_high: IntArray
    sensitive: BoolArray
    weight: FloatArray
    square: bool


class MoveScratch(NamedTuple):
    """Workspace of one walk; all zero between walks."""

    step: IntArray
    off: IntArray
    cells: IntArray
    touched: IntArray
    open: IntArray
    lengths: IntArray


class SearchState(NamedTuple):
    """What the kernels stand on: a table and the sums of what is wished in it, what moves are made of, and until when senses rest.

    `more` is the workspace for what a move adds to the sums; a cell keeps its sense until the clock has passed `resting`.
    """

    z: IntArray
    relations: Relations
    ranges: CellRanges
    wishes: Wishes
    sums: TargetSums
    more: TargetSums
    scratch: MoveScratch
    resting: IntArray


def relations_of(problem: ProtectionProblem) -> Relations:
    rows, columns = problem.relations.tocsr(), problem.relations.tocsc()
    rows_at, rows_to, rows_by = (np.asarray(part, dtype=np.int64) for part in (rows.indptr, rows.indices, rows.data))
    cols_at, cols_to, cols_by = (np.asarray(part, dtype=np.int64) for part in (columns.indptr, columns.indices, columns.data))
    return Relations(rows_at, rows_to, rows_by, cols_at, cols_to, cols_by, _totals(rows_at, rows_to, rows_by))


def ranges_of(problem: ProtectionProblem) -> CellRanges:
    return CellRanges(*problem.free, *problem.down, *problem.up, problem.sensitive, problem.weight, problem.norm == "l2")


def scratch_for(relations: Relations) -> MoveScratch:
    cells, rows = relations.cols_at.size - 1, relations.rows_at.size - 1
    touched = TUNING.relations_per_cell * TUNING.longest
    sizes = (cells, rows, TUNING.longest, touched, touched, TUNING.lengths)
    return MoveScratch(*(np.zeros(size, np.int64) for size in sizes))


@njit(cache=True)
def _totals(at, to, by):  # type: ignore[no-untyped-def]
    """The cell of each relation that is alone with its sign; of two, the negative one; -1 where there is none."""
    total = np.full(at.size - 1, -1, np.int64)
    for row in range(at.size - 1):
        for sign in (-1, 1):
            alone, count = -1, 0
            for k in range(at[row], at[row + 1]):
                if by[k] * sign > 0:
                    alone, count = to[k], count + 1
            if count == 1 and total[row] < 0:
                total[row] = alone
    return total


@njit(cache=True)
def _push(cell, amount, relations, scratch, cells, touched, waiting):  # type: ignore[no-untyped-def]
    """Change a cell; tells the new counts, or -1 where a list is full."""
    if scratch.step[cell] == 0:
        known = False
        for k in range(cells):
            if scratch.cells[k] == cell:
                known = True
                break
        if not known:
            if cells >= scratch.cells.size:
                return -1, touched, waiting
            scratch.cells[cells] = cell
            cells += 1
    scratch.step[cell] += amount
    for k in range(relations.cols_at[cell], relations.cols_at[cell + 1]):
        row = relations.cols_to[k]
        before = scratch.off[row]
        scratch.off[row] += relations.cols_by[k] * amount
        if before == 0:
            if touched >= scratch.touched.size or waiting >= scratch.open.size:
                return -1, touched, waiting
            scratch.touched[touched] = row
            touched += 1
            scratch.open[waiting] = row
            waiting += 1
    return cells, touched, waiting


@njit(cache=True)
def _allowed(cell, x, ranges):  # type: ignore[no-untyped-def]
    """Whether a cell may be changed by x: within its bounds and, if it is sensitive, safe."""
    if x < ranges.low[cell] or x > ranges.high[cell]:
        return False
    if not ranges.sensitive[cell]:
        return True
    return ranges.down_low[cell] <= x <= ranges.down_high[cell] or ranges.up_low[cell] <= x <= ranges.up_high[cell]


@njit(cache=True)
def _mended(cell, amount, row, relations, scratch):  # type: ignore[no-untyped-def]
    """What a change does to the other relations: good where it repairs them, bad where it breaks them."""
    good = 0.0
    for k in range(relations.cols_at[cell], relations.cols_at[cell + 1]):
        other = relations.cols_to[k]
        if other != row:
            before = scratch.off[other]
            after = before + relations.cols_by[k] * amount
            if before == 0:
                good -= 2.0
            elif after == 0:
                good += 4.0
            elif abs(after) > abs(before):
                good -= 1.0
    return good


@njit(cache=True)
def _appeal(entry, row, pushes, z, relations, ranges, scratch, heat):  # type: ignore[no-untyped-def]
    """How good it is to repair a relation by the cell of this entry; minus infinity where it cannot."""
    cell, factor = relations.rows_to[entry], relations.rows_by[entry]
    if ranges.low[cell] == ranges.high[cell] or scratch.off[row] % factor != 0:
        return -np.inf
    amount = -scratch.off[row] // factor
    now = z[cell] + scratch.step[cell]
    if scratch.step[cell] * amount < 0:
        return -np.inf  # taking back what was done leads nowhere
    if now + amount < ranges.low[cell] or now + amount > ranges.high[cell]:
        return -np.inf
    appeal = heat * np.random.random() + _mended(cell, amount, row, relations, scratch)
    if ranges.sensitive[cell]:
        if not _allowed(cell, now + amount, ranges):
            appeal -= 3.0  # only a change of its sense would leave it safe
    elif abs(now + amount) < abs(now):
        appeal += 3.0
    if cell == relations.total[row]:
        appeal += pushes / 8.0
    return appeal


@njit(cache=True)
def _repairer(row, pushes, z, relations, ranges, scratch, heat):  # type: ignore[no-untyped-def]
    """The entry of a broken relation by which to repair it, or -1."""
    begin, end = relations.rows_at[row], relations.rows_at[row + 1]
    best, chosen = -np.inf, -1
    count = end - begin
    sampled = count > TUNING.scanned
    for k in range(TUNING.scanned // 4 if sampled else count):
        entry = begin + (np.random.randint(count) if sampled else k)
        appeal = _appeal(entry, row, pushes, z, relations, ranges, scratch, heat)
        if appeal > best:
            best, chosen = appeal, entry
    return chosen


@njit(cache=True)
def walk(cell, amount, z, relations, ranges, scratch, heat):  # type: ignore[no-untyped-def]
    """Start with a cell's change and repair until nothing is broken. Tells (cells changed, relations touched); -1 where it failed."""
    cells, touched, waiting = _push(cell, amount, relations, scratch, 0, 0, 0)
    if cells < 0:
        return -1, touched
    pushes = 1
    head = 0
    while head < waiting and pushes < TUNING.longest:
        row = scratch.open[head]
        head += 1
        if scratch.off[row] == 0:
            continue
        entry = _repairer(row, pushes, z, relations, ranges, scratch, heat)
        if entry < 0:
            return -cells - 1, touched
        before = cells
        by = -scratch.off[row] // relations.rows_by[entry]
        cells, touched, waiting = _push(relations.rows_to[entry], by, relations, scratch, cells, touched, waiting)
        if cells < 0:
            return -before - 1, touched
        pushes += 1
    for k in range(touched):
        if scratch.off[scratch.touched[k]] != 0:
            return -cells - 1, touched
    return cells, touched


@njit(cache=True)
def wipe(count, touched, scratch):  # type: ignore[no-untyped-def]
    """Forget a walk that told (count, touched), whether it failed or not."""
    cells = count if count > 0 else -count - 1
    for k in range(cells):
        scratch.step[scratch.cells[k]] = 0
    for k in range(touched):
        scratch.off[scratch.touched[k]] = 0


@njit(cache=True)
def _resting_lengths(cell, step, z, ranges, lengths, count):  # type: ignore[no-untyped-def]
    """Lengths at which this cell comes to rest."""
    down, up = (ranges.down_high[cell], ranges.up_low[cell]) if ranges.sensitive[cell] else (0, 0)
    for place in (0, ranges.low[cell], ranges.high[cell], down, up):
        gap = place - z[cell]
        if gap == 0 or abs(gap) > 1 << 50:
            continue
        t = gap // step
        for more in range(2):
            if t + more != 0 and count < lengths.size:
                lengths[count] = t + more
                count += 1
            if t * step == gap:
                break
    return count


@njit(cache=True)
def _meeting_lengths(wishes, sums, more, lengths, count):  # type: ignore[no-untyped-def]
    """Lengths at which a target's mean, slope or variance is met."""
    for k in range(wishes.size.size):
        for wanted in range(3):
            if wanted == 0:
                there, by = sums.sum[k], more.sum[k]
            elif wanted == 1:
                there, by = sums.linear[k], more.linear[k]
            else:
                size, variance = wishes.size[k], wishes.variance[k]
                if variance <= 0:
                    continue
                there = 2.0 * sums.linear[k] + (sums.square[k] / size - (sums.sum[k] / size) ** 2) / variance
                by = 2.0 * more.linear[k] + (more.square[k] / size - 2.0 * sums.sum[k] * more.sum[k] / size / size) / variance
            if by == 0.0 or abs(there) > 1e15 * abs(by):
                continue
            t = int(np.floor(-there / by))
            for ahead in range(2):
                if t + ahead != 0 and count < lengths.size:
                    lengths[count] = t + ahead
                    count += 1
    return count


@njit(cache=True)
def _turns(cell, x, now, ranges):  # type: ignore[no-untyped-def]
    """Whether a sensitive cell changes its sense."""
    return ranges.sensitive[cell] and (x >= ranges.up_low[cell]) != (now >= ranges.up_low[cell])


@njit(cache=True)
def cost_of(t, cells, step, z, ranges, resting, clock):  # type: ignore[no-untyped-def]
    """What the change costs when a move is taken t times; infinite where a cell would be unsafe or out of bounds."""
    change = 0.0
    for number in range(cells.size):
        cell = cells[number]
        if step[cell] == 0:
            continue
        x = z[cell] + t * step[cell]
        if not _allowed(cell, x, ranges) or (resting[cell] > clock and _turns(cell, x, z[cell], ranges)):
            return np.inf
        if ranges.square:
            change += ranges.weight[cell] * (float(x) * float(x) - float(z[cell]) * float(z[cell]))
        else:
            change += ranges.weight[cell] * (abs(x) - abs(z[cell]))
    return change


@njit(cache=True)
def best_length(cells, state, lengths, clock, turned):  # type: ignore[no-untyped-def]
    """(length with the least objective, by how much that changes it) of the move in the scratch; (0, inf) where no length is safe.

    A cell that rests (until its time on the clock) keeps its sense; `turned`: the first cell must change its own.
    """
    z, ranges, wishes, sums, more, step = state.z, state.ranges, state.wishes, state.sums, state.more, state.scratch.step
    sum_up(cells, step, z, wishes, more)
    lengths[0], lengths[1] = 1, -1
    count = 2
    offset = np.random.randint(cells.size)
    for number in range(min(cells.size, TUNING.tried)):
        cell = cells[(number + offset) % cells.size]
        if step[cell] != 0:
            count = _resting_lengths(cell, step[cell], z, ranges, lengths, count)
    if ranges.sensitive[cells[0]] and step[cells[0]] != 0:
        count = _resting_lengths(cells[0], step[cells[0]], z, ranges, lengths, count)
    count = _meeting_lengths(wishes, sums, more, lengths, count)
    now = statistics_score(0, wishes, sums, more)
    best, length = np.inf, 0
    for k in range(count):
        t = lengths[k]
        if turned and not _turns(cells[0], z[cells[0]] + t * step[cells[0]], z[cells[0]], ranges):
            continue
        cost = cost_of(t, cells, step, z, ranges, state.resting, clock)
        if cost == np.inf:
            continue
        change = wishes.for_change * cost + statistics_score(t, wishes, sums, more) - now
        if change < best:
            best, length = change, t
    return length, best
