"""Cell suppression the slow way: every set of cells in order of cost, each judged by two linear programs a sensitive cell."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from statveil.suppress.cells.problem import ENDLESS, SuppressionProblem


def is_safe(problem: SuppressionProblem, suppressed) -> bool:
    """Whether every sensitive cell can be as far from its value as its levels ask, for one who sees all other cells."""
    return disclosures(problem, suppressed) == (0, 0)


def disclosures(problem: SuppressionProblem, suppressed) -> tuple[int, int]:
    """How many sensitive cells such a reader knows exactly, and of how many more he knows more than their levels allow."""
    matrix = problem.relations.toarray().astype(float)
    fixed = ~(suppressed | problem.hidden)
    low = np.where(fixed, 0, np.maximum(problem.lower, -(10**9)) - problem.value)
    high = np.where(fixed, 0, np.where(problem.upper >= ENDLESS, 10**9, problem.upper) - problem.value)
    exact = narrow = 0
    for cell in np.flatnonzero(problem.primary).tolist():
        down, up = (_farthest(matrix, low, high, cell, sense) for sense in (-1, 1))
        shown = not suppressed[cell] or max(down, up) < 1e-6
        exact += shown
        narrow += not shown and (down < problem.lower_level[cell] - 1e-6 or up < problem.upper_level[cell] - 1e-6)
    return exact, narrow


def _farthest(matrix, low, high, cell: int, sense: int) -> float:
    """How far a cell can go; nowhere where the solver finds no end."""
    cost = np.zeros(low.size)
    cost[cell] = -sense
    end = linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=np.stack([low, high], axis=1))
    return -end.fun if end.status == 0 else 0.0


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
