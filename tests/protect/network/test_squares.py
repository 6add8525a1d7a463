"""Least squares on the network agree with a general quadratic solver before rounding, and are whole, safe and additive after.

Whether there is a table with given senses, they agree with the flow, whatever Newton's method does.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.protect.network import squares
from statveil.protect.network.squares import Newton, SquaresProgram
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.system import problem_of as problem_of_system
from statveil.solve import quadratic
from statveil_lab.generators.one_hierarchy import Filling, Shape, one_hierarchy_system
from tests.protect.network.programs import open_somewhere, program_of, some_senses
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of


def squares_of(problem):
    return SquaresProgram(program_of(problem))


def test_one_leaf_cell_spreads_over_the_table():
    problem = small_hierarchy(levels={9: 12}, norm="l2")
    senses = np.zeros(24, dtype=np.int64)
    senses[9] = 1
    deviation = squares_of(problem).solve(senses)
    assert deviation is not None
    assert problem.accepts(deviation)
    assert problem.cost(deviation) < 4 * 12**2  # the cycle of four cells


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=small_hierarchies(), seed=st.integers(0, 9))
def test_newton_finds_the_least_squares(problem, seed):
    senses = some_senses(problem, seed)
    if not open_somewhere(problem):
        return
    program = program_of(problem)
    whole = program.solve(senses)
    if whole is None:
        return
    low, high = program.bounds(senses)
    answer = Newton(program, low, high).solve(np.zeros(program.network.nodes))
    assert answer.ended
    flow = answer.flow
    expected = quadratic.least_squares(
        weight=problem.weight,
        matrix=problem.relations.astype(np.float64),
        rhs=problem.residual.astype(np.float64),
        lower=np.where(low <= -(2**59), -np.inf, low),
        upper=np.where(high >= 2**59, np.inf, high),
    )
    assert expected is not None
    assert problem.weight @ flow**2 == pytest.approx(problem.weight @ expected**2, rel=1e-4, abs=1e-3)
    rounded = SquaresProgram(program).solve(senses)
    assert rounded is not None
    assert problem.accepts(rounded)


def zeros(levels):
    """2 x 2 zeros with all margins, at most 15 each."""
    rows = [[1, 1, -1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, -1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1, -1]]
    columns = [[1, 0, 0, 1, 0, 0, -1, 0, 0], [0, 1, 0, 0, 1, 0, 0, -1, 0], [0, 0, 1, 0, 0, 1, 0, 0, -1]]
    return problem_of([0] * 9, rows + columns, levels=levels, lower=np.zeros(9, dtype=np.int64), upper=np.full(9, 15))


def test_a_table_of_zeros_with_one_to_be_raised():
    """The corner rises by 1 or more: the row's and the column's totals and the grand total follow."""
    problem, senses = zeros({0: 1}), np.array([1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert squares_of(problem).solve(senses).tolist() == [1, 0, 1, 0, 0, 0, 1, 0, 1]


def test_a_row_of_zeros_all_to_be_raised():
    """The first row and its total rise by 1 or more: the total by 2, and the totals below with them."""
    problem, senses = zeros({0: 1, 1: 1, 2: 1}), np.array([1, 1, 1, 0, 0, 0, 0, 0, 0])
    assert squares_of(problem).solve(senses).tolist() == [1, 1, 2, 0, 0, 0, 1, 1, 2]


def tight_and_heavy(seed: int):
    """Lognormal values over six orders of magnitude, totals sensitive, nothing more than 15% up."""
    shape = Shape(rows=90, columns=10, inner=8, depth=3, sensitive=120)
    filling = Filling(where="any", values="lognormal", spread=2.5, bound_percent=Fraction(115))
    problem = problem_of_system(one_hierarchy_system(shape, seed=seed, filling=filling), weights="unit", norm="l2")
    return reduce_problem(problem).problem


def all_up_where_possible(problem):
    return np.where(problem.sensitive, np.where(problem.can_go_up, 1, -1), 0)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_newton_comes_to_its_end_where_bounds_are_tight_and_tails_heavy(seed):
    problem = tight_and_heavy(seed)
    program, senses = program_of(problem), all_up_where_possible(problem)
    assert program.solve(senses) is not None
    answer = Newton(program, *program.bounds(senses)).solve(np.zeros(program.network.nodes))
    assert answer.ended
    least = SquaresProgram(program).solve(senses)
    assert problem.accepts(least)
    assert problem.weight @ answer.flow**2 == pytest.approx(problem.cost(least), rel=1e-4)


def test_where_newton_does_not_end_the_flow_still_gives_a_table(monkeypatch):
    monkeypatch.setattr(squares, "TUNING", squares.TUNING._replace(steps=2))
    problem = tight_and_heavy(3)
    program, senses = program_of(problem), all_up_where_possible(problem)
    assert not Newton(program, *program.bounds(senses)).solve(np.zeros(program.network.nodes)).ended
    found = SquaresProgram(program).solve(senses)
    assert problem.accepts(found)
    assert problem.cost(found) <= problem.cost(program.solve(senses))


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=small_hierarchies(), seed=st.integers(0, 9))
def test_there_is_a_table_where_the_flow_has_one_and_none_elsewhere(problem, seed):
    if not open_somewhere(problem):
        return
    problem = dataclasses.replace(problem, norm="l2")
    program = program_of(problem)
    both = SquaresProgram(program)
    for each in (seed, seed + 1):  # the second from the first's multipliers
        senses = some_senses(problem, each)
        sizes, found = program.solve(senses), both.solve(senses)
        assert (sizes is None) == (found is None)
        if found is not None:
            assert problem.accepts(found)
            assert both.value == problem.cost(found)


def test_duals_tell_what_a_unit_more_on_the_right_costs():
    """x + y = total, all free: a unit more asked of x + y - total is shared by three, cost w/3, rising by 2/3 a unit."""
    for asked in (30, 60):
        problem = problem_of([0, 0, 0], [[1, 1, -1]], levels={}, rhs=np.array([asked]), norm="l2")
        both = squares_of(problem)
        assert both.solve(np.zeros(3, dtype=np.int64)).tolist() == [asked // 3, asked // 3, -asked // 3]
        assert both.duals == pytest.approx([2 * asked / 3])
