"""What the tests of the paper's methods share: a search without a parent, and two small tables."""

from __future__ import annotations

import dataclasses

import numpy as np

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search
from statveil_lab.generators.random_tables import protect_within, random_table
from tests.protect.problems import problem_of, two_way_relations, with_margins


def search_of(problem: ProtectionProblem, *, seconds: float = 120, seed: int = 0) -> Search:
    return Search(problem, Limits(seconds=seconds), seed, lambda _: None)


def five_in_a_row() -> ProtectionProblem:
    """Five sensitive cells and their total. By falling level: the second (9), the fourth (7), the first, the fifth, the third."""
    return problem_of([50] * 5 + [250], [[1, 1, 1, 1, 1, -1]], levels={0: 5, 1: 9, 2: 1, 3: 7, 4: 3})


def two_by_two() -> ProtectionProblem:
    """All four inner cells sensitive. By falling level: top left, bottom left, top right, bottom right."""
    value = with_margins(np.full((2, 2), 100)).ravel()
    return problem_of(value, two_way_relations(2, 2), levels={0: 9, 3: 8, 1: 7, 4: 6})


def cube(size: int = 6) -> ProtectionProblem:
    """A three-way table with all margins; sensitive cells move by a fifth at least, all others as far as they like."""
    table = protect_within(random_table((size, size, size), seed=1, sensitive=0.1, percent=20), percent=20)
    return dataclasses.replace(table, lower=np.zeros_like(table.value), upper=4 * table.value, variant="at-least")
