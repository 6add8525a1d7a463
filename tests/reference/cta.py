"""Plain slow controlled tabular adjustment: every choice of senses, one linear program each (scipy, not our solvers)."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from statveil.protect.problem import ProtectionProblem


def cheapest_cost(problem: ProtectionProblem) -> float:
    """The least L1 cost over all senses, infinite when no choice of senses is feasible. For a handful of sensitive cells."""
    cells = np.flatnonzero(problem.sensitive)
    best = float("inf")
    for signs in itertools.product((1, -1), repeat=cells.size):
        senses = np.zeros(problem.size, dtype=np.int64)
        senses[cells] = signs
        best = min(best, _cost_with(problem, senses))
    return best


def _cost_with(problem: ProtectionProblem, senses: np.ndarray) -> float:
    allowed = problem.allowed(senses)
    if (allowed.low > allowed.high).any():
        return float("inf")
    size, matrix = problem.size, problem.relations.toarray().astype(float)
    cost = np.concatenate([np.zeros(size), problem.weight])  # variables: z, and u >= |z|
    one = np.eye(size)
    above = np.block([[one, -one], [-one, -one]])
    ranges = [(_bound(low), _bound(high)) for low, high in zip(allowed.low, allowed.high, strict=True)] + [(0, None)] * size
    equal = np.hstack([matrix, np.zeros_like(matrix)]) if matrix.size else None
    answer = linprog(cost, A_ub=above, b_ub=np.zeros(2 * size), A_eq=equal, b_eq=problem.residual if matrix.size else None, bounds=ranges)
    return float(answer.fun) if answer.status == 0 else float("inf")


def _bound(amount: int) -> float | None:
    return None if abs(int(amount)) >= 2**60 else float(amount)
