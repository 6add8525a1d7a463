"""Problems without a safe table."""

from __future__ import annotations

import numpy as np

from statveil.protect.infeasible.explain import Explanation, explain
from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of


def told(problem: ProtectionProblem) -> Explanation:
    found = explain(problem)
    assert found is not None
    return found


def kinds_and_places(found: Explanation) -> set[tuple[str, int]]:
    return {(each.kind, each.place) for each in found.requirements}


STUCK_NEIGHBOUR = problem_of(
    [30, 20, 10],
    [[-1, 1, 1]],
    levels={1: 5},
    lower=np.array([29, 0, 8]),
    upper=np.array([31, 100, 12]),
)
"""20 must move by 5, but its total may move by 1 and its only neighbour by 2."""
