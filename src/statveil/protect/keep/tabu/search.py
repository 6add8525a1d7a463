"""The tabu search of S1 section 4 on the true objective, in its three phases: feasible, improve, tabu.

The first phase brings the means of an additive and safe table to rest; the second takes moves that improve; the third also takes the least
bad of some moves where none improves, and lets their cells rest for a while. Every table on the way is additive and safe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.protect.keep.problems import means_off, with_means
from statveil.protect.keep.tabu.moves import CellRanges, SearchState, best_length, cost_of, ranges_of, relations_of, scratch_for, walk, wipe
from statveil.protect.keep.tabu.objective import Objective, Score, Wishes, no_sums, sum_up, sums_of, take_sums
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem

ONE_UNIT, BEST_LENGTH, ANY_LENGTH = 0, 1, 2
"""How far to take a move whose worth only measures can tell."""
LENGTHS = (ANY_LENGTH, ANY_LENGTH, BEST_LENGTH, ONE_UNIT)
"""One of these by chance where measures are kept."""


class TabuTuning(NamedTuple):
    """How long the search goes on at each of its steps. By judgement; what it reaches is in benchmarks/RESULTS.md, "Keeping statistics"."""

    chunk: int = 2_000
    """Moves looked at between two looks at the clock."""
    least_patience: int = 200
    """Moves in a row that bring nothing after which nothing improves any more,"""
    patience_per_cell: int = 4
    """so many more for each cell that a move can start with,"""
    most_patience: int = 8_000
    """up to so many."""
    worth: float = 1e-4
    """Gains smaller than this share of the objective do not make a search go on."""
    least_gain: float = 1e-12
    """Gains smaller than this are rounding."""
    most_flips: int = 3
    """Senses forced over at once, at most."""
    resting: int = 12
    """Kicks during which a sense that was forced over stays."""
    deepest: int = 20
    """Kicks without a new best table after which the search goes back to the best."""
    fruitless: int = 500
    """Kicks without a better table after which the search ends by itself."""
    attempts: int = 20
    """Walks that are begun, at most, for one proposal or for each sense that is to be forced over."""
    heat: float = 6.0
    """How much chance there is at most in the choice of the cells of a move, beside what speaks for each."""


TUNING = TabuTuning()


class TabuSearch:
    """A search from one table of a problem. `table` is the best so far, `score` how good it is."""

    def __init__(self, objective: Objective, start: IntArray, *, seed: int = 0) -> None:
        problem = self.problem = objective.problem
        self.objective, self.targets = objective, objective.targets
        self._plain = _MoveSpace(problem, problem, self.targets)
        self._joined = _MoveSpace(problem, with_means(problem, self.targets), self.targets)
        self._wishes = _padded(objective.wishes, self._joined.more)
        self._z = np.concatenate([start.astype(np.int64), np.zeros(self._joined.more, dtype=np.int64)])
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._resting = np.zeros(self._z.size, dtype=np.int64)
        self._clock, self._kicks, self.fruitless = 0, 0, 0
        self._seeds = _seeds(problem, self.targets)
        self._choices = np.flatnonzero(problem.can_go_up & problem.can_go_down)
        self._furthest = int(np.abs(problem.value).max(initial=1))
        self._patience = int(min(TUNING.least_patience + TUNING.patience_per_cell * self._seeds.size, TUNING.most_patience))
        self.table = start.astype(np.int64).copy()
        self.score = objective.score(self.table)

    @property
    def done(self) -> bool:
        """Nothing better for so long that nothing is expected any more."""
        return self.fruitless >= TUNING.fruitless or self._seeds.size == 0

    def run(self, looks: int, *, tabu: bool = True, more_time: Callable[[], bool] = lambda: True) -> bool:
        """Look at about so many moves; tells whether a better table was found. Without `tabu`, only moves that improve are taken.

        Ctrl-C is handed on once what was found is in `table`, and so is the failure of a measure.
        """
        before = self.score
        left = looks
        while left > 0 and not self.done and more_time():
            used, stuck = self._measured_descent(left, more_time) if self.objective.measures else self._descent(left)
            left -= used
            if stuck and tabu:
                self._force()
            elif stuck:
                break
        return self.score < before

    def _moving(self) -> _MoveSpace:
        """Once every mean is kept, the means are relations, and no move breaks them again."""
        return self._plain if any(means_off(self._z, self.targets)) else self._joined

    def _state(self, space: _MoveSpace, z: IntArray, wishes: Wishes) -> SearchState:
        sums, more = sums_of(self._wishes, z), no_sums(self._wishes)
        return SearchState(z, space.relations, space.ranges, wishes, sums, more, space.scratch, self._resting)

    def _descent(self, looks: int) -> tuple[int, bool]:
        space, seed = self._moving(), int(self._rng.integers(2**31))
        worth, state = TUNING.worth * abs(self.score.objective), self._state(space, self._z, self._wishes)
        try:
            _, used, stuck = descend(min(looks, TUNING.chunk), self._patience, worth, seed, state, self._seeds, self._clock)
        finally:
            self._offer(self.objective.score(self._z[: self.problem.size]))
        return used, stuck and space is self._moving()

    def _force(self) -> None:
        """The third phase: force senses over, or go back to the best table where that has led nowhere."""
        self._clock += 1
        self._kicks += 1
        self.fruitless += 1
        if self._kicks > TUNING.deepest:
            self._z[: self.problem.size] = self.table
            self._kicks = 0
        if self._choices.size == 0:
            return
        flips, seed = int(self._rng.integers(1, TUNING.most_flips + 1)), int(self._rng.integers(2**31))
        without_means = self._wishes._replace(for_mean=np.zeros(len(self.targets)))
        kick(flips, seed, self._state(self._plain, self._z, without_means), self._choices, self._clock)

    def _offer(self, score: Score) -> None:
        """Keep the table of this score if it is safe and better: the kernel's word is a claim."""
        own = self._z[: self.problem.size].copy()
        if score < self.score and self.problem.accepts(own):
            self.table, self.score, self.fruitless, self._kicks = own, score, 0, 0

    def _measured_descent(self, looks: int, more_time: Callable[[], bool]) -> tuple[int, bool]:
        """As `_descent`, where measures are worked out anew for each move looked at; they may be slow, so the clock is asked each time."""
        here, idle = self.objective.score(self._z[: self.problem.size]), 0
        try:
            for look in range(min(looks, TUNING.chunk)):
                if not more_time():
                    return max(look, 1), False
                table = self._proposal()
                idle += 1
                if table is not None and (score := self.objective.score(table[: self.problem.size])) < here:
                    worth = score.means_off < here.means_off or here.objective - score.objective > TUNING.worth * abs(self.score.objective)
                    here, self._z, idle = score, table, 0 if worth else idle
                if idle >= self._patience:
                    return look + 1, True
        finally:
            self._offer(here)
        return min(looks, TUNING.chunk), False

    def _proposal(self) -> IntArray | None:
        """The table after one more move: mostly by a length of any scale, for how far to go is known to the measures alone."""
        table = self._z.copy()
        state = self._state(self._moving(), table, self._wishes)
        seed, length = int(self._rng.integers(2**31)), LENGTHS[int(self._rng.integers(len(LENGTHS)))]
        return table if propose(seed, state, self._seeds, length, self._furthest, self._clock) else None


