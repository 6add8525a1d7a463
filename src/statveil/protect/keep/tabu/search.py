"""The tabu search of S1 section 4 on the true objective, in its three phases: feasible, improve, tabu.

    a * change + b (1 - corr^2) + c |1 - slope| + d |variance ratio - 1|

The first phase brings the means of an additive and safe table to rest; the second takes moves that improve; the third also takes the least
bad of some moves where none improves, and lets their cells rest for a while. Every table on the way is additive and safe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.keep.means import means_off, with_means
from statveil.protect.keep.tabu.kernel import ANY_LENGTH, BEST_LENGTH, ONE_UNIT, descend, kick, propose
from statveil.protect.keep.tabu.moves import Ranges, Wishes, ranges_of, relations_of, scratch_for
from statveil.protect.keep.tabu.objective import Objective, Score, no_sums, sums_of
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem

CHUNK = 2_000
"""Moves looked at between two looks at the clock."""
LEAST_PATIENCE, PATIENCE_PER_CELL, MOST_PATIENCE = 200, 4, 8_000
"""Moves in a row that bring nothing after which nothing improves any more: a base and so many a cell, up to a limit."""
WORTH = 1e-4
"""Gains smaller than this share of the objective do not make a search go on."""
MOST_FLIPS = 3
"""Senses forced over at once, at most."""
DEEPEST = 20
"""Kicks without a new best table after which the search goes back to the best."""
FRUITLESS = 500
"""Kicks without a better table after which the search ends by itself."""
REACHES = (ANY_LENGTH, ANY_LENGTH, BEST_LENGTH, ONE_UNIT)
"""How far a move is taken where measures are kept: one of these by chance."""


class TabuSearch:
    """A search from one table of a problem. `table` is the best so far, `score` how good it is."""

    def __init__(self, objective: Objective, start: IntArray, *, seed: int = 0) -> None:
        problem = self.problem = objective.problem
        self.objective, self.targets = objective, objective.targets
        self._plain = _Moving(problem, problem, self.targets)
        self._joined = _Moving(problem, with_means(problem, self.targets), self.targets)
        self._wishes = _padded(objective.wishes, self._joined.more)
        self._z = np.concatenate([start.astype(np.int64), np.zeros(self._joined.more, dtype=np.int64)])
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._resting = np.zeros(self._z.size, dtype=np.int64)
        self._clock, self._kicks, self.fruitless = 0, 0, 0
        self._seeds = _seeds(problem, self.targets)
        self._choices = np.flatnonzero(problem.can_go_up & problem.can_go_down)
        self._furthest = int(np.abs(problem.value).max(initial=1))
        self._patience = int(min(LEAST_PATIENCE + PATIENCE_PER_CELL * self._seeds.size, MOST_PATIENCE))
        self.table = start.astype(np.int64).copy()
        self.score = objective.score(self.table)

    @property
    def done(self) -> bool:
        """Nothing better for so long that nothing is expected any more."""
        return self.fruitless >= FRUITLESS or self._seeds.size == 0

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

    def _moving(self) -> _Moving:
        """Once every mean is kept, the means are relations, and no move breaks them again."""
        return self._plain if any(means_off(self._z, self.targets)) else self._joined

    def _ground(self, moving: _Moving, wishes: Wishes | None = None) -> tuple[Any, Any, Any, Any, Any, Any]:
        """What the kernels stand on: the relations and ranges of moves, the wishes (other ones if given), and their sums in the table."""
        sums, more = sums_of(self._wishes, self._z), no_sums(self._wishes)
        return moving.relations, moving.ranges, wishes or self._wishes, sums, more, moving.scratch

    def _descent(self, looks: int) -> tuple[int, bool]:
        moving, seed = self._moving(), int(self._rng.integers(2**31))
        worth = WORTH * abs(self.score.objective)
        try:
            _, used, stuck = descend(
                min(looks, CHUNK), self._patience, worth, seed, self._z, *self._ground(moving), self._seeds, self._resting, self._clock
            )
        finally:
            self._offer(self.objective.score(self._z[: self.problem.size]))
        return used, stuck and moving is self._moving()

    def _force(self) -> None:
        """The third phase: force senses over, or go back to the best table where that has led nowhere."""
        self._clock += 1
        self._kicks += 1
        self.fruitless += 1
        if self._kicks > DEEPEST:
            self._z[: self.problem.size] = self.table
            self._kicks = 0
        if self._choices.size == 0:
            return
        flips, seed = int(self._rng.integers(1, MOST_FLIPS + 1)), int(self._rng.integers(2**31))
        without_means = self._wishes._replace(for_mean=np.zeros(len(self.targets)))
        kick(flips, seed, self._z, *self._ground(self._plain, without_means), self._choices, self._resting, self._clock)

    def _offer(self, score: Score) -> None:
        """Keep the table of this score if it is safe and better: the kernel's word is a claim."""
        own = self._z[: self.problem.size].copy()
        if score < self.score and self.problem.accepts(own):
            self.table, self.score, self.fruitless, self._kicks = own, score, 0, 0

    def _measured_descent(self, looks: int, more_time: Callable[[], bool]) -> tuple[int, bool]:
        """As `_descent`, where measures are worked out anew for each move looked at; they may be slow, so the clock is asked each time."""
        here, idle = self.objective.score(self._z[: self.problem.size]), 0
        try:
            for look in range(min(looks, CHUNK)):
                if not more_time():
                    return max(look, 1), False
                table = self._proposal()
                idle += 1
                if table is not None and (score := self.objective.score(table[: self.problem.size])) < here:
                    worth = score.means_off < here.means_off or here.objective - score.objective > WORTH * abs(self.score.objective)
                    here, self._z, idle = score, table, 0 if worth else idle
                if idle >= self._patience:
                    return look + 1, True
        finally:
            self._offer(here)
        return min(looks, CHUNK), False

    def _proposal(self) -> IntArray | None:
        """The table after one more move: mostly by a length of any scale, for how far to go is known to the measures alone."""
        table, ground = self._z.copy(), self._ground(self._moving())
        seed, reach = int(self._rng.integers(2**31)), REACHES[int(self._rng.integers(len(REACHES)))]
        moved = propose(seed, table, *ground, self._seeds, reach, self._furthest, self._resting, self._clock)
        return table if moved else None


class _Moving:
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
        if not search.run(CHUNK, tabu=False, more_time=more_time):
            break
        tell(search.table, "improve" if feasible else "feasible")
    while more_time() and not search.done:
        if search.run(5 * CHUNK, more_time=more_time):
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


def _with_fixed(ranges: Ranges, more: int) -> Ranges:
    """For so many cells more, which cannot move."""

    def longer(limit: AnyArray) -> AnyArray:
        return np.concatenate([limit, np.zeros(more, dtype=limit.dtype)])

    return Ranges(
        longer(ranges.low),
        longer(ranges.high),
        longer(ranges.down_low),
        longer(ranges.down_high),
        longer(ranges.up_low),
        longer(ranges.up_high),
        longer(ranges.sensitive),
        np.concatenate([ranges.weight, np.ones(more)]),
        ranges.square,
    )
