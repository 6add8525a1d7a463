"""Senses by satisfiability: near what is wanted, never what a relation forbids, and a proof when there is nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.limits import Limits
from statveil.core.outcome import Ending
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.start import sat
from statveil.protect.search.state import Found, Search
from statveil.solve.sat import Formula
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.start.test_forbidden import relation_of_the_paper
from tests.reference.cta import cheapest_cost


def search_of(problem: ProtectionProblem, heard: list[Found] | None = None) -> Search:
    return Search(problem, Limits(seconds=30), 0, (heard if heard is not None else []).append)


def square(**changes: object) -> ProtectionProblem:
    """Two rows and two columns with fixed margins, every inner cell sensitive: the diagonals go opposite ways or nothing goes."""
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    fields = {"rhs": np.array([20, 20, 20, 20]), "levels": dict.fromkeys(range(4), 3), **changes}
    return problem_of([10, 10, 10, 10], rows, **fields)  # type: ignore[arg-type]


def test_the_formula_of_the_paper_is_satisfied() -> None:
    formula = Formula()
    for clause in ([-1, 2, -3, -4], [-3, -2, -4], [-5, 2, -1]):
        formula.add(clause)
    ending, literals = formula.solve()
    assert ending is Ending.FEASIBLE
    true = set(literals.tolist())
    assert all(true & set(clause) for clause in ([-1, 2, -3, -4], [-3, -2, -4], [-5, 2, -1]))


def test_clauses_may_follow_until_nothing_is_left() -> None:
    formula = Formula()
    formula.add([1, 2])
    formula.prefer([1, 2])
    assert formula.solve()[1].tolist() == [1, 2]
    formula.add([-1])
    formula.add([-2])
    assert formula.solve()[0] is Ending.INFEASIBLE


def test_phases_are_kept_where_they_may_be() -> None:
    wanted = np.array([0, 1, 0, -1, 0])
    senses = sat._Senses(relation_of_the_paper()).solve(wanted)
    assert senses is not None
    assert senses.tolist() == wanted.tolist()


def test_phases_give_way_to_relations() -> None:
    senses = sat._Senses(relation_of_the_paper()).solve(np.array([0, 1, 0, 1, 0]))
    assert senses is not None
    assert sorted(senses[[1, 3]]) == [-1, 1]


def test_a_square_with_fixed_margins_moves_along_its_diagonals() -> None:
    senses = sat._Senses(square()).solve(np.array([1, 1, 1, 1]))
    assert senses is not None
    assert senses[0] == senses[3] == -senses[1] == -senses[2]


def test_no_satisfying_senses_is_a_proof() -> None:
    """Three parts of a fixed total, each able to move by just its level, 3, 3 and 4: no signs add up to nothing."""
    problem = problem_of([10, 10, 10], [[1, 1, 1]], rhs=np.array([30]), levels={0: 3, 1: 3, 2: 4}, variant="exact")
    heard: list[Found] = []
    sat.run(search_of(problem, heard))
    assert any(found.infeasible for found in heard)


def test_what_two_relations_forbid_together_is_learnt() -> None:
    """a + b = s and b + c = s, with b the same: a and c are equal, though no relation says so; they cannot go opposite ways."""
    problem = problem_of([10, 50, 10, 60], [[1, 1, 0, -1], [0, 1, 1, -1]], levels={0: 4, 2: 4})
    wanted = np.array([1, 0, -1, 0])
    clauses, search = sat._Senses(problem), search_of(problem)
    senses = clauses.solve(wanted)
    assert senses is not None
    assert senses.tolist() == wanted.tolist()
    duals = sat._Violation(search.program).multipliers(senses, seconds=10)
    assert duals is not None
    clauses.learn(duals, senses)
    found = clauses.solve(wanted)
    assert found is not None
    assert found[0] == found[2]
    assert sat.find_feasible(search, wanted) is not None
    assert search.best is not None


def test_the_fallback_finds_the_nearest_table() -> None:
    """Only one of four senses is wrong: b must follow c, for a - and with it the total - is fixed."""
    problem = problem_of(
        [5, 20, 20, 45], [[1, 1, 1, -1]], levels={1: 4, 2: 4}, lower=np.array([5, 0, 0, 45]), upper=np.array([5, 99, 99, 45])
    )
    search = search_of(problem)
    found = sat._nearest_feasible(search, np.array([0, 1, 1, 0]))
    assert found is not None
    assert sorted(found[[1, 2]]) == [-1, 1]
    assert search.best is not None


@given(small_problems())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sat_finds_a_table_just_when_there_is_one(problem: ProtectionProblem) -> None:
    best, heard = cheapest_cost(problem), []
    search = search_of(problem, heard)
    if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        return  # the reduction has said so before any method is asked
    sat.run(search)
    if math.isinf(best):
        assert search.best is None
    elif search.best is not None:
        assert problem.accepts(search.best)
        assert search.objective >= best * (1 - 1e-9)
    else:
        pytest.fail("a table exists, and sat found none")
    assert math.isinf(best) or not any(found.infeasible for found in heard)


def test_senses_without_a_whole_table_are_left_behind() -> None:
    """2a = c and b + c = t, t fixed: c moves by even amounts only, and going down it has no even one at its level or beyond."""
    problem = problem_of(
        [5, 20, 10, 30],
        [[2, 0, -1, 0], [0, 1, 1, -1]],
        levels={2: 3},
        lower=np.array([-99, 0, 7, 30]),
        upper=np.array([99, 99, 99, 30]),
    )
    search = search_of(problem)
    sat.run(search)
    assert search.best is not None
    assert search.best[2] == 4