class _MoveSpace:
    """What moves are made of, with or without the means among the relations."""

    def __init__(self, own: ProtectionProblem, problem: ProtectionProblem, targets: Sequence[Target]) -> None:
        self.more = sum(target.mean for target in targets)
        self.relations = relations_of(problem)
        self.ranges = _with_fixed(ranges_of(own), self.more)
        self.scratch = scratch_for(self.relations)


def search_from(search: TabuSearch, *, more_time: Callable[[], bool], tell: Callable[[IntArray, str], None]) -> None:
    """The three phases, anytime: `tell` hears each better table with the phase it was found in, `more_time` is asked between chunks.

    After Ctrl-C, or when a measure fails, it hears of the best table once more.
    """
    try:
        _phases(search, more_time, tell)
    except (KeyboardInterrupt, InputError):
        tell(search.table, "stopped")
        raise


def _phases(search: TabuSearch, more_time: Callable[[], bool], tell: Callable[[IntArray, str], None]) -> None:
    while more_time() and not search.done:
        feasible = search.score.means_off == 0
        if not search.run(TUNING.chunk, tabu=False, more_time=more_time):
            break
        tell(search.table, "improve" if feasible else "feasible")
    while more_time() and not search.done:
        if search.run(5 * TUNING.chunk, more_time=more_time):
            tell(search.table, "tabu")


