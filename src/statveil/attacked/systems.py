"""A JJ file and its solution as a case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from statveil.audit.attacks.case import Effort
from statveil.audit.attacks.static import SystemCase
from statveil.audit.attacks.system import Originals, Published, Reverse
from statveil.errors import InputError
from statveil.protect.system import problem_of
from statveil.table.exchange.files import read_system
from statveil.table.exchange.solution import read_solution

NO_BOUND = 2.0**61
USUAL_CAP = 2.0


def system_case(original: Path, solution: Path, *, effort: Effort, reverse: Reverse | None, cap: float = USUAL_CAP) -> SystemCase:
    """The bounds of the file are what the public knows of each true value."""
    system = read_system(original, non_additive=True, negative_levels=True)
    released = read_solution(solution, decimals=system.decimals).released
    if released.shape != system.value.shape:
        raise InputError(f"{solution.name} has {released.size} cells and {original.name} has {system.value.size}.")
    problem = problem_of(system)
    low, high = (bound.astype(np.float64) for bound in (problem.lower, problem.upper))
    low, high = np.where(low <= -NO_BOUND, -np.inf, low), np.where(high >= NO_BOUND, np.inf, high)
    public = Published(
        relations=system.relations,
        rhs=system.rhs,
        released=released,
        low=low,
        high=high,
        known_bounds=bool(np.isfinite(high[problem.sensitive]).any() or (low[problem.sensitive] > 0).any()),
    )
    secret = Originals(
        value=problem.value,
        sensitive=problem.sensitive,
        lower=np.where(problem.sensitive, problem.lower_level, 0),
        upper=np.where(problem.sensitive, problem.upper_level, 0),
    )
    return SystemCase(published=public, originals=secret, cap=cap, effort=effort, reverse=reverse)
