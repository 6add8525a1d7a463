"""The mixed-integer program: what it claims about a truncated problem is no bound."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import exact
from statveil.protect.search_state import Search, SearchNews
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.stories import search_of
from tests.reference.cta import all_senses


def test_a_truncated_program_proves_neither_a_bound_nor_infeasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bounds and without a table a cell's reach is a guess: all that is forced together.

    Here a thousandth of the first cell's change must be met by a cell that would have to move a thousand times as far.
    """
    problem = problem_of([10, 10_000], [[1000, -1]], levels={0: 4})
    heard: list[SearchNews] = []
    search = Search(problem, Limits(seconds=60), 0, heard.append)
    monkeypatch.setattr(exact.anneal, "run", lambda _: None)  # no table to start from
    program = exact.Disjunctions(search)
    assert program.truncated
    exact.solve_exactly(search)
    assert not any(found.infeasible for found in heard)
    assert search.bound == 0


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_with_squares_no_choice_of_senses_does_better(problem: ProtectionProblem) -> None:
    squares = dataclasses.replace(problem, norm="l2")
    search = Search(squares, Limits(seconds=120), 0, lambda _: None)
    exact.solve_exactly(search)
    for senses in all_senses(squares):
        other = Search(squares, Limits(seconds=120), 0, lambda _: None)
        other.try_senses(senses)
        assert search.objective <= other.objective


def test_with_squares_and_many_senses_none_is_left_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """More cells than are priced one by one: the solver's proposal is priced instead."""
    monkeypatch.setattr(exact, "TUNING", exact.TUNING._replace(most_to_price=1))
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5, 1: 5}, norm="l2")
    search = Search(problem, Limits(seconds=60), 0, lambda _: None)
    exact.solve_exactly(search)
    assert search.objective == 50, "5 up, 5 down: nothing is left for the total"


def test_with_a_table_every_reach_has_an_end() -> None:
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})
    search = Search(problem, Limits(seconds=60), 0, lambda _: None)
    search.offer(np.array([4, -4, 0, 0]))
    assert not exact.Disjunctions(search).truncated
    exact.solve_exactly(search)
    assert search.bound == pytest.approx(8)


def test_what_a_relation_forbids_can_be_a_row_of_the_program() -> None:
    """S3's example: levels 2 and 4 cannot both go up, 5 + 16 is above the total of 20: y2 + y4 <= 1 (S2 section 3)."""
    upper = np.array([99, 99, 99, 99, 20])
    problem = problem_of([1, 3, 4, 12, 20], [[1, 1, 1, 1, -1]], levels={1: 2, 3: 4}, lower=np.array([0, 0, 0, 0, 20]), upper=upper)
    program = exact.Disjunctions(search_of(problem))
    model = program.without_forbidden_senses()
    assert model.matrix.shape[0] == program.model.matrix.shape[0] + 1
    assert model.matrix[-1].toarray().ravel().tolist() == [0.0] * 8 + [1.0, 1.0]  # the fixed total has no columns
    assert (model.row_lower[-1], model.row_upper[-1]) == (-np.inf, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_with_or_without_those_rows_the_optimum_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "prove_by_tree", lambda _: None)
    costs = []
    for combinations in (False, True):
        search = search_of(random_problem((4, 4), seed=seed, sensitive=0.5))
        exact.solve_exactly(search, combinations=combinations)
        costs.append(search.objective)
    assert costs[0] == costs[1] < np.inf
