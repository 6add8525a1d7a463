"""Clauses that can be satisfied, that cannot, and that are too hard for the work allowed."""

from __future__ import annotations

import itertools

from statveil.core.limits import Ending
from statveil.solve.sat import Formula


def pigeons(count: int) -> Formula:
    """`count` + 1 pigeons in `count` holes: impossible, and hard to see by cases."""
    formula = Formula()
    place = {each: number for number, each in enumerate(itertools.product(range(count + 1), range(count)), start=1)}
    for pigeon in range(count + 1):
        formula.add([place[pigeon, hole] for hole in range(count)])
    for hole in range(count):
        for one, other in itertools.combinations(range(count + 1), 2):
            formula.add([-place[one, hole], -place[other, hole]])
    return formula


def test_an_assignment_satisfies_every_clause() -> None:
    formula, clauses = Formula(), [[1, 2], [-1, 3], [-2, -3], [-1, -2]]
    for clause in clauses:
        formula.add(clause)
    ending, model = formula.solve()
    assert ending is Ending.FEASIBLE
    assert all(set(clause) & set(model.tolist()) for clause in clauses)


def test_free_variables_take_the_sign_preferred_and_else_false() -> None:
    formula = Formula()
    formula.add([1, 2])
    formula.add([3, 4])
    formula.prefer([2, 3])
    assert set(formula.solve()[1].tolist()) == {-1, 2, 3, -4}


def test_clauses_added_later_count_and_may_leave_nothing() -> None:
    formula = Formula()
    formula.add([1])
    assert formula.solve()[0] is Ending.FEASIBLE
    formula.add([-1])
    assert formula.solve()[0] is Ending.INFEASIBLE


def test_too_little_work_is_no_proof() -> None:
    assert pigeons(8).solve(conflicts=5)[0] is Ending.OUT_OF_TIME
    assert pigeons(4).solve()[0] is Ending.INFEASIBLE
