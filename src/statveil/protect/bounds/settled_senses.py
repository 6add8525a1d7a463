"""Senses that are settled but for turning all of them: the last nodes of the tree of relative signs.

Each of the two choices is a continuous program, whose multipliers prove its value; where whole amounts cost more, cases of amounts do.
"""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.limits import Ending, Limits
from statveil.formats.certificate import Cases
from statveil.protect.bounds.branch_and_bound import cost_step, prove_by_tree
from statveil.protect.search_state import NO_MULTIPLIERS, DualMultipliers, Proof, Search, SearchNews


def prove_settled(search: Search, head: int, cluster: IntArray, turn: AnyArray, seconds: float) -> tuple[float, Proof]:
    """What both choices cost at the least; better tables that are met on the way are offered."""
    problem = search.problem
    along = np.where(cluster >= 0, np.rint(turn), 0).astype(np.int64)
    own = np.where(problem.can_go_up, 1, -1) * problem.sensitive
    ways = []
    for way in (1, -1):
        senses = np.where(along != 0, way * along, own)
        ways.append(_least_of(search, senses, seconds / 2))
    (up_value, up), (down_value, down) = ways
    return min(up_value, down_value), Cases(int(head), up, down)


def _least_of(search: Search, senses: IntArray, seconds: float) -> tuple[float, Proof]:
    problem, program = search.problem, search.program
    allowed = problem.allowed(senses)
    if (allowed.low > allowed.high).any():
        return np.inf, NO_MULTIPLIERS
    solution = program.solve(senses, seconds=max(seconds, 0.1))
    value, proof = 0.0, NO_MULTIPLIERS
    if solution.ending is Ending.OPTIMAL and solution.row_duals is not None and not program.by_parts:
        value = solution.objective * program.unit / program.price
        proof = NO_MULTIPLIERS._replace(relations=solution.row_duals / program.price)
        if value >= search.objective - 0.5 * cost_step(problem.weight):
            return value, proof
    search.try_senses(senses)
    return _by_amounts(search, senses, seconds, (value, proof))


def _by_amounts(search: Search, senses: IntArray, seconds: float, known: tuple[float, DualMultipliers]) -> tuple[float, Proof]:
    """Branch and bound on whole amounts, the senses fixed."""
    if search.best is None:
        return known
    best: list[tuple[float, Proof]] = [known]

    def hear(found: SearchNews) -> None:
        search.offer(found.deviation)
        if found.proof is not None and found.proved > best[-1][0]:
            best.append((found.proved, found.proof))

    fixed = search.problem.restricted(senses, np.zeros(0, dtype=np.int64))
    inner = Search(fixed, Limits(seconds=max(seconds, 0.1)), 0, hear)
    inner.best, inner.objective = search.best, search.objective
    prove_by_tree(inner)
    return best[-1]
