"""The walk: whole, additive and safe at every step, the same for the same seed, and close to the optimum on small tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import parts_of
from statveil.protect.search.local import walk
from statveil.protect.search.start import balance
from statveil.protect.search.state import Search
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.stories import cube, search_of, two_by_two
from tests.reference.cta import cheapest_cost


def walked(problem: ProtectionProblem, *, seed: int = 0, rounds: int = 1) -> Search:
    search = search_of(problem, seed=seed)
    walk.run(search, rounds=rounds)
    return search


def two_by_two_by_two() -> ProtectionProblem:
    """Three cells are sensitive: two that share a row, and their grand total's opposite corner."""
    relations = [line.ravel() for line in three_way_lines()]
    value = np.full((3, 3, 3), 50)
    for axis in range(3):
        value[(slice(None),) * axis + (2,)] = 2 * value[(slice(None),) * axis + (0,)]
    return problem_of(value.ravel(), relations, levels={0: 9, 1: 7, 12: 4})


def three_way_lines() -> Iterator[np.ndarray]:
    """All lines of a 3 x 3 x 3 cube, the last cell of each its total."""
    for axis in range(3):
        for at in np.ndindex(3, 3):
            line = np.zeros((3, 3, 3), dtype=np.int64)
            line[(*at[:axis], slice(None), *at[axis:])] = (1, 1, -1)
            yield line


def test_two_by_two_by_two_is_solved() -> None:
    problem = two_by_two_by_two()
    assert walked(problem).objective == cheapest_cost(problem)


def test_each_round_of_annealing_leaves_a_safe_table() -> None:
    problem = cube()
    search = search_of(problem)
    walk.raise_parts(search)
    assert search.best is not None
    parts = parts_of(problem)
    assert parts is not None
    graph = walk.graph_of(problem, parts)
    for heat in walk.HEATS:
        found = walk.anneal(search, graph, search.best, moves=100_000, heat=heat)
        assert problem.accepts(found)
        assert problem.cost(found) < search.objective / 2


def test_in_two_dimensions_it_does_not_pay() -> None:
    """A part of a 2 x 2 table is in four cells, one of a cube in eight."""
    assert walk.fits(search_of(two_by_two()))
    assert not walk.pays(search_of(two_by_two()))
    assert walk.pays(search_of(cube()))


def test_siblings_share_one_of_the_finest_relations() -> None:
    """In a 6 x 6 x 6 table a part has five siblings along each of three axes."""
    problem = cube()
    parts = parts_of(problem)
    assert parts is not None
    graph = walk.graph_of(problem, parts)
    assert (np.diff(graph.near_at) == 15).all()


@pytest.mark.parametrize("doublings", range(4))
def test_boxes_leave_the_totals_across_them_in_place(doublings: int) -> None:
    """One corner touches its cell and seven totals, two corners eight, four corners eight and all eight corners of a cube eight cells."""
    problem = cube()
    parts = parts_of(problem)
    assert parts is not None
    graph = walk.graph_of(problem, parts)
    corner, sign, beside = np.zeros(16, np.int64), np.ones(16, np.int64), np.zeros(16, np.int64)
    state = np.array([7], dtype=np.uint64)
    made = 0
    for first in range(40):
        corner[0] = first
        count = walk._box(doublings, graph.near_at, graph.near, state, corner, sign, beside)
        if count and np.unique(corner[:count]).size == count == 2**doublings:
            step = np.zeros(parts.part.size, dtype=np.int64)
            step[corner[:count]] = sign[:count]
            moved = parts.sums @ step
            assert (problem.relations @ moved == 0).all()
            made += int((moved != 0).sum() == 8)
    assert made > 0


def test_same_seed_same_table() -> None:
    one, two, other = (walked(cube(), seed=seed) for seed in (3, 3, 4))
    assert one.best is not None
    assert two.best is not None
    assert other.best is not None
    assert np.array_equal(one.best, two.best)
    assert not np.array_equal(one.best, other.best)


def test_twice_the_rounds_do_no_worse() -> None:
    assert walked(cube(), rounds=3).objective <= walked(cube(), rounds=1).objective


def test_a_start_is_where_it_begins() -> None:
    problem = two_by_two_by_two()
    search = search_of(problem)
    search.start = balance.all_up(problem)
    walk.run(search, rounds=1)
    assert search.objective == cheapest_cost(problem)


@pytest.mark.parametrize(
    "problem",
    [dataclasses.replace(cube(), variant="exact"), dataclasses.replace(cube(), norm="l2")],
    ids=["levels to be met exactly", "squares"],
)
def test_what_does_not_fit_is_refused(problem: ProtectionProblem) -> None:
    with pytest.raises(InputError, match="'walk'"):
        walk.run(search_of(problem))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_what_it_finds_is_safe_and_no_better_than_the_best(problem: ProtectionProblem) -> None:
    search, parts = search_of(problem), parts_of(problem)
    if parts is None or problem.variant == "exact" or (parts.sums.data < 0).any():
        return
    walk.raise_parts(search)
    walk.walk_in_rounds(search, rounds=1)
    assert search.best is None or problem.accepts(search.best)
    assert search.objective >= cheapest_cost(problem) - 1e-6
