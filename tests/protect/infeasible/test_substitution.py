"""Whole tables where cells that nothing bounds are substituted away."""

from __future__ import annotations

import dataclasses

import numpy as np

from statveil.protect.infeasible.feasibility import Requirement, all_requirements, meets
from statveil.protect.infeasible.substitution import find_whole_table
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of


def asked_without(problem: ProtectionProblem, *left_out: Requirement) -> set[Requirement]:
    return set(all_requirements(problem)) - set(left_out)


def chain() -> ProtectionProblem:
    """a = 2 b, b = 2 c with c free, and a must move by 6 or more within 7: only 8 is divisible by four, so none can."""
    bounds = {"lower": np.array([93, 0, -NO_LIMIT]), "upper": np.array([107, 400, NO_LIMIT])}
    return problem_of([100, 50, 25], [[-1, 2, 0], [0, -1, 2]], levels={0: 6}, **bounds)


def test_what_follows_is_whole_and_meets_everything() -> None:
    problem = chain()
    asked = asked_without(problem, Requirement("upper", 0))
    found = find_whole_table(problem, asked)
    assert found is not None
    assert meets(problem, asked, found)
    assert found[0] % 4 == 0


def test_where_no_whole_table_is_there_none_is_found() -> None:
    problem = chain()
    assert find_whole_table(problem, all_requirements(problem)) is None


def test_relations_of_free_cells_alone_leave_nothing_to_search() -> None:
    problem = problem_of([30, 20, 10], [[-1, 1, 1]], levels={})
    assert find_whole_table(problem, [Requirement("relation", 0)]) is not None
    assert find_whole_table(problem, []) == {}


def test_contradictory_relations_of_free_cells_have_no_table() -> None:
    """The same sum twice, one of them off by one."""
    problem = problem_of([30, 20, 10], [[-1, 1, 1], [-1, 1, 1]], levels={})
    off = dataclasses.replace(problem, rhs=np.array([0, 1]))
    assert find_whole_table(off, [Requirement("relation", 0), Requirement("relation", 1)]) is None


def test_exactness_and_bounds_are_kept() -> None:
    problem = problem_of([30, 20, 10], [[-1, 1, 1]], levels={1: (4, 5)}, variant="exact", lower=np.array([20, 0, 0]))
    found = find_whole_table(problem, all_requirements(problem))
    assert found is not None
    assert found[1] in (-4, 5)
