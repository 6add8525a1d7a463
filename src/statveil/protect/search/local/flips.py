"""Dual-priced flips (docs/science.md, section 4): price each change of sense by the duals of the fixed-sense program, re-optimise exactly.

The program's value is convex in the deviations forced on it, so the priced change never overstates the true one: a flip
whose price is not negative cannot improve on its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.fixed_senses import make_whole
from statveil.protect.search.exact import some_choices
from statveil.protect.search.local import anneal
from statveil.protect.search_state import Search


class FlipsTuning(NamedTuple):
    """How many senses are flipped together, and what a kick does; all by judgement."""

    batch: int = 16  # senses flipped together at first
    largest_batch: int = 64
    left_alone: int = 20  # rounds for which a flip that brought nothing alone is not tried again
    fewest_kicked: int = 2
    most_kicked: int = 12  # senses turned by a kick; at most a third of those that have a choice
    rounds_after_a_kick: int = 60


TUNING = FlipsTuning()


def run(search: Search, *, rounds: int = 400) -> None:
    """Method `flips`: descend from the start given, or from annealed senses."""
    anneal.begin(search)
    if search.best is not None:
        search.enter("flipping senses")
        flip_while_better(search, search.problem.senses_of(search.best), rounds=rounds)


def flip_while_better(search: Search, senses: IntArray, *, rounds: int = 200) -> IntArray:
    """Descend by flipping the most promising senses together, fewer when too many were tried; keep what is better."""
    program, problem = search.program, search.problem
    solution = program.solve(senses, seconds=search.seconds_left)
    if solution.x is None or solution.row_duals is None:
        return senses
    value, duals = solution.objective, solution.row_duals
    search.offer(make_whole(program, senses, program.deviation(solution.x), seconds=search.seconds_left))
    batch, tried = TUNING.batch, np.zeros(problem.size, dtype=np.int64)
    for turn in range(1, rounds + 1):
        price = prices(search, senses, program.deviation(solution.x), duals)
        candidates = _promising(np.where(tried < turn, price, np.inf))
        if candidates.size == 0 or search.done:
            break
        chosen = candidates[:batch]
        changed = senses.copy()
        changed[chosen] *= -1
        trial = program.solve(changed, seconds=search.seconds_left, worth=value * program.unit / program.price)
        if (
            trial.ending is Ending.OPTIMAL
            and trial.x is not None
            and trial.row_duals is not None
            and trial.objective < value - 1e-9 * abs(value)
        ):
            senses, solution, value, duals = changed, trial, trial.objective, trial.row_duals
            batch = min(batch * 2, TUNING.largest_batch)
            search.offer(make_whole(program, senses, program.deviation(trial.x), seconds=search.seconds_left))
        elif batch > 1:
            batch = max(1, batch // 4)
        else:
            tried[chosen] = turn + TUNING.left_alone  # leave it alone for a while
    return senses


def kick(search: Search, *, patience: int) -> None:
    """Turn a few senses of the best table, anywhere or near one another, and descend from there; until `patience` kicks bring nothing."""
    choices = search.problem.choices.size
    idle = turn = 0
    while search.best is not None and choices and idle < patience and not search.done:
        before, senses = search.objective, search.problem.senses_of(search.best)
        count = int(search.rng.integers(TUNING.fewest_kicked, min(TUNING.most_kicked, max(TUNING.fewest_kicked, choices // 3)) + 1))
        senses[some_choices(search, count, around=turn % 2 == 1)] *= -1
        flip_while_better(search, senses, rounds=TUNING.rounds_after_a_kick)
        idle, turn = 0 if search.objective < before else idle + 1, turn + 1


def prices(search: Search, senses: IntArray, deviation: FloatArray, duals: FloatArray) -> FloatArray:
    """What each cell's flip would cost at the least, by the program's duals; endless for a cell that has no choice."""
    problem, program = search.problem, search.program
    other = np.where(senses > 0, problem.down.high, problem.up.low).astype(np.float64)
    step = (other - deviation) / program.unit
    own = problem.weight * program.price * (np.abs(other) - np.abs(deviation)) / program.unit
    return np.where(problem.can_go_up & problem.can_go_down, own - program.pull(duals) * step, np.inf)


def _promising(price: FloatArray) -> IntArray:
    """Cells whose flip has a negative price, the most negative first."""
    order = np.argsort(price, kind="stable")
    return order[price[order] < -1e-9]
