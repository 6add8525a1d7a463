"""Plain HiGHS works on S3's program as it is written: its optimum is that of all choices of senses, whatever the table."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings

from statveil.protect.problem import ProtectionProblem
from statveil.solve import highs
from statveil_lab.plain import program
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(problem=small_problems())
def test_the_program_has_the_least_cost_over_all_senses(problem: ProtectionProblem) -> None:
    found = highs.solve(program(problem), seconds=20, options=highs.AS_IT_COMES)
    least = cheapest_cost(problem)
    assert found.objective == pytest.approx(least, rel=1e-6, abs=1e-5) if math.isfinite(least) else found.x is None


def test_it_is_in_the_units_of_the_table_with_a_switch_for_each_sensitive_cell() -> None:
    """One cell of level 4 in a row of three: 4 relations and switches, 4 cells up and down and one switch."""
    model = program(problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}))
    assert model.matrix.shape == (1 + 4, 2 * 4 + 1)
    assert 4.0 in model.matrix.toarray()
    assert highs.solve(model, seconds=20, options=highs.AS_IT_COMES).objective == pytest.approx(8.0)


def test_without_sensitive_cells_nothing_moves() -> None:
    found = highs.solve(program(problem_of([10, 20, 30], [[1, 1, -1]], levels={})), seconds=20, options=highs.AS_IT_COMES)
    assert found.objective == 0.0
