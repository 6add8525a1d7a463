"""Programs of blanks: rows as they are collected, choices as they are dealt, and what a second solver may claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.core.errors import SolverFailed
from statveil.core.limits import Ending
from statveil.records.suppress.integer_programs import (
    ChoiceQueue,
    LinearAnswer,
    ProgramAnswer,
    Rows,
    _checked,
    _the_better,
    bound_by_prices,
    solve_linear,
)
from statveil.solve.model import LinearModel


def test_a_second_program_that_ends_without_a_bound_leaves_ties_open() -> None:
    """A solver out of time says minus infinity, which no whole number is."""
    model = Rows()
    model.add([0, 1], [1.0, 1.0], 1, 1)
    program = model.model(np.array([1.0, 1.0]), np.ones(2))
    first = ProgramAnswer(np.array([1, 0]), 1.0, Ending.OPTIMAL)
    second = ProgramAnswer(np.array([0, 1]), float("-inf"), Ending.FEASIBLE)
    chosen = _the_better(program, np.array([2.0, 1.0]), first, second)
    assert (chosen.numbers.tolist(), chosen.settled) == ([0, 1], False)


def test_rows_become_a_program_of_whole_numbers() -> None:
    rows = Rows()
    rows.add([0, 2], [1.0, -3.0], 0, np.inf)
    rows.add([1], [2.0], 1, 4)
    model = rows.model(np.array([5.0, 6.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    assert model.matrix.toarray().tolist() == [[1, 0, -3], [0, 2, 0]]
    assert (model.row_lower.tolist(), model.row_upper.tolist()) == ([0, 1], [np.inf, 4])
    assert model.whole is not None
    assert model.whole.all()


def test_choices_are_given_out_as_often_as_they_are_there() -> None:
    queue = ChoiceQueue([(7, 2), (9, 0), (4, 3)])
    assert queue.take(3) == [(7, 2), (4, 1)]
    assert (queue.one(), queue.one()) == (4, 4)


def test_what_a_solver_says_must_hold_in_whole_numbers() -> None:
    rows = Rows()
    rows.add([0, 1], [1.0, 1.0], 2, 2)
    model = rows.model(np.ones(2), np.full(2, 2.0))
    assert _checked(model, Ending.OPTIMAL, np.array([0.9999999, 1.0]), 2.0).numbers.tolist() == [1, 1]
    with pytest.raises(SolverFailed):
        _checked(model, Ending.OPTIMAL, np.array([0.6, 0.2]), 0.8)


def two_columns() -> LinearModel:
    """x + 2 y with x + y >= 3 and x <= y, x up to 4, y up to 5: the least is 4.5, and 5 in whole numbers."""
    return LinearModel(
        cost=np.array([1.0, 2.0]),
        matrix=csr_matrix([[1.0, 1.0], [1.0, -1.0]]),
        row_lower=np.array([3.0, -np.inf]),
        row_upper=np.array([np.inf, 0.0]),
        lower=np.zeros(2),
        upper=np.array([4.0, 5.0]),
        whole=np.ones(2, dtype=np.bool_),
    )


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=2))
def test_any_prices_give_a_bound(prices: list[float]) -> None:
    assert bound_by_prices(two_columns(), LinearAnswer(prices=np.array(prices))) <= 4.5 + 1e-9


def test_the_best_prices_give_the_cost_of_the_linear_program() -> None:
    model = two_columns()
    assert bound_by_prices(model, solve_linear(model, seconds=600)) == pytest.approx(4.5)
    assert bound_by_prices(model, LinearAnswer()) == 0
    endless = replace(model, upper=np.full(2, np.inf))
    assert bound_by_prices(endless, LinearAnswer(prices=np.array([3.0, 0.0]))) == 0
