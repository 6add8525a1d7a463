"""S0's methods on S0's random tables: safe, never below the optimum, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.protect.problem import ProtectionProblem
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.test_methods import Heard
from tests.reference.cta import cheapest_cost

PAPER_METHODS = ("random", "alternate", "hybrid", "hybrid-swaps", "scatter", "learn")


@pytest.fixture(scope="module")
def six_by_six() -> tuple[ProtectionProblem, float]:
    """A table with its proven optimum."""
    problem = random_problem((6, 6), seed=1)
    proved = Heard(problem, "exact")
    assert proved.best is not None
    assert proved.bound == pytest.approx(problem.cost(proved.best))
    return problem, problem.cost(proved.best)


@pytest.mark.parametrize("method", PAPER_METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_four_by_four_table_is_safe_and_no_better_than_the_best(method: str, seed: int) -> None:
    problem = random_problem((4, 4), seed=seed)
    heard = Heard(problem, method)
    assert heard.best is not None
    assert problem.accepts(heard.best)
    assert problem.cost(heard.best) >= cheapest_cost(problem) - 1e-6 >= heard.bound - 1e-3


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_a_six_by_six_table_is_safe_and_no_better_than_the_best(method: str, six_by_six: tuple[ProtectionProblem, float]) -> None:
    problem, optimum = six_by_six
    heard = Heard(problem, method)
    assert heard.best is not None
    assert problem.accepts(heard.best)
    assert problem.cost(heard.best) >= optimum


@pytest.mark.parametrize("method", ["hybrid", "hybrid-swaps", "scatter", "learn"])
def test_a_group_or_a_turn_for_each_cell_reaches_the_optimum(method: str, six_by_six: tuple[ProtectionProblem, float]) -> None:
    """Eleven sensitive cells fit into sixteen groups; learning opens all of them in the end."""
    problem, optimum = six_by_six
    heard = Heard(problem, method)
    assert heard.best is not None
    assert problem.cost(heard.best) == pytest.approx(optimum)


@pytest.mark.slow
@pytest.mark.parametrize("method", PAPER_METHODS)
def test_the_same_seed_gives_the_same_table(method: str, six_by_six: tuple[ProtectionProblem, float]) -> None:
    first, second = (Heard(six_by_six[0], method, seed=5) for _ in range(2))
    assert np.array_equal(first.best, second.best)


@pytest.mark.slow
@pytest.mark.parametrize("method", PAPER_METHODS)
def test_a_start_is_never_made_worse(method: str, six_by_six: tuple[ProtectionProblem, float]) -> None:
    problem, optimum = six_by_six
    proved = Heard(problem, "exact")
    assert proved.best is not None
    heard = Heard(problem, method, senses=problem.senses_of(proved.best))
    assert heard.best is not None
    assert problem.cost(heard.best) == pytest.approx(optimum)


@pytest.mark.parametrize("method", PAPER_METHODS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_forced_senses_are_enough(method: str, norm: str) -> None:
    """Both parts are smaller than their levels and can only go up: 5 + 5 in the parts; the total or the third part takes 10."""
    problem = problem_of([3, 3, 90, 96], [[1, 1, 1, -1]], levels={0: 5, 1: 5}, norm=norm)
    heard = Heard(problem, method)
    assert heard.best is not None
    assert heard.best[:2].tolist() == [5, 5]


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_squared_changes_are_priced_too(method: str) -> None:
    """Levels 6 and 6 offset each other: 36 + 36."""
    problem = problem_of([50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 6, 1: 6}, norm="l2")
    heard = Heard(problem, method)
    assert heard.best is not None
    assert problem.accepts(heard.best)
    if method != "alternate":
        assert problem.cost(heard.best) == pytest.approx(72)


@pytest.mark.parametrize("method", PAPER_METHODS)
@given(problem=small_problems())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_answer_is_safe_and_honest(method: str, problem: ProtectionProblem) -> None:
    """Whatever the levels, caps and fixed cells: a table given is safe, no bound is too high, and nothing is called infeasible in error."""
    best = cheapest_cost(problem)
    heard = Heard(problem, method)
    assert heard.bound <= best * (1 + 1e-9) + 1e-9
    assert not heard.infeasible or np.isinf(best)
    assert heard.best is None or (problem.accepts(heard.best) and problem.cost(heard.best) >= best - 1e-6)
