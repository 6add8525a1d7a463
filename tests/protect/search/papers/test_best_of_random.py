"""The best of senses drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError, NoTableFound, OutOfTime
from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.search.papers import best_of_random
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of


def test_more_draws_are_never_worse() -> None:
    few, many = search_of(five_in_a_row()), search_of(five_in_a_row())
    best_of_random.run(few, repetitions=1)
    best_of_random.run(many, repetitions=20)
    assert many.objective <= few.objective < np.inf


def test_a_start_is_the_first_draw() -> None:
    """9 + 3 + 1 = 13 up against 7 + 5 = 12 down: 25 for the levels and 1 for the total."""
    search = search_of(five_in_a_row())
    search.start = np.array([-1, 1, 1, -1, 1, 0])
    best_of_random.run(search, repetitions=1)
    assert search.objective == 26


def test_no_draws_are_refused() -> None:
    with pytest.raises(InputError, match="repetitions"):
        best_of_random.run(search_of(five_in_a_row()), repetitions=0)


@pytest.mark.slow
def test_a_method_without_a_table_tells_whether_the_clock_stopped_it() -> None:
    """1 + 2 + 4 + ... + 2^20 against 2^21 - 1 with a fixed total: all the small ones go against the large one, which no coin finds."""
    levels = [2**power for power in range(21)] + [2**21 - 1]
    values = [2 * level + 5 for level in levels]
    fixed = np.array([0] * 22 + [sum(values)]), np.array([10**8] * 22 + [sum(values)])
    problem = problem_of(
        [*values, sum(values)], [[1] * 22 + [-1]], levels=dict(enumerate(levels)), variant="exact", lower=fixed[0], upper=fixed[1]
    )
    with pytest.raises(OutOfTime):
        adjust_problem(problem, method="random", settings={"repetitions": 10**9}, limits=Limits(seconds=1.5))
    with pytest.raises(NoTableFound, match="One may exist all the same"):
        adjust_problem(problem, method="alternate", limits=Limits(seconds=120))