def _seeds(problem: ProtectionProblem, targets: Sequence[Target]) -> IntArray:
    """Cells to start moves with: those that can move, and half of all entries in the targets."""
    moving = problem.free.low < problem.free.high
    every = np.flatnonzero(moving)
    wanted = np.unique(np.concatenate([target.cells for target in targets])) if targets else np.zeros(0, dtype=np.int64)
    wanted = wanted[moving[wanted]]
    times = max(every.size // max(wanted.size, 1), 1)
    return np.concatenate([every, np.tile(wanted, times)]).astype(np.int64)


def _padded(wishes: Wishes, more: int) -> Wishes:
    """For so many cells more, which no wish is about."""
    return wishes._replace(
        at=np.concatenate([wishes.at, np.full(more, wishes.at[-1])]),
        pair_at=np.concatenate([wishes.pair_at, np.full(more, wishes.pair_at[-1])]),
    )


def _with_fixed(ranges: CellRanges, more: int) -> CellRanges:
    """For so many cells more, which cannot move."""

    limits = ("low", "high", "down_low", "down_high", "up_low", "up_high", "sensitive")
    longer: dict[str, Any] = {name: np.pad(getattr(ranges, name), (0, more)) for name in limits}
    return ranges._replace(**longer, weight=np.concatenate([ranges.weight, np.ones(more)]))


@njit(cache=True)
def _seed_cell(seeds, state):  # type: ignore[no-untyped-def]
    """A cell to start with and which way: any of the seeds, or one that has moved, mostly back."""
    z, sensitive = state.z, state.ranges.sensitive
    cell = seeds[np.random.randint(seeds.size)]
    if np.random.random() < 0.4:
        for _ in range(8):
            if z[cell] != 0 and not sensitive[cell]:
                break
            cell = seeds[np.random.randint(seeds.size)]
    amount = 1 if np.random.random() < 0.5 else -1
    if z[cell] != 0 and np.random.random() < 0.5:
        amount = -1 if z[cell] > 0 else 1
    return cell, amount


@njit(cache=True)
def _walk_from(cell, amount, state, heat):  # type: ignore[no-untyped-def]
    """`walk` in the state's table."""
    return walk(cell, amount, state.z, state.relations, state.ranges, state.scratch, heat)


@njit(cache=True)
def _take(length, cells, state):  # type: ignore[no-untyped-def]
    """Take the move that the scratch holds, and keep the running sums."""
    z, step = state.z, state.scratch.step
    sum_up(cells, step, z, state.wishes, state.more)
    take_sums(length, state.sums, state.more, state.wishes.size.size)
    for number in range(cells.size):
        z[cells[number]] += length * step[cells[number]]


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
def propose(seed, state, seeds, how_far, furthest, clock):  # type: ignore[no-untyped-def]
    """Change the table by one move; tells whether there was one.

    By how much: by what is best for all but the measures, by one unit either way, or by any length, up to `furthest`. What it does
    to the measures is not known here.
    """
    np.random.seed(seed)
    scratch = state.scratch
    for _ in range(TUNING.attempts):
        cell, amount = _seed_cell(seeds, state)
        count, touched = _walk_from(cell, amount, state, TUNING.heat / 2)
        length = 0
        if count > 0:
            cells = scratch.cells[:count]
            if how_far == ANY_LENGTH:
                length = _any_length(cells, scratch.step, state.z, state.ranges, furthest)
                change = cost_of(length, cells, scratch.step, state.z, state.ranges, state.resting, clock)
            else:
                lengths = scratch.lengths[: scratch.lengths.size if how_far == BEST_LENGTH else 2]
                length, change = best_length(cells, state, lengths, clock, False)
            if length != 0 and change < np.inf:
                _take(length, cells, state)
            else:
                length = 0
        wipe(count, touched, scratch)
        if length != 0:
            return True
    return False


@njit(cache=True)
def descend(looks, patience, worth, seed, state, seeds, clock):  # type: ignore[no-untyped-def]
    """Take moves that improve until so many were looked at, or so many in a row brought nothing worth mentioning.

    Tells (change of the objective, moves looked at, whether it ended because nothing improves any more).
    """
    np.random.seed(seed)
    gained, idle = 0.0, 0
    for look in range(looks):
        cell, amount = _seed_cell(seeds, state)
        count, touched = _walk_from(cell, amount, state, TUNING.heat * np.random.random())
        idle += 1
        if count > 0:
            cells = state.scratch.cells[:count]
            length, change = best_length(cells, state, state.scratch.lengths, clock, False)
            if change < -TUNING.least_gain:
                _take(length, cells, state)
                gained += change
                idle = 0 if change < -worth else idle
        wipe(count, touched, state.scratch)
        if idle >= patience:
            return gained, look + 1, True
    return gained, looks, False


@njit(cache=True)
def kick(flips, seed, state, choices, clock):  # type: ignore[no-untyped-def]
    """Force the senses of some sensitive cells over, each by the least bad of a few moves; the cells rest. Tells how many."""
    np.random.seed(seed)
    done = 0
    for _ in range(TUNING.attempts * flips):
        cell = choices[np.random.randint(choices.size)]
        amount = -1 if state.z[cell] > 0 else 1
        if state.resting[cell] > clock:
            continue
        count, touched = _walk_from(cell, amount, state, TUNING.heat * np.random.random())
        if count > 0:
            cells = state.scratch.cells[:count]
            length, change = best_length(cells, state, state.scratch.lengths, clock, True)
            if change < np.inf:
                _take(length, cells, state)
                state.resting[cell] = clock + TUNING.resting
                done += 1
        wipe(count, touched, state.scratch)
        if done >= flips:
            break
    return done
