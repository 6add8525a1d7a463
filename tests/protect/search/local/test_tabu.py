"""Dual-priced flips, and tabu that goes on where they end."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.local import flips, tabu
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import small_problems
from tests.protect.search.local.stuck import from_all_up
from tests.reference.cta import cheapest_cost


@pytest.mark.parametrize("seed", range(12))
def test_five_senses_are_found_by_tabu(seed: int) -> None:
    problem = random_problem((4, 4), seed=seed)
    search = from_all_up(problem)
    tabu.run(search)
    assert search.objective == pytest.approx(cheapest_cost(problem))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_tabu_is_never_above_flips(problem: ProtectionProblem) -> None:
    stuck, roaming = from_all_up(problem), from_all_up(problem)
    flips.run(stuck)
    tabu.run(roaming, patience=20)
    assert roaming.objective <= stuck.objective
