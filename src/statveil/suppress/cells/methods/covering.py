"""A cheap point in whole numbers that keeps many cuts: local search with weights of broken cuts (Gao, Weise and Li 2015, "RWLS").

Cuts are met one after the other; a cut that stays broken weighs more and more, so that the search leaves a bad corner. What it finds
breaks no cut that it was given, and is no pattern yet: whether needs are met is asked elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import BoolArray, FloatArray, IntArray


class CoveringTuning(NamedTuple):
    """By judgement."""

    sample: int = 60
    """Of how many chosen classes the one is given up that is missed least."""
    met: float = 1e-9


TUNING = CoveringTuning()


class CutRows(NamedTuple):
    """Cuts by row and by column: entries are shares of what a cut asks for, which is one or nothing."""

    row_ends: IntArray
    row_places: IntArray
    row_entries: FloatArray
    column_ends: IntArray
    column_places: IntArray
    column_entries: FloatArray
    least: FloatArray


def cut_rows(rows: csr_matrix, least: FloatArray) -> CutRows:
    """The same, from a sparse matrix."""
    columns = csc_matrix(rows)
    return CutRows(
        row_ends=rows.indptr.astype(np.int64),
        row_places=rows.indices.astype(np.int64),
        row_entries=rows.data.astype(np.float64),
        column_ends=columns.indptr.astype(np.int64),
        column_places=columns.indices.astype(np.int64),
        column_entries=columns.data.astype(np.float64),
        least=least.astype(np.float64),
    )


class _SearchState(NamedTuple):
    """Where the search stands. Lists hold their length first; `..._at` says where each stands in its list, 0 outside.

    chosen: 0 or 1 a class. sums, weight: of each cut. gain: by how much less is broken, by weight, if a class is turned. turned: when it
    was last. broken: cuts that are. taken: chosen classes that may be given up. cost: of each class. total: of what is taken.
    """

    chosen: IntArray
    sums: FloatArray
    weight: FloatArray
    gain: FloatArray
    turned: IntArray
    broken: IntArray
    broken_at: IntArray
    taken: IntArray
    taken_at: IntArray
    cost: FloatArray
    total: FloatArray


def cheap_cover(cuts: CutRows, cost: FloatArray, start: BoolArray, free: BoolArray, *, steps: int, seed: int) -> BoolArray:
    """The cheapest point found that keeps all cuts, from a start; free classes stay chosen. The start where none was found."""
    rows, columns = cuts.least.size, cost.size
    state = _SearchState(
        chosen=(start | free).astype(np.int64),
        sums=np.zeros(rows),
        weight=np.ones(rows),
        gain=np.zeros(columns),
        turned=np.full(columns, -1),
        broken=np.zeros(rows + 1, dtype=np.int64),
        broken_at=np.zeros(rows, dtype=np.int64),
        taken=np.zeros(columns + 1, dtype=np.int64),
        taken_at=np.zeros(columns, dtype=np.int64),
        cost=np.maximum(cost, TUNING.met),
        total=np.zeros(1),
    )
    best = state.chosen.copy()
    _prepare(cuts, state, free)
    _search(cuts, state, free, best, steps, seed)
    return np.asarray(best > 0)


@numba.njit(cache=True, nogil=True)
def _prepare(cuts: CutRows, state: _SearchState, free: BoolArray) -> None:
    """Sums, gains and lists of the start."""
    for row in range(cuts.least.size):
        for at in range(cuts.row_ends[row], cuts.row_ends[row + 1]):
            state.sums[row] += cuts.row_entries[at] * state.chosen[cuts.row_places[at]]
        _count_row(cuts, state, row, 1.0)
        _note(state.broken, state.broken_at, row, cuts.least[row] - state.sums[row] > TUNING.met)
    for column in range(free.size):
        if state.chosen[column] and not free[column]:
            _note(state.taken, state.taken_at, column, True)
            state.total[0] += state.cost[column]


@numba.njit(cache=True, nogil=True)
def _count_row(cuts: CutRows, state: _SearchState, row: int, sign: float) -> None:
    """Add (or take away) what a cut contributes to the gains of its classes."""
    least, total = cuts.least[row], state.sums[row]
    broken = max(0.0, least - total)
    for at in range(cuts.row_ends[row], cuts.row_ends[row + 1]):
        column = cuts.row_places[at]
        after = total + cuts.row_entries[at] * (1 - 2 * state.chosen[column])
        state.gain[column] += sign * state.weight[row] * (broken - max(0.0, least - after))


@numba.njit(cache=True, nogil=True)
def _note(members: IntArray, at: IntArray, number: int, inside: bool) -> None:
    """Put a number into a list or take it out."""
    if inside and at[number] == 0:
        members[0] += 1
        members[members[0]] = number
        at[number] = members[0]
    elif not inside and at[number] > 0:
        last = members[members[0]]
        members[at[number]] = last
        at[last] = at[number]
        at[number] = 0
        members[0] -= 1


@numba.njit(cache=True, nogil=True)
def _turn(cuts: CutRows, state: _SearchState, column: int, step: int) -> None:
    """Choose a class or give it up; sums, gains and lists follow."""
    for at in range(cuts.column_ends[column], cuts.column_ends[column + 1]):
        _count_row(cuts, state, cuts.column_places[at], -1.0)
    move = 1 - 2 * state.chosen[column]
    state.chosen[column] += move
    state.total[0] += move * state.cost[column]
    state.turned[column] = step
    _note(state.taken, state.taken_at, column, move > 0)
    for at in range(cuts.column_ends[column], cuts.column_ends[column + 1]):
        row = cuts.column_places[at]
        state.sums[row] += move * cuts.column_entries[at]
        _count_row(cuts, state, row, 1.0)
        _note(state.broken, state.broken_at, row, cuts.least[row] - state.sums[row] > TUNING.met)


@numba.njit(cache=True, nogil=True)
def _least_missed(state: _SearchState, tabu: int) -> int:
    """Of some taken classes the one whose loss is least for its cost, of equals the one that is there longest; -1: none."""
    best, worth = -1, 0.0
    for _ in range(TUNING.sample):
        column = state.taken[np.random.randint(1, state.taken[0] + 1)]
        if column == tabu:
            continue
        own = state.gain[column] / state.cost[column]
        if best < 0 or own > worth or (own == worth and state.turned[column] < state.turned[best]):
            best, worth = column, own
    return best


@numba.njit(cache=True, nogil=True)
def _most_helpful(cuts: CutRows, state: _SearchState, row: int, free: BoolArray, step: int) -> int:
    """The class whose turn gains most for its cost among those that help a broken cut and were not turned in this step; -1: none."""
    best, worth = -1, -np.inf
    for at in range(cuts.row_ends[row], cuts.row_ends[row + 1]):
        column = cuts.row_places[at]
        helps = (cuts.row_entries[at] > 0) == (state.chosen[column] == 0)
        if not helps or free[column] or state.turned[column] == step:
            continue
        own = state.gain[column] / state.cost[column]
        if own > worth or (own == worth and state.turned[column] < state.turned[best]):
            best, worth = column, own
    return best


@numba.njit(cache=True, nogil=True)
def _mend(cuts: CutRows, state: _SearchState, free: BoolArray, cheapest: float, step: int) -> int:
    """Meet broken cuts as long as that stays cheaper than the best so far; the class turned last, -1: none."""
    last = -1
    while state.broken[0] > 0:
        row = state.broken[np.random.randint(1, state.broken[0] + 1)]
        column = _most_helpful(cuts, state, row, free, step)
        if column < 0 or (state.chosen[column] == 0 and state.total[0] + state.cost[column] >= cheapest):
            break
        _turn(cuts, state, column, step)
        last = column
    return last


@numba.njit(cache=True, nogil=True)
def _weigh(cuts: CutRows, state: _SearchState) -> None:
    """What is still broken weighs more from now on."""
    for number in range(1, state.broken[0] + 1):
        row = state.broken[number]
        _count_row(cuts, state, row, -1.0)
        state.weight[row] += 1.0
        _count_row(cuts, state, row, 1.0)


@numba.njit(cache=True, nogil=True)
def _search(cuts: CutRows, state: _SearchState, free: BoolArray, best: IntArray, steps: int, seed: int) -> None:
    """Give up, mend, weigh, again and again; the cheapest point that broke nothing is left in `best`."""
    np.random.seed(seed)
    cheapest, tabu = np.inf, -1
    for step in range(steps):
        while state.broken[0] == 0:
            if state.total[0] < cheapest:
                cheapest = state.total[0]
                best[:] = state.chosen
            if state.taken[0] == 0:
                return
            _turn(cuts, state, _least_missed(state, -1), step)
        if state.taken[0] > 1:
            column = _least_missed(state, tabu)
            if column >= 0:
                _turn(cuts, state, column, step)
        tabu = _mend(cuts, state, free, cheapest, step)
        _weigh(cuts, state)
