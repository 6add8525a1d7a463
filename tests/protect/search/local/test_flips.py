"""Flips by dual prices, and kicks out of where they are stuck."""

from __future__ import annotations

import pytest

from statveil.protect.search.local import flips, tabu
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of
from tests.protect.search.local.stuck import from_all_up
from tests.protect.search.stories import search_of
from tests.reference.cta import cheapest_cost


def test_tabu_leaves_the_table_where_flips_are_stuck() -> None:
    """A 4 x 4 table: no single flip betters 3,286; two dear ones lead to the optimum, 3,138."""
    problem = random_problem((4, 4), seed=3)
    stuck, roaming = from_all_up(problem), from_all_up(problem)
    flips.run(stuck)
    tabu.run(roaming)
    assert stuck.objective == 3286
    assert roaming.objective == 3138 == pytest.approx(cheapest_cost(problem))


def test_a_kick_leads_out_of_where_flips_are_stuck() -> None:
    """The same table: of some twenty kicks of two senses one ends in the optimum."""
    problem = random_problem((4, 4), seed=3)
    search = from_all_up(problem)
    flips.run(search)
    flips.kick(search, patience=20)
    assert search.objective == 3138


def test_a_price_never_overstates_what_a_flip_costs() -> None:
    """Two equal cells in a row with a free total: flipping one saves what the total had to move."""
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5, 1: 5})
    search, senses = search_of(problem), problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5, 1: 5}).all_up()
    solution = search.program.solve(senses, seconds=60)
    assert solution.x is not None
    assert solution.row_duals is not None
    price = flips.prices(search, senses, search.program.deviation(solution.x), solution.row_duals)
    in_costs = price[:2] * search.program.unit / search.program.price
    assert (in_costs <= -10 + 1e-6).all(), "from 5 + 5 + 10 to 5 + 5 + 0"
    assert price[2] == float("inf")
