"""Plain slow controlled tabular adjustment: every choice of senses, one linear program each (scipy, not our solvers)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from statveil.protect.problem import ProtectionProblem


def cheapest_cost(problem: ProtectionProblem) -> float:
    """The least L1 cost over all senses, infinite when no choice of senses is feasible. For a handful of sensitive cells."""
    return min(cost_with(problem, senses) for senses in all_senses(problem))


def all_senses(problem: ProtectionProblem) -> Iterator[np.ndarray]:
    cells = np.flatnonzero(problem.sensitive)
    for signs in itertools.product((1, -1), repeat=cells.size):
        senses = np.zeros(problem.size, dtype=np.int64)
        senses[cells] = signs
        yield senses


def cost_with(problem: ProtectionProblem, senses: np.ndarray) -> float:
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


def whole_tables(problem: ProtectionProblem) -> np.ndarray:
    """Every deviation that the problem accepts, one a row, by trying all whole numbers within the bounds. For a handful of narrow cells."""
    spans = [range(int(low), int(high) + 1) for low, high in zip(*problem.free, strict=True)]
    combinations = list(itertools.product(*spans))
    tried = np.array(combinations, dtype=np.int64).reshape(len(combinations), problem.size)
    inside = [(tried >= side.low) & (tried <= side.high) for side in (problem.down, problem.up)]
    safe = (~problem.sensitive | inside[0] | inside[1]).all(axis=1)
    return tried[safe & (tried @ problem.relations.toarray().T == problem.residual).all(axis=1)]


def cheapest_whole_table(problem: ProtectionProblem) -> float:
    """The least cost among `whole_tables`, infinite when there are none."""
    return min(map(problem.cost, whole_tables(problem)), default=float("inf"))


def cheapest_whole_squares(problem: ProtectionProblem) -> float:
    """The least weighted sum of squares over all senses and whole tables, by an outer approximation that is exact at whole points.

    u^2 lies above its chords between whole numbers, so least whole sums of squares are mixed-integer linear (scipy's HiGHS).
    """
    return min(_squares_with(problem, senses) for senses in all_senses(problem))


def _squares_with(problem: ProtectionProblem, senses: np.ndarray) -> float:
    """One choice of senses: tangents t >= (2k+1) u - k(k+1), tight at whole u, are added where the last answer breaks them."""
    allowed = problem.allowed(senses)
    if (allowed.low > allowed.high).any():
        return float("inf")
    size, relations = problem.size, problem.relations.toarray().astype(float)
    none = np.zeros((relations.shape[0], size))
    rows = [np.hstack([relations, none])]
    lower, upper = [problem.residual.astype(float)], [problem.residual.astype(float)]
    ranges = Bounds(
        np.concatenate([[-np.inf if _bound(low) is None else low for low in allowed.low], np.zeros(size)]),
        np.concatenate([[np.inf if _bound(high) is None else high for high in allowed.high], np.full(size, np.inf)]),
    )
    cost, whole = np.concatenate([np.zeros(size), problem.weight]), np.concatenate([np.ones(size), np.zeros(size)])
    while True:
        limits = LinearConstraint(np.vstack(rows), np.concatenate(lower), np.concatenate(upper))
        answer = milp(cost, constraints=limits, bounds=ranges, integrality=whole, options={"mip_rel_gap": 0.0})
        if answer.x is None:
            return float("inf")
        z, t = np.rint(answer.x[:size]), answer.x[size:]
        broken = np.flatnonzero(t < z * z - 1e-6)
        if broken.size == 0:
            return float(problem.weight @ (z * z))
        for k in (np.abs(z) - 1, np.abs(z)):  # the chords that meet at z
            tangent = np.zeros((broken.size, 2 * size))
            tangent[np.arange(broken.size), broken] = -((2 * k + 1) * np.sign(z))[broken]
            tangent[np.arange(broken.size), size + broken] = 1.0
            rows.append(tangent)
            lower.append(-(k * (k + 1))[broken])
            upper.append(np.full(broken.size, np.inf))
