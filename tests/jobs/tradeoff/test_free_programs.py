"""The programs with free senses against all safe tables of small problems."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from statveil.core.arrays import IntArray
from statveil.jobs.tradeoff.explore import Candidate, FrontPlan, FrontSearch
from statveil.jobs.tradeoff.free_programs import TUNING, FreeFrontProgram
from statveil.jobs.tradeoff.front import DEFAULT, distortion_of
from statveil.jobs.tradeoff.programs import FrontProgram, least_moves
from statveil.protect.fixed_senses import FixedSenses, adjust_with_senses
from statveil.protect.keep.wishes import targets_of
from statveil.protect.problem import ProtectionProblem
from tests.jobs.tradeoff.stories import market
from tests.reference.kept import safe_tables, small_random_table


def test_senses_are_free_where_there_are_some_and_not_too_many() -> None:
    problem = market()
    assert FreeFrontProgram.suits(problem)
    fixed = problem.restricted(problem.all_up(), np.zeros(0, dtype=np.int64))
    assert fixed.choices.size == 0
    assert not FreeFrontProgram.suits(fixed)
    assert market().choices.size <= TUNING.most_choices


def test_no_choice_of_senses_does_much_better() -> None:
    """Each of the 64 choices by its own programs, beside a few with free senses."""
    problem, targets = market(), targets_of(DEFAULT, market())
    search = FrontSearch(problem, targets, DEFAULT, FrontPlan(points=4, seconds=600.0, seed=0), lambda _: None)
    search.know(all_up(problem))
    for _ in range(3):
        search.polish([1200.0], 3)
    found = min(each.distortion for each in search.found if each.change <= 1200.0)
    senses = problem.all_up()
    for signs in product((1, -1), repeat=problem.choices.size):
        senses[problem.choices] = signs
        other = FrontProgram(problem, targets, senses).least_distortion(least_moves(problem, senses), 1200.0, seconds=600)
        assert other is None or found <= other.distortion * 1.02


@pytest.mark.parametrize("seed", range(6))
def test_a_search_comes_near_the_best_of_all_safe_tables(seed: int) -> None:
    problem = small_random_table(seed)
    tables, targets = safe_tables(problem), targets_of(DEFAULT, small_random_table(seed))
    cost = np.array([problem.cost(table) for table in tables])
    distortion = np.array([distortion_of(targets, table) for table in tables])
    plain = tables[np.lexsort((-distortion, cost))[0]]
    search = FrontSearch(problem, targets, DEFAULT, FrontPlan(points=4, seconds=600.0, seed=0), lambda _: None)
    search.offer(plain, "plain")
    changes = [float(cost.min()), float(np.median(cost))]
    search.polish(changes, 3)
    search.polish(changes, 3)
    for change in changes:
        best = min(each.distortion for each in search.found if each.change <= change)
        assert best <= 1.25 * distortion[cost <= change].min() + 0.02


def test_what_is_found_costs_no_more_change_and_distorts_less() -> None:
    problem, targets = market(), targets_of(DEFAULT, market())
    plain = np.rint(np.where(problem.sensitive, problem.upper_level, 0)).astype(np.int64)
    heard: list[object] = []
    search = FrontSearch(problem, targets, DEFAULT, FrontPlan(points=4, seconds=600.0, seed=0), heard.append)
    assert search.offer(plain, "no table, for it is not additive") is None
    assert heard == []
    first = search.offer(all_up(problem), "all up")
    assert first is not None
    search.deepen(first.change, first, seconds=600)
    better = [each for each in search.found if each.change <= first.change and each.distortion < first.distortion]
    assert better
    assert all(problem.accepts(each.deviation) for each in search.found)
    assert all(isinstance(each, Candidate) for each in heard)


def all_up(problem: ProtectionProblem) -> IntArray:
    table = adjust_with_senses(FixedSenses(problem), problem.all_up(), seconds=600)
    assert table is not None
    return table
