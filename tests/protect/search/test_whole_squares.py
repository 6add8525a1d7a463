"""Whole squares: on small tables no whole table does better, by trying them all."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import whole_squares
from tests.protect.problems import problem_of, two_way_relations, with_margins
from tests.protect.search.stories import search_of

FARTHEST = 9


def two_by_two_in_squares(seed: int) -> ProtectionProblem:
    """A random 2 x 2 table with margins, three sensitive cells anywhere, small levels."""
    rng = np.random.Generator(np.random.PCG64(seed))
    value = with_margins(rng.integers(5, 40, (2, 2))).ravel()
    levels = {int(cell): tuple(rng.integers(1, 4, 2).tolist()) for cell in rng.choice(9, 3, replace=False)}
    return problem_of(value, two_way_relations(2, 2), levels=levels, weight=rng.choice([1.0, 2.0], 9), norm="l2")


def cheapest_by_trying(problem: ProtectionProblem) -> float:
    """Every change of the four inner cells by nine at most, margins added up."""
    inner = np.array(list(product(range(-FARTHEST, FARTHEST + 1), repeat=4)), dtype=np.int64).reshape(-1, 2, 2)
    wide = np.concatenate([inner, inner.sum(axis=2, keepdims=True)], axis=2)
    z = np.concatenate([wide, wide.sum(axis=1, keepdims=True)], axis=1).reshape(-1, 9)
    up = (z >= problem.up.low) & (z <= problem.up.high)
    down = (z >= problem.down.low) & (z <= problem.down.high)
    inside = (z >= problem.free.low) & (z <= problem.free.high)
    safe = (inside & (~problem.sensitive | up | down)).all(axis=1)
    return float((z[safe] ** 2 @ problem.weight).min())


@pytest.mark.parametrize("seed", range(8))
def test_no_whole_table_of_two_by_two_costs_less(seed: int) -> None:
    problem = two_by_two_in_squares(seed)
    search = search_of(problem)
    search.try_senses(problem.all_up())
    whole_squares.improve(search)
    assert search.objective == cheapest_by_trying(problem)
    assert search.bound == pytest.approx(search.objective, rel=1e-6)
    assert search.proved == 0, "the solver's word is a claim"


def test_what_is_too_large_or_in_absolute_changes_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_by_two_in_squares(0)
    far = np.where(problem.sensitive, 1.0, 1e-9)  # what the sensitive cells must cost lets the others go a long way
    monkeypatch.setattr(whole_squares, "_one_round", lambda *_: pytest.fail("not asked for"))
    for other in (dataclasses.replace(problem, norm="l1"), dataclasses.replace(problem, weight=far)):
        search = search_of(other)
        search.try_senses(other.all_up())
        before = search.objective
        whole_squares.improve(search)
        assert search.objective == before
    whole_squares.improve(search_of(problem))  # no table yet


def test_a_level_that_costs_more_than_the_incumbent_closes_that_way() -> None:
    """Up costs 9 at the least; down it would be 400 squared: the incumbent of all up leaves no choice."""
    problem = problem_of([500, 500, 1000], [[1, 1, -1]], levels={0: (400, 3)}, norm="l2")
    search = search_of(problem)
    search.offer(np.array([3, -3, 0]))
    whole_squares.improve(search)
    assert search.best is not None
    assert sorted(np.abs(search.best).tolist()) == [1, 2, 3]
    assert search.objective == 14
