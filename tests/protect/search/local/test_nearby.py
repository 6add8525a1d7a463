"""Neighbourhoods: the nearest cells are reopened, and a whole neighbourhood leads to the optimum."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import nearest_choices
from statveil.protect.search.local import nearby
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.stories import search_of, two_by_two
from tests.reference.cta import cheapest_cost


def three_rows_in_a_chain() -> ProtectionProblem:
    """Rows of two cells and a total each; the total of one is a cell of the next. The first cell of each is sensitive."""
    relations = [[1, 1, -1, 0, 0, 0, 0], [0, 0, 1, 1, -1, 0, 0], [0, 0, 0, 0, 1, 1, -1]]
    return problem_of([50, 50, 100, 50, 150, 50, 200], relations, levels={0: 5, 3: 5, 5: 5})


def test_the_nearest_choices_come_first() -> None:
    search = search_of(three_rows_in_a_chain())
    drawn = {tuple(sorted(nearest_choices(search, 2).tolist())) for _ in range(30)}
    assert (0, 5) not in drawn, "the ends of the chain are never each other's nearest"
    assert {(0, 3), (3, 5)} == drawn


def test_from_all_up_to_the_optimum() -> None:
    problem = two_by_two()
    search = search_of(problem)
    search.start = problem.all_up()
    nearby.run(search)
    assert search.objective == cheapest_cost(problem)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_a_block_of_all_choices_is_the_problem_itself(problem: ProtectionProblem) -> None:
    best = cheapest_cost(problem)
    search = search_of(problem)
    nearby.run(search, sizes=(max(1, problem.choices.size),), patience=1)
    assert search.best is None or np.isclose(search.objective, best)
