"""Cell suppression the slow way: every set of cells in order of cost, each judged by two linear programs a sensitive cell."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from statveil.suppress.cells.problem import ENDLESS, SuppressionProblem


def is_safe(problem: SuppressionProblem, suppressed) -> bool:
    """Whether every sensitive cell can be as far from its value as its levels ask, for one who sees all other cells."""
    matrix = problem.relations.toarray().astype(float)
    fixed = ~(suppressed | problem.hidden)
    low = np.where(fixed, 0, np.maximum(problem.lower, -(10**9)) - problem.value)
    high = np.where(fixed, 0, np.where(problem.upper >= ENDLESS, 10**9, problem.upper) - problem.value)
    for cell in np.flatnonzero(problem.primary):
        for sense, level in ((1, problem.upper_level[cell]), (-1, problem.lower_level[cell])):
            cost = np.zeros(problem.size)
            cost[cell] = -sense
            end = linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=np.stack([low, high], axis=1))
            if not suppressed[cell] or end.status != 0 or -end.fun < level - 1e-6:
                return False
    return True


def cheapest_pattern(problem: SuppressionProblem) -> int | None:
    """The least cost of a safe pattern, in the problem's units; None where there is none. For costs that are all the same."""
    free = np.flatnonzero(problem.candidate)
    (price,) = set(problem.cost[free].tolist()) or {0}
    for count in range(free.size + 1):
        for chosen in combinations(free.tolist(), count):
            suppressed = problem.primary.copy()
            suppressed[list(chosen)] = True
            if _has_partners(problem, suppressed) and is_safe(problem, suppressed):
                return count * price
    return None


def _has_partners(problem: SuppressionProblem, suppressed) -> bool:
    """No sum with a single suppressed cell, if that is sensitive."""
    inside = problem.relations.toarray()[:, suppressed | problem.hidden] != 0
    primary = problem.primary[suppressed | problem.hidden]
    return not (inside[inside.sum(axis=1) == 1] & primary).any()
