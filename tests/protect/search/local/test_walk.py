"""The walk: whole, additive and safe at every step, the same for the same seed, and close to the optimum on small tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import CellParts, parts_of
from statveil.protect.search.local import walk
from statveil.protect.search.local.walk import lifted
from statveil.protect.search_state import Search
from statveil_lab.tables import linked_problem
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
    for heat in walk.TUNING.heats:
        found = walk.anneal_table(search, graph, search.best, moves=100_000, heat=heat)
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
    search.start = problem.all_up()
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


def lift(problem: ProtectionProblem) -> IntArray | None:
    parts = parts_of(problem)
    assert parts is not None
    return lifted(problem, parts)


def test_one_part_serves_the_cell_and_its_total() -> None:
    """The first part must rise by 4 and the total by 3: raising the first alone serves both."""
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4, 2: 3}))
    assert found is not None
    assert found.tolist() == [4, 0, 4]


def test_a_total_that_is_still_short_raises_one_of_its_parts() -> None:
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4, 2: 9}))
    assert found is not None
    assert found[0] >= 4
    assert found[2] == 9


def test_a_part_without_room_is_passed_over() -> None:
    """The total must rise by 5; the first part may rise by 2 only."""
    found = lift(problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([12, 90, 90])))
    assert found is not None
    assert found.tolist() == [0, 5, 5]


def test_a_fixed_total_is_kept_by_lowering_another_part() -> None:
    found = lift(problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, upper=np.array([90, 90, 90, 60])))
    assert found is not None
    assert found.tolist() == [4, 0, -4, 0], "the part with most to spare gives"


def test_a_part_with_little_to_spare_gives_what_it_can() -> None:
    """The total is fixed; the second part can fall by 20, the third by 3."""
    found = lift(problem_of([90, 20, 3, 113], [[1, 1, 1, -1]], levels={0: 22}, upper=np.array([999, 90, 90, 113])))
    assert found is not None
    assert found.tolist() == [22, -20, -2, 0]


@pytest.mark.parametrize(
    "problem",
    [
        problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([12, 22, 90])),
        problem_of([10, 20, 30], [[1, 1, -1]], levels={2: 5}, upper=np.array([90, 90, 32])),
        problem_of([30, 10, 20], [[1, -1, -1]], levels={1: 5}, lower=np.array([0, 0, 20]), upper=np.array([32, 90, 20])),
    ],
    ids=["no part has room", "the cell cannot go up", "the total has no room and the other part cannot move"],
)
def test_no_table_where_there_is_no_room(problem: ProtectionProblem) -> None:
    assert lift(problem) is None


def test_no_table_where_sums_subtract() -> None:
    """A profit, turnover less costs, falls when the costs rise."""
    problem = problem_of([30, 20, 10], [[1, -1, -1]], levels={0: 3, 2: 3})
    profit = CellParts(part=np.array([0, 1]), sums=csr_matrix(np.array([[1, 0], [0, 1], [1, -1]])), constant=np.zeros(3, dtype=np.int64))
    assert lifted(problem, profit) is None


def test_linked_codes_in_three_dimensions() -> None:
    """2,197 cells with overlapping codes, bounds at twice the value: safe in exact integers."""
    problem = linked_problem(3, seed=1)
    found = lift(problem)
    assert found is not None
    assert problem.accepts(found)
    assert (found >= 0).all()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_problems())
def test_whatever_it_finds_is_safe(problem: ProtectionProblem) -> None:
    parts = parts_of(problem)
    found = None if parts is None else lifted(problem, parts)
    assert found is None or problem.accepts(found)
