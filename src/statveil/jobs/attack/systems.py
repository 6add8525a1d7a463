"""A JJ file and its solution as a case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from statveil.audit.attacks.attacker import Effort
from statveil.audit.attacks.case import ReverseProblem, ReverseSolver, SystemCase, SystemOriginals
from statveil.audit.attacks.public import ReleasedSystem
from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError, StatveilError
from statveil.core.limits import Limits
from statveil.formats.rcta import read_solution
from statveil.formats.system import read_system
from statveil.protect.adjust import adjust_problem
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import problem_of


def reverse_by_adjustment(*, seconds: float = 30.0, method: str = "anneal", seed: int = 0) -> ReverseSolver:
    """Adjust with weights 1/x; a table that no adjustment is found for gives None."""

    def solve(task: ReverseProblem) -> IntArray | None:
        try:
            found = adjust_problem(_problem(task), method=method, limits=Limits(seconds=seconds), seed=seed)
        except StatveilError:
            return None
        return np.asarray(task.published.released + found.deviation, dtype=np.int64)

    return solve


def _problem(task: ReverseProblem) -> ProtectionProblem:
    published = task.published
    return ProtectionProblem(
        relations=published.relations,
        rhs=published.rhs,
        value=published.released,
        weight=1.0 / np.maximum(np.abs(published.released), 1),
        lower=np.minimum(_whole(np.floor(published.low)), published.released),
        upper=np.maximum(_whole(np.ceil(published.high)), published.released),
        sensitive=task.sensitive,
        lower_level=np.where(task.sensitive, task.lower, 0),
        upper_level=np.where(task.sensitive, task.upper, 0),
    )


def _whole(bound: FloatArray) -> IntArray:
    limited = np.clip(bound, -float(2**53), float(2**53))
    return np.where(np.isfinite(bound), limited, np.sign(bound) * NO_LIMIT).astype(np.int64)


NO_BOUND = 2.0**61
USUAL_CAP = 2.0


def system_case(original: Path, solution: Path, *, effort: Effort, reverse: ReverseSolver | None, cap: float = USUAL_CAP) -> SystemCase:
    """The bounds of the file are what the public knows of each true value."""
    system = read_system(original, non_additive=True, negative_levels=True)
    released = read_solution(solution, decimals=system.decimals).released
    if released.shape != system.value.shape:
        raise InputError(f"{solution.name} has {released.size} cells and {original.name} has {system.value.size}.")
    problem = problem_of(system)
    low, high = (bound.astype(np.float64) for bound in (problem.lower, problem.upper))
    low, high = np.where(low <= -NO_BOUND, -np.inf, low), np.where(high >= NO_BOUND, np.inf, high)
    public = ReleasedSystem(
        relations=system.relations,
        rhs=system.rhs,
        released=released,
        low=low,
        high=high,
        known_bounds=bool(np.isfinite(high[problem.sensitive]).any() or (low[problem.sensitive] > 0).any()),
    )
    secret = SystemOriginals(
        value=problem.value,
        sensitive=problem.sensitive,
        lower=np.where(problem.sensitive, problem.lower_level, 0),
        upper=np.where(problem.sensitive, problem.upper_level, 0),
    )
    return SystemCase(published=public, originals=secret, cap=cap, effort=effort, reverse=reverse)
