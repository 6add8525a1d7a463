"""Tables that keep statistics."""

from __future__ import annotations

import numpy as np

import statveil as sv
from statveil.protect.fixed_senses import FixedSenses, adjust_with_senses
from statveil.protect.keep.tabu.objective import Objective
from statveil.protect.keep.tabu.search import TabuSearch
from statveil.protect.keep.wishes import targets_of

S = "sensitive"


def some_table(problem: sv.ProtectionProblem, seed: int = 0) -> np.ndarray:
    """A safe table: the cheapest with the first senses by chance that have one."""
    rng = np.random.Generator(np.random.PCG64(seed))
    program = FixedSenses(problem)
    for _ in range(50):
        found = adjust_with_senses(program, np.where(problem.sensitive, rng.choice([-1, 1], problem.size), 0), seconds=300)
        if found is not None:
            return found
    raise AssertionError


def search_for(problem: sv.ProtectionProblem, keep: sv.keep.Keep, start: np.ndarray, *, seed: int = 0) -> TabuSearch:
    objective = Objective(problem, targets_of(keep, problem), keep, cost=problem.cost(start))
    return TabuSearch(objective, start, seed=seed)
