"""Senses balanced by annealing: no program is solved, and small rows are balanced as well as can be."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.local import anneal
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of, two_by_two


def imbalance(problem: ProtectionProblem, senses: np.ndarray) -> int:
    level = np.where(senses > 0, problem.upper_level, -problem.lower_level) * problem.sensitive
    return int(np.abs(problem.residual - problem.relations @ level).sum())


def least_imbalance(problem: ProtectionProblem) -> int:
    """By trying all senses."""
    cells = np.flatnonzero(problem.sensitive)
    senses = np.zeros((2**cells.size, problem.size), dtype=np.int64)
    senses[:, cells] = list(product((1, -1), repeat=cells.size))
    return min(imbalance(problem, each) for each in senses)


@pytest.mark.parametrize("story", [five_in_a_row, two_by_two])
def test_small_tables_are_balanced_as_well_as_can_be(story) -> None:  # type: ignore[no-untyped-def]
    problem = story()
    assert imbalance(problem, anneal.anneal_senses(search_of(problem))) == least_imbalance(problem)


def test_a_narrow_window_leaves_less_imbalance_where_flips_are_alike() -> None:
    problem = random_problem((12, 12, 12), seed=3)
    wide, narrow = (
        [imbalance(problem, anneal.anneal_senses(search_of(problem, seed=seed), sweeps=400, narrow=narrow)) for seed in range(4)]
        for narrow in (False, True)
    )
    assert sum(narrow) < sum(wide)


def test_a_narrow_window_is_for_flips_that_are_alike_only() -> None:
    problem = random_problem((12, 12), seed=3)
    level = np.where(np.arange(problem.size) % 4 == 0, np.minimum(problem.lower_level, 1), problem.lower_level)
    uneven = dataclasses.replace(problem, lower_level=level, upper_level=level)
    one, two = (anneal.anneal_senses(search_of(uneven), sweeps=20, narrow=narrow) for narrow in (False, True))
    assert np.array_equal(one, two)


def test_same_seed_same_senses() -> None:
    problem = random_problem((6, 6, 6), seed=1)
    one, two = (anneal.anneal_senses(search_of(problem, seed=4), sweeps=50) for _ in range(2))
    assert np.array_equal(one, two)


def test_without_time_the_descent_comes_at_once() -> None:
    problem = random_problem((12, 12, 12), seed=1)
    search = search_of(problem)
    search.limits = Limits(seconds=1e-9)
    senses = anneal.anneal_senses(search, sweeps=10**9)
    assert np.array_equal(senses != 0, problem.sensitive)


def test_a_cell_outside_every_relation_goes_where_it_is_cheaper() -> None:
    problem = problem_of([50, 50, 50], [[0, 1, -1]], levels={0: (3, 8)})
    assert anneal.anneal_senses(search_of(problem)).tolist() == [-1, 0, 0]


def test_a_forced_sense_is_kept() -> None:
    problem = problem_of([3, 50, 53], [[1, 1, -1]], levels={0: 5, 1: 5})
    senses = anneal.anneal_senses(search_of(problem))
    assert senses[0] == 1
    assert senses[1] == -1, "so that the two cancel"
