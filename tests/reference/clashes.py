"""Whether a set of requirements can be met by a whole table: every choice of senses, one integer program each (scipy)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from statveil.protect.infeasible.feasibility import Requirement
from statveil.protect.problem import ProtectionProblem

FAR = 10_000
"""No deviation of a small table need be larger."""


def can_be_met(problem: ProtectionProblem, asked: Iterable[Requirement]) -> bool:
    asked = list(asked)
    guarded = [each.place for each in asked if each.kind == "protection"]
    return any(_with(problem, asked, dict(zip(guarded, up, strict=True))) for up in itertools.product((True, False), repeat=len(guarded)))


def _with(problem: ProtectionProblem, asked: list[Requirement], upward: dict[int, bool]) -> bool:
    low, high = np.full(problem.size, -FAR), np.full(problem.size, FAR)
    for kind, place in asked:
        value = int(problem.value[place]) if kind != "relation" else 0
        if kind == "lower":
            low[place] = max(low[place], int(problem.lower[place]) - value)
        if kind == "upper":
            high[place] = min(high[place], int(problem.upper[place]) - value)
        if kind == "exactness":
            low[place], high[place] = max(low[place], -problem.lower_level[place]), min(high[place], problem.upper_level[place])
    for place, up in upward.items():
        if up:
            low[place] = max(low[place], problem.upper_level[place])
        else:
            high[place] = min(high[place], -problem.lower_level[place])
    if (low > high).any():
        return False
    rows = [each.place for each in asked if each.kind == "relation"]
    if not rows:
        return True
    rest = (problem.rhs - problem.relations @ problem.value)[rows].astype(float)
    relations = LinearConstraint(problem.relations[rows].toarray().astype(float), rest, rest)
    answer = milp(np.zeros(problem.size), constraints=relations, integrality=np.ones(problem.size), bounds=Bounds(low, high))
    return bool(answer.status == 0)
