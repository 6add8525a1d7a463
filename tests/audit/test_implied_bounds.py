"""What follows from relations alone: tied cells, forced senses, contradictions."""

from __future__ import annotations

import dataclasses

import numpy as np

from statveil.audit.certificate_checker import bound_of
from statveil.formats.certificate import (
    Cases,
    Combination,
    Multipliers,
)
from statveil.protect.options import NO_LIMIT
from tests.audit.certificates import plain, polygon, row
from tests.protect.problems import problem_of


def test_multipliers_of_relations_follow_forced_senses() -> None:
    """A cell smaller than its level can only rise; in z alone: 5 - 1 z_0, and all others may follow at a price."""
    problem = problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5})
    assert bound_of(problem, plain(problem, Multipliers((0,), (-1,), (), (), ()))) == 10


def test_a_fixed_cell_brings_its_own_cost() -> None:
    """The total moves by 2 whatever happens; relation: the parts bring 2."""
    problem = row(level=0, lower=np.array([0, 0, 0, 62]), upper=np.array([99, 99, 99, 62]))
    assert bound_of(problem, plain(problem)) == 2
    assert bound_of(problem, plain(problem, Multipliers((0,), (1,), (), (), ()))) == 4
    assert bound_of(problem, plain(problem, Cases(3, polygon(0, 3), Multipliers((0,), (1,), (), (), ())))) == 4


def test_a_relation_that_contradicts_itself_leaves_no_table() -> None:
    problem = row(lower=np.array([14, 20, 30, 60]), upper=np.array([14, 20, 30, 60]))
    assert bound_of(problem, plain(problem, worth=77)) == 77


def test_a_derived_relation_ties_cells() -> None:
    """x = a + b and y = a + b: the difference says x = y, and y's level binds x."""
    problem = problem_of([10, 20, 30, 30], [[1, 1, -1, 0], [1, 1, 0, -1]], levels={3: 5})
    assert bound_of(problem, plain(problem)) == 5
    assert bound_of(problem, plain(problem, derived=(Combination((0, 1), (1, -1)),))) == 10
    assert bound_of(problem, plain(problem, polygon(2, 2), derived=(Combination((0, 1), (1, -1)),))) == 10


def test_opposite_cells_and_their_contradiction() -> None:
    """a + b = 0 ties them; a - b = 0 as well leaves nothing but zero, and a level cannot be met."""
    one = problem_of([10, -10], [[1, 1]], levels={0: (3, 5), 1: (4, 2)}, lower=np.full(2, -NO_LIMIT))
    assert bound_of(one, plain(one)) == 2 * 3  # down by 3 and the other up by 3; the other way round it would be 5
    both = dataclasses.replace(one, relations=type(one.relations)(np.array([[1, 1], [1, -1]])), rhs=np.array([0, 20]))
    assert bound_of(both, plain(both, worth=50)) == 50


def test_tied_cells_may_rest_where_each_asks_for_one_side_only() -> None:
    """One may not rise by less than 5 and the other may not fall by less than 3: both may stay."""
    problem = problem_of([10, 10], [[1, -1]], levels={0: (0, 5), 1: (3, 0)})
    assert bound_of(problem, plain(problem)) == 0
