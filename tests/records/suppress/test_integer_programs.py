"""Programs of blanks: rows as they are collected, choices as they are dealt, and what a second solver may claim."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import SolverFailed
from statveil.core.limits import Ending
from statveil.records.suppress.integer_programs import ChoiceQueue, ProgramAnswer, Rows, _checked, _the_better


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
