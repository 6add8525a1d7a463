"""How far suppressed cells can be from their values, by linear programs: a solver's claims, each with a table to show for it.

An end is not looked for once some possible table was seen to reach what is needed. Tables seen are offered to `keep`, which
checks them in whole numbers (`audit.patterns.witnesses`); only what it accepts counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.errors import SolverFailed
from statveil.solve.highs import ColumnRanges
from statveil.solve.model import LinearModel

Keep = Callable[[FloatArray], object]
Open = Callable[[], tuple[BoolArray, BoolArray]]


class ReachTuning(NamedTuple):
    """How many tables in random directions come before the programs for single cells. By judgement."""

    rounds: int = 12
    seed: int = 1


TUNING = ReachTuning()


class ReachProblem(NamedTuple):
    """Deviations of the cells of one component: `matrix @ d == 0`, `-down <= d <= up`, scaled for a solver that computes in doubles."""

    matrix: csr_matrix
    down: IntArray
    up: IntArray


class Reached(NamedTuple):
    """How far down and up a program says a cell can go (none was solved: not a number), and how many programs were solved."""

    down: FloatArray
    up: FloatArray
    programs: int


def reach(problem: ReachProblem, keep: Keep, still_open: Open) -> Reached:
    """Look for tables until no end is open, or a program of its own was solved for each."""
    size = problem.down.size
    scale = max(float(max(problem.down.max(initial=1), problem.up.max(initial=1))) / 1e6, 1.0)
    ranges = ColumnRanges(
        LinearModel(
            cost=np.zeros(size),
            matrix=problem.matrix,
            row_lower=np.zeros(problem.matrix.shape[0]),
            row_upper=np.zeros(problem.matrix.shape[0]),
            lower=-problem.down / scale,
            upper=problem.up / scale,
        )
    )
    if not ranges.possible:
        raise SolverFailed("The solver finds no table at all, though the true one is there.", hint="Try again with fewer decimals.")
    programs = _at_random(ranges, scale, keep, still_open)
    ends = Reached(np.full(size, np.nan), np.full(size, np.nan), programs)
    return ends._replace(programs=programs + _one_by_one(ranges, scale, keep, still_open, ends))


def _at_random(ranges: ColumnRanges, scale: float, keep: Keep, still_open: Open) -> int:
    rng = np.random.default_rng(TUNING.seed)
    for solved in range(TUNING.rounds):
        down, up = still_open()
        if np.count_nonzero(down | up) < 2:
            return solved
        wish = np.where(up & ~down, -1.0, np.where(down & ~up, 1.0, rng.choice([-1.0, 1.0], size=up.size)))
        ranges.toward(np.where(down | up, wish * rng.uniform(0.5, 1.5, size=up.size), 0.0))
        keep(ranges.point * scale)
    return TUNING.rounds


def _one_by_one(ranges: ColumnRanges, scale: float, keep: Keep, still_open: Open, ends: Reached) -> int:
    solved = 0
    for cell in range(ends.down.size):
        for which, end, claims in ((0, ranges.lowest, ends.down), (1, ranges.highest, ends.up)):
            if still_open()[which][cell]:
                claims[cell] = abs(end(cell)) * scale
                solved += 1
                keep(ranges.point * scale)
    return solved
