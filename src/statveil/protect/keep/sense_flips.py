"""Senses searched for the linear programs: turn those over that bring the statistics nearer, each priced by one warm program.

The program prices the least change with the senses as they are, the means kept; the statistics of that table are the true ones. So
senses are found whose cheapest table is already close to what is wanted, and the programs of the statistics have little left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.keep.programs import QualityProgram
from statveil.protect.keep.tabu.objective import Objective, Score

TRIED = 40
"""Turns that are priced in a row without a better one, of those that promise most."""
ALIKE = 0.5
"""Differences of the objective that do not decide which turn promises more."""


class Priced(NamedTuple):
    """Senses, the cheapest table with them (not yet whole), and how good that is."""

    senses: IntArray
    table: FloatArray
    score: Score


def search_senses(
    program: QualityProgram, objective: Objective, senses: IntArray, *, seconds_left: Callable[[], float], seed: int
) -> Priced | None:
    """Turn after turn while one of the promising ones makes the table better; single ones first, then two at once."""
    rng = np.random.Generator(np.random.PCG64(seed))
    best = _priced(program, objective, senses, seconds_left())
    if best is None:
        return None
    together = 1
    while seconds_left() > 0 and together <= 2:
        better = _better(program, objective, best, together, rng, seconds_left)
        best, together = (best, together + 1) if better is None else (better, 1)
    return best


def _priced(program: QualityProgram, objective: Objective, senses: IntArray, seconds: float) -> Priced | None:
    table = program.cheapest(senses, seconds=max(seconds, 0.1))
    return None if table is None else Priced(senses, table, objective.score(table))


def _better(
    program: QualityProgram,
    objective: Objective,
    best: Priced,
    together: int,
    rng: np.random.Generator,
    seconds_left: Callable[[], float],
) -> Priced | None:
    for cells in _promising(program, objective, best, together, rng):
        if seconds_left() <= 0:
            return None
        senses = best.senses.copy()
        senses[cells] = -senses[cells]
        found = _priced(program, objective, senses, seconds_left())
        if found is not None and found.score < best.score:
            return found
    return None


def _promising(program: QualityProgram, objective: Objective, best: Priced, together: int, rng: np.random.Generator) -> Sequence[IntArray]:
    """Cells whose turn would bring the statistics nearest to what is wanted, were nothing else to change; of those alike, any."""
    problem = program.problem
    choice = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    if choice.size < together:
        return []
    groups = choice[:, None] if together == 1 else rng.choice(choice, size=(6 * TRIED, 2))
    promise = []
    for cells in groups:
        turned = best.table.copy()
        turned[cells] = np.where(best.senses[cells] > 0, problem.down.high[cells], problem.up.low[cells])
        promise.append(objective.lost(turned))
    order = np.lexsort((rng.random(len(promise)), np.floor(np.array(promise) / ALIKE)))
    return [groups[place] for place in order[:TRIED]]
