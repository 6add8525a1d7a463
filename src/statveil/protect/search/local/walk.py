"""Walk: the table itself is annealed, whole and safe at every step; no program is solved.

A table is the sum of its parts, so any whole change of parts keeps every relation. One part alone drags all its totals along; a part
against a sibling leaves the totals above both in place; four corners of a rectangle, eight of a cube, and so on, more of them. Each move
takes such corners, with turning signs, and as much of them as brings one of the cells touched to zero or to its level, on either side:
senses turn on the way. Metropolis decides. Where a linear program takes seconds this makes a hundred thousand moves in each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import CellParts
from statveil.protect.search.local import anneal
from statveil.protect.search.plain_table import lifted
from statveil.protect.search_state import Search


class WalkTuning(NamedTuple):
    """Work limits and temperatures of walks; by judgement, but for what is said."""

    first_sweeps: int = 500  # moves for each part in the first round
    most_at_first: int = 2_000_000  # and for all of them at most; work limits, not clocks
    least_cells: int = 6
    """Cells that a part must be in, on average, to be worth a walk: itself, and totals in three dimensions or in hierarchies."""
    most_siblings: int = 20_000_000  # pairs of siblings, at most: the squares of the relations' lengths
    heats: tuple[float, float] = (20.0, 200.0)
    """Where annealing begins, in costs of moving a sensitive cell by its level (the median). Where levels differ widely the larger one
    does better, elsewhere the smaller one; they take turns (benchmarks/RESULTS.md, linked codes)."""
    cold: float = 0.4  # where it ends
    still: float = 0.1  # share of the moves at the end that only go downhill
    steps_of_heat: int = 100  # it cools in so many steps at least
    at_a_time: int = 50_000  # moves at most between looks at the clock
    doublings: tuple[int, ...] = (30, 55, 75, 80, 85)
    """Of a hundred moves, how many have one corner; up to two; four; eight; sixteen. The rest are pairs under any common total."""
    most_corners: int = 16
    tries: int = 4  # cells among which one is looked for that the move can bring to rest


TUNING = WalkTuning()


class MoveGraph(NamedTuple):
    """What moves need: the cells that each part is in, with factors; the parts of each cell; the siblings of each part."""

    cells_at: IntArray
    cells: IntArray
    factors: IntArray
    parts_at: IntArray
    parts: IntArray
    near_at: IntArray
    near: IntArray


class MoveLimits(NamedTuple):
    """Which cells are sensitive, the most of one that goes down and the least of one that goes up, bounds, and costs of a unit."""

    sensitive: BoolArray
    high: IntArray
    low: IntArray
    least: IntArray
    most: IntArray
    weight: FloatArray


def fits(search: Search) -> bool:
    """Whether there are moves: levels need not be met exactly, costs are absolute, parts only add up, and relations are not too long."""
    parts, problem = search.program.parts_to_round, search.problem
    if parts is None or problem.norm != "l1" or problem.variant != "at-least" or not (parts.sums.data > 0).all():
        return False
    return int((np.diff(problem.relations.indptr) ** 2).sum()) <= TUNING.most_siblings


def pays(search: Search) -> bool:
    """Whether they lead anywhere: where parts are in few totals each, balanced senses and a program do better and sooner."""
    parts = search.program.parts_to_round
    return parts is not None and fits(search) and cells_of_a_part(parts) >= TUNING.least_cells


def cells_of_a_part(parts: CellParts) -> float:
    """In how many cells a part is, on average: what one of them moves."""
    return float(parts.sums.nnz / max(parts.part.size, 1))


def run(search: Search, *, rounds: int = 7) -> None:
    """Method `walk`: from the table of the start given, from raised parts or from balanced senses, in rounds of doubling length."""
    if not fits(search):
        raise InputError("Method 'walk' needs norm l1, levels to be reached at least, and totals that only add up.", hint="Use 'auto'.")
    if search.start is not None:
        search.try_senses(search.start)
    if search.best is None:
        raise_parts(search)
    if search.best is None:
        anneal.run(search)
    walk_in_rounds(search, rounds=rounds)


def raise_parts(search: Search) -> None:
    """A first table without a program, if that is so easily found."""
    search.enter("raising parts")
    parts = search.program.parts_to_round
    search.offer(None if parts is None else lifted(search.problem, parts))


def walk_in_rounds(search: Search, *, rounds: int, moves: int | None = None) -> None:
    """Anneal from the best table, each time twice as long; the first time so many moves, or so many for each part."""
    search.enter("walking")
    if search.best is None or search.program.parts_to_round is None:
        return
    graph = graph_of(search.problem, search.program.parts_to_round)
    first = min(TUNING.first_sweeps * (graph.cells_at.size - 1), TUNING.most_at_first) if moves is None else moves
    for number in range(rounds):
        if search.done:
            return
        search.offer(anneal_table(search, graph, search.best, moves=first * 2**number, heat=TUNING.heats[number % len(TUNING.heats)]))


def graph_of(problem: ProtectionProblem, parts: CellParts) -> MoveGraph:
    """Siblings are parts that share one of the finest relations: a total and otherwise parts."""
    is_part = np.zeros(problem.size, dtype=np.int64)
    is_part[parts.part] = 1
    present = problem.relations.astype(bool).astype(np.int64)
    finest = np.flatnonzero(present @ is_part == np.diff(problem.relations.indptr) - 1)
    beside = present[finest][:, parts.part]
    near = (beside.T @ beside).tocsr()
    near.setdiag(0)
    near.eliminate_zeros()
    near.sort_indices()
    rows, columns = parts.sums.tocsr(), parts.sums.tocsc()
    arrays = (columns.indptr, columns.indices, columns.data, rows.indptr, rows.indices, near.indptr, near.indices)
    return MoveGraph(*(array.astype(np.int64) for array in arrays))


def anneal_table(search: Search, graph: MoveGraph, start: IntArray, *, moves: int, heat: float) -> IntArray:
    """One annealing from a safe table; when time is up, what was reached by then."""
    problem, z = search.problem, start.copy()
    level = problem.weight * np.minimum(problem.lower_level, problem.upper_level)
    unit = float(np.median(level[problem.sensitive])) if problem.sensitive.any() else 1.0
    limits = MoveLimits(problem.sensitive, problem.down.high, problem.up.low, *problem.free, problem.weight)
    state = np.array([search.rng.integers(2**63)], dtype=np.uint64)
    at_a_time = min(max(1, moves // TUNING.steps_of_heat), TUNING.at_a_time)
    for done in range(0, moves, at_a_time):
        if search.seconds_left <= 0:
            break
        along = done / (moves * (1 - TUNING.still))
        now = unit * heat * (TUNING.cold / heat) ** along if along < 1 else 0.0
        _move(graph, z, limits, min(at_a_time, moves - done), now, state, np.array(TUNING.doublings), EXPONENTIAL)
    return z


@njit(cache=True, inline="always")
def _draw(state, size):  # type: ignore[no-untyped-def]
    """A random number below the size."""
    state[0] += STEP
    return below(mixed(state[0]) >> np.uint64(32), size)


@njit(cache=True)
def _near_both(one, two, but, near_at, near, state):  # type: ignore[no-untyped-def]
    """A sibling of both other than `but`, each as likely; -1 if there is none."""
    found, count = -1, 0
    i, j = near_at[one], near_at[two]
    while i < near_at[one + 1] and j < near_at[two + 1]:
        if near[i] == near[j]:
            if near[i] != but:
                count += 1
                if _draw(state, count) == 0:
                    found = near[i]
            i, j = i + 1, j + 1
        elif near[i] < near[j]:
            i += 1
        else:
            j += 1
    return found


@njit(cache=True)
def _box(doublings, near_at, near, state, corner, sign, beside):  # type: ignore[no-untyped-def]
    """Mirror the corners along one more line with each doubling, signs turned; how many there are then, 0 if a corner is missing.

    `beside` tells for each corner but the first an earlier one that is its sibling: its image leads to the corner's own.
    """
    count = 1
    for _ in range(doublings):
        first = corner[0]
        if near_at[first + 1] == near_at[first]:
            return 0
        corner[count] = near[near_at[first] + _draw(state, near_at[first + 1] - near_at[first])]
        for k in range(1, count):
            corner[count + k] = _near_both(corner[k], corner[count + beside[k]], corner[beside[k]], near_at, near, state)
            if corner[count + k] < 0:
                return 0
            beside[count + k] = count + beside[k]
        beside[count] = 0
        sign[count : 2 * count] = -sign[:count]
        count *= 2
    return count


@njit(cache=True)
def _any_pair(cells_at, cells, parts_at, parts, state, corner, sign):  # type: ignore[no-untyped-def]
    """The part and any other part of one of its cells; how many that makes, 0 if it is the same part again."""
    first = corner[0]
    total = cells[cells_at[first] + _draw(state, cells_at[first + 1] - cells_at[first])]
    corner[1] = parts[parts_at[total] + _draw(state, parts_at[total + 1] - parts_at[total])]
    sign[1] = -1
    return 0 if corner[1] == first else 2


@njit(cache=True)
def _amount(touched, count, factor, z, limits, state):  # type: ignore[no-untyped-def]
    """How much of the move brings one of the cells to zero or, if it is sensitive, to its level: mostly on the side where it is."""
    for _ in range(TUNING.tries):
        i = touched[_draw(state, count)]
        if abs(factor[i]) != 1:
            continue
        goal = 0
        if limits.sensitive[i]:
            stay = _draw(state, 4) > 0
            goal = limits.low[i] if (z[i] > 0) == stay else limits.high[i]
        if goal != z[i]:
            return (goal - z[i]) * factor[i]
    return 0


@njit(cache=True)
def _change(touched, count, factor, amount, z, limits):  # type: ignore[no-untyped-def]
    """What the move adds to the cost; endless if it breaks a bound or leaves a sensitive cell between its levels."""
    sensitive, high, low, least, most, weight = limits
    change = 0.0
    for k in range(count):
        i = touched[k]
        after = z[i] + factor[i] * amount
        if after < least[i] or after > most[i] or (sensitive[i] and high[i] < after < low[i]):
            return np.inf
        change += weight[i] * (abs(after) - abs(z[i]))
    return change


@njit(cache=True)
def _move(graph, z, limits, moves, heat, state, doublings, draws):  # type: ignore[no-untyped-def]
    """So many moves at one heat, in place."""
    cells_at, cells, factors, parts_at, parts, near_at, near = graph
    most = TUNING.most_corners
    corner, sign, beside = np.zeros(most, np.int64), np.ones(most, np.int64), np.zeros(most, np.int64)
    factor, seen, touched = np.zeros(z.size, np.int64), np.full(z.size, -1), np.empty(z.size, np.int64)
    for number in range(moves):
        corner[0] = _draw(state, cells_at.size - 1)
        kind = np.searchsorted(doublings, _draw(state, 100), side="right")
        if kind < doublings.size:
            corners = _box(kind, near_at, near, state, corner, sign, beside)
        else:
            corners = _any_pair(cells_at, cells, parts_at, parts, state, corner, sign)
        count = 0
        for k in range(corners):
            for at in range(cells_at[corner[k]], cells_at[corner[k] + 1]):
                i = cells[at]
                if seen[i] != number:
                    seen[i], factor[i], touched[count] = number, 0, i
                    count += 1
                factor[i] += sign[k] * factors[at]
        amount = _amount(touched, count, factor, z, limits, state) if count > 0 else 0
        if amount == 0:
            continue
        change = _change(touched, count, factor, amount, z, limits)
        if change <= heat * draws[_draw(state, CHANCES)]:
            for k in range(count):
                z[touched[k]] += factor[touched[k]] * amount
