"""Least squares on the network agree with a general quadratic solver before rounding, and are whole, safe and additive after."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.protect.network.squares import _Newton, least_squares
from statveil.solve import quadratic
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.network.test_flow import open_somewhere, program_of, some_senses
from tests.protect.problems import problem_of


def test_one_leaf_cell_spreads_over_the_table():
    problem = small_hierarchy(levels={9: 12}, norm="l2")
    senses = np.zeros(24, dtype=np.int64)
    senses[9] = 1
    deviation = least_squares(program_of(problem), senses)
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
    flow = _Newton(program, low, high).solve()
    assert flow is not None
    expected = quadratic.least_squares(
        weight=problem.weight,
        matrix=problem.relations.astype(np.float64),
        rhs=problem.residual.astype(np.float64),
        lower=np.where(low <= -(2**59), -np.inf, low),
        upper=np.where(high >= 2**59, np.inf, high),
    )
    assert expected is not None
    assert problem.weight @ flow**2 == pytest.approx(problem.weight @ expected**2, rel=1e-4, abs=1e-3)
    rounded = least_squares(program, senses)
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
    assert least_squares(program_of(problem), senses).tolist() == [1, 0, 1, 0, 0, 0, 1, 0, 1]


def test_a_row_of_zeros_all_to_be_raised():
    """The first row and its total rise by 1 or more: the total by 2, and the totals below with them."""
    problem, senses = zeros({0: 1, 1: 1, 2: 1}), np.array([1, 1, 1, 0, 0, 0, 0, 0, 0])
    assert least_squares(program_of(problem), senses).tolist() == [1, 1, 2, 0, 0, 0, 1, 1, 2]
