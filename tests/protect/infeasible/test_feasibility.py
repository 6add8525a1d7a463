"""Whether a table exists at all: levels that clash alone or together, halves, and searches given up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from statveil.protect.infeasible.explain import explain, minimal_clash
from statveil.protect.infeasible.feasibility import (
    TUNING,
    Clash,
    Requirement,
    TableFound,
    Undecided,
    all_requirements,
    check_feasibility,
    meets,
)
from tests.protect.infeasible.clashes import STUCK_NEIGHBOUR, kinds_and_places, told
from tests.protect.problems import problem_of


@pytest.mark.slow
def test_a_cell_that_cannot_reach_its_own_levels_clashes_alone() -> None:
    alone = problem_of([20, 20], [[-1, 1]], levels={1: 5}, lower=np.array([0, 18]), upper=np.array([99, 23]))
    found = told(alone)
    assert kinds_and_places(found) == {("protection", 1), ("lower", 1), ("upper", 1)}
    assert found.minimal
    assert found.public().splitlines()[:2] == [
        "This cannot be met, whatever the other cells do:",
        "- cell 1 must move by its protection level or more, and must stay within its bounds",
    ]


@pytest.mark.slow
def test_levels_that_clash_only_together_are_found_by_trying_senses() -> None:
    """4 and 7 must cancel in a fixed total: they never do, though each alone could be balanced by the other."""
    clashing = problem_of(
        [50, 20, 30], [[-1, 1, 1]], levels={1: (4, 4), 2: (7, 7)}, variant="exact", lower=np.array([50, 0, 0]), upper=np.array([50, 99, 99])
    )
    found = told(clashing)
    assert ("exactness", 1) in kinds_and_places(found)
    assert found.minimal
    assert "variant at-least" in found.public()


@pytest.mark.slow
def test_no_whole_table_though_there_is_one_with_halves() -> None:
    """2 z = 1: no bound is in the way."""
    odd = problem_of([0], [[2]], levels={}, rhs=np.array([1]))
    assert kinds_and_places(told(odd)) == {("relation", 0)}
    three = problem_of([0, 0, 0], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], levels={}, rhs=np.array([1, 0, 0]), lower=np.array([-9] * 3))
    found = told(three)
    assert {("relation", row) for row in range(3)} <= kinds_and_places(found)


@pytest.mark.slow
def test_a_feasible_problem_has_nothing_to_explain() -> None:
    free = dataclasses.replace(STUCK_NEIGHBOUR, upper=np.array([100, 100, 100]))
    assert explain(free) is None
    answer = check_feasibility(free, all_requirements(free), tries=10)
    assert isinstance(answer, TableFound)
    assert meets(free, all_requirements(free), answer.deviation)


def test_a_table_too_large_to_search_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statveil.protect.infeasible.explain.TUNING", TUNING._replace(most_terms=2))
    assert explain(STUCK_NEIGHBOUR) is None


def test_a_search_without_tries_left_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Undecided):
        check_feasibility(dataclasses.replace(STUCK_NEIGHBOUR, upper=np.array([100, 100, 100])), [Requirement("protection", 1)], tries=0)
    found = check_feasibility(STUCK_NEIGHBOUR, all_requirements(STUCK_NEIGHBOUR), tries=1)
    assert isinstance(found, Clash)
    smallest, minimal = minimal_clash(STUCK_NEIGHBOUR, found.requirements, tries=0)
    assert smallest <= found.requirements
    assert minimal  # whole tables found by substitution prove it
    monkeypatch.setattr("statveil.protect.infeasible.explain.find_whole_table", lambda *_: None)
    assert not minimal_clash(STUCK_NEIGHBOUR, found.requirements, tries=0)[1]
