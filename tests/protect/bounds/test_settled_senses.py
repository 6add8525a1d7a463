"""Senses settled but for turning all of them: both choices are priced, and each has its proof."""

from __future__ import annotations

import numpy as np

from statveil.core.limits import Limits
from statveil.formats.certificate import Cases
from statveil.protect.bounds.settled_senses import prove_settled
from statveil.protect.search_state import NO_MULTIPLIERS, Search, SearchNews
from tests.protect.problems import problem_of

TURN = np.array([1.0, -1.0, 0.0, 0.0])
CLUSTER = np.array([0, 0, -1, -1])


def test_both_choices_cost_what_they_cost_by_hand() -> None:
    """Two cells of level 4 and 6 go opposite ways: one rises by 4, the other falls by 6, a third rises by 2; or all of it turned."""
    problem = problem_of([50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 4, 1: 6})
    heard: list[SearchNews] = []
    search = Search(problem, Limits(seconds=300), 0, heard.append)
    value, proof = prove_settled(search, 0, CLUSTER, TURN, 200)
    assert abs(value - 12) < 1e-6  # 4 + 6, and 2 on the rest
    assert isinstance(proof, Cases)
    assert proof.cell == 0
    assert search.objective == 12


def test_a_choice_that_no_bounds_allow_costs_more_than_anything() -> None:
    """The first cell can only rise: turned, there is nothing to prove."""
    problem = problem_of([50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 4, 1: 6}, lower=np.array([50, 0, 0, 0]))
    search = Search(problem, Limits(seconds=300), 0, lambda news: None)
    value, proof = prove_settled(search, 0, CLUSTER, TURN, 200)
    assert abs(value - 12) < 1e-6
    assert isinstance(proof, Cases)
    assert proof.down is NO_MULTIPLIERS
