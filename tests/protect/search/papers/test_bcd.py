"""Blocks of senses: a step keeps what it does not own and never makes a table worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import improve_block
from statveil.protect.search.papers import bcd, tree_bcd
from statveil.protect.search_state import Search
from tests.protect.problems import problem_of, small_problems, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost


def search_of(problem: ProtectionProblem, start: np.ndarray | None = None) -> Search:
    search = Search(problem, Limits(seconds=120), 0, lambda _: None)
    search.start = start
    return search


def four_in_a_row() -> ProtectionProblem:
    """Four like cells under a total: two up and two down cost 16; all up cost 32."""
    return problem_of([20, 20, 20, 20, 80], [[1, 1, 1, 1, -1]], levels=dict.fromkeys(range(4), 4))


@given(st.integers(0, 40), st.integers(1, 15), st.integers(0, 9))
def test_blocks_partition_the_choices(cells: int, count: int, seed: int) -> None:
    parts = bcd.random_blocks(np.arange(cells), count, np.random.default_rng(seed))
    assert sorted(np.concatenate([np.zeros(0, dtype=np.int64), *parts]).tolist()) == list(range(cells))
    assert len(parts) == min(cells, count)
    assert not parts or max(map(len, parts)) - min(map(len, parts)) <= 1


def test_blocks_are_drawn_anew() -> None:
    rng = np.random.default_rng(0)
    first, second = (bcd.random_blocks(np.arange(20), 4, rng) for _ in range(2))
    assert [part.tolist() for part in first] != [part.tolist() for part in second]


def test_closed_cells_become_plain_cells_that_keep_their_sense() -> None:
    problem = four_in_a_row()
    part = problem.restricted(np.array([1, -1, 1, 1, 0]), np.array([2, 3]))
    assert part.sensitive.tolist() == [False, False, True, True, False]
    assert (part.free.low[0], part.free.high[1]) == (4, -4)
    assert part.free.low[1] == problem.free.low[1]


def test_a_block_of_two_turns_one_of_them() -> None:
    search = search_of(four_in_a_row())
    search.try_senses(np.array([1, 1, 1, 1, 0]))
    assert improve_block(search, np.array([0, 1]), seconds=60)
    assert search.best is not None
    assert (search.best[2:4] >= 4).all()
    assert search.objective == 16
    assert not improve_block(search, np.array([2, 3]), seconds=60)


def test_the_whole_as_one_block_proves_its_optimum() -> None:
    search = search_of(four_in_a_row())
    search.try_senses(np.array([1, 1, 1, 1, 0]))
    improve_block(search, search.problem.choices, seconds=60)
    assert search.objective == 16
    assert search.bound == pytest.approx(16)


def test_least_squares_too_takes_only_what_is_better() -> None:
    problem = problem_of([20, 20, 20, 20, 80], [[1, 1, 1, 1, -1]], levels=dict.fromkeys(range(4), 4), norm="l2")
    search = search_of(problem)
    search.try_senses(np.array([1, 1, 1, 1, 0]))
    assert improve_block(search, np.array([0, 1]), seconds=60)
    assert search.objective == 4 * 16


@given(small_problems(), st.integers(0, 31))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_block_step_never_worsens(problem: ProtectionProblem, chosen: int) -> None:
    search = search_of(problem)
    bcd.sat.begin(search)
    if search.best is None:
        return
    choice = problem.choices
    some = choice[[k for k in range(choice.size) if chosen >> k & 1]]
    before, kept = search.objective, problem.senses_of(search.best)
    better = improve_block(search, some, seconds=60)
    assert better == (search.objective < before)
    assert search.objective <= before
    closed = np.setdiff1d(np.flatnonzero(problem.sensitive), some)
    if better:
        assert (problem.senses_of(search.best)[closed] == kept[closed]).all()
    assert problem.accepts(search.best)


@pytest.mark.slow
@pytest.mark.parametrize("method", [bcd.run, tree_bcd.run])
@given(problem=small_problems())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_descent_ends_between_the_optimum_and_its_start(method, problem: ProtectionProblem) -> None:  # type: ignore[no-untyped-def]
    start = search_of(problem)
    bcd.sat.begin(start)
    search = search_of(problem)
    method(search)
    assert (search.best is None) == (start.best is None)
    if search.best is not None:
        assert problem.accepts(search.best)
        assert cheapest_cost(problem) * (1 - 1e-9) <= search.objective <= start.objective


@pytest.mark.parametrize("method", [bcd.run, tree_bcd.run])
def test_the_same_seed_gives_the_same_table(method) -> None:  # type: ignore[no-untyped-def]
    inner = np.random.default_rng(3).integers(5, 90, (5, 6))
    levels = {cell: 3 + cell % 7 for cell in range(0, 42, 2) if cell % 7 != 6}
    problem = problem_of(with_margins(inner).ravel(), two_way_relations(5, 6), levels=levels)
    one, two = search_of(problem), search_of(problem)
    method(one)
    method(two)
    assert one.best is not None
    assert two.best is not None
    assert (one.best == two.best).all()


def test_the_start_given_is_where_descent_begins() -> None:
    search = search_of(four_in_a_row(), np.array([1, 1, 1, 1, 0]))
    bcd.sat.begin(search)
    assert search.objective == 32
