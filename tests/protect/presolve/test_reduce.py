"""Preprocessing by hand: what is merged, fixed, tightened and forced, and by which relation; and the way back."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import OWN_BOUNDS, SEVERAL, Reduction, TracedBounds, reduce_problem, tighten_bounds
from statveil.protect.presolve.redundancy import SparseRows, first_of_equal_rows, tie_cells
from statveil.protect.problem import ProtectionProblem
from tests.protect.problems import problem_of, small_problems, tied_problems, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost, cheapest_whole_table, whole_tables


def forced(reduction: Reduction) -> list[tuple[int, int, int]]:
    return list(zip(*(part.tolist() for part in reduction.forced), strict=True))


# -- merging ------------------------------------------------------------------------------------------------------------


def test_a_total_of_one_part_is_that_part() -> None:
    reduction = reduce_problem(problem_of([5, 5, 7, 12], [[1, -1, 0, 0], [0, 1, 1, -1]], levels={0: 2}))
    assert reduction.group[0] == reduction.group[1]
    assert reduction.problem.size == 3
    assert reduction.problem.weight[reduction.group[0]] == 2
    assert reduction.relation.tolist() == [1]


def test_opposite_cells_are_one_cell_with_a_sign() -> None:
    reduction = reduce_problem(problem_of([5, -5, 7, 12], [[1, 1, 0, 0], [1, 0, 1, -1]], levels={0: 2}, lower=np.full(4, -NO_LIMIT)))
    assert reduction.group[0] == reduction.group[1]
    assert reduction.sign[0] == -reduction.sign[1]
    deviation = reduction.expand(np.arange(1, reduction.problem.size + 1))
    assert deviation[0] == -deviation[1] != 0


def test_two_relations_alike_but_for_one_term_make_it_equal() -> None:
    reduction = reduce_problem(problem_of([1, 2, 3, 6, 6], [[1, 1, 1, -1, 0], [1, 1, 1, 0, -1]], levels={0: 1}))
    assert reduction.group[3] == reduction.group[4]
    assert reduction.relation.tolist() == [0]


def test_levels_of_merged_cells_are_the_larger_ones() -> None:
    reduction = reduce_problem(problem_of([50, 50, 70, 120], [[1, -1, 0, 0], [0, 1, 1, -1]], levels={0: (2, 9), 1: (5, 3)}))
    group = reduction.group[0]
    assert (reduction.problem.lower_level[group], reduction.problem.upper_level[group]) == (5, 9)


def two_equal_cells(levels: dict[int, tuple[int, int]], **changes: Any) -> ProtectionProblem:
    return problem_of([10, 10], [[-1, 1]], levels=levels, **changes)


def test_equal_cells_that_both_may_stay_may_still_stay() -> None:
    """The first falls by 2 or does not fall, the second rises by 2 or does not rise: 10 and 10 cost nothing; 9 and 11 bound them."""
    wide = reduce_problem(two_equal_cells({0: (2, 0), 1: (0, 2)}))
    assert wide.feasible
    assert cheapest_cost(wide.problem) + wide.fixed_cost == 0
    narrow = reduce_problem(two_equal_cells({0: (2, 0), 1: (0, 2)}, lower=np.full(2, 9), upper=np.full(2, 11)))
    assert narrow.feasible
    assert (narrow.problem.size, narrow.constant.tolist()) == (0, [0, 0])


def test_equal_cells_that_move_by_exactly_their_level_or_not_at_all_stay() -> None:
    reduction = reduce_problem(two_equal_cells({0: (2, 0), 1: (0, 2)}, variant="exact", lower=np.full(2, 5), upper=np.full(2, 15)))
    assert reduction.feasible
    assert cheapest_whole_table(reduction.problem) + reduction.fixed_cost == 0


def test_equal_cells_that_may_stay_are_one_where_the_same_side_asks_nothing() -> None:
    reduction = reduce_problem(two_equal_cells({0: (2, 0), 1: (5, 0)}))
    assert (reduction.problem.lower_level.tolist(), reduction.problem.upper_level.tolist()) == ([5], [0])


def test_a_third_cell_that_may_not_stay_makes_them_all_one() -> None:
    relations = [[-1, 1, 0], [0, 1, -1]]
    reduction = reduce_problem(problem_of([10, 10, 10], relations, levels={0: (2, 0), 1: (0, 2), 2: (1, 4)}))
    assert (reduction.problem.lower_level.tolist(), reduction.problem.upper_level.tolist()) == ([2], [4])


def test_opposite_cells_are_held_against_each_other_the_right_way_round() -> None:
    """z and -z fall by 2 or do not fall: z is 0, or 2 and more, or -2 and less, as no one cell is. With one of them turned, one is."""
    free = np.full(2, -NO_LIMIT)
    apart = reduce_problem(problem_of([10, -10], [[1, 1]], levels={0: (2, 0), 1: (2, 0)}, lower=free))
    assert (apart.problem.size, apart.group[0] == apart.group[1]) == (2, False)
    assert cheapest_cost(apart.problem) == 0
    assert reduce_problem(problem_of([10, -10], [[1, 1]], levels={0: (2, 0), 1: (0, 2)}, lower=free)).problem.size == 1


def test_cells_held_at_zero_by_a_contradiction_may_stay() -> None:
    """z = -z leaves only 0, which both cells allow."""
    relations = [[1, -1], [1, 1]]
    reduction = reduce_problem(problem_of([0, 0], relations, levels={0: (2, 0), 1: (0, 2)}, lower=np.full(2, -NO_LIMIT)))
    assert (reduction.feasible, reduction.constant.tolist(), reduction.problem.size) == (True, [0, 0], 0)


def test_a_sensitive_cell_without_a_level_is_a_plain_one() -> None:
    """It may be anywhere; if it must move by exactly its level, it stays."""
    problem = problem_of([10, 20, 30], [[1, 1, -1]], levels={0: (0, 0), 1: (0, 3)})
    assert reduce_problem(problem).problem.sensitive.tolist() == [False, True, False]
    exact = dataclasses.replace(problem, variant="exact")
    assert reduce_problem(exact).group[0] == -1
    assert not reduce_problem(dataclasses.replace(exact, lower=np.array([12, 0, 0]))).feasible


def test_senses_of_a_group_are_those_of_the_cells_that_ask_something() -> None:
    """Both cells stay, which is "up" for each; they are opposite, but only the first asks for anything."""
    problem = problem_of([10, -10], [[1, 1]], levels={0: (2, 0), 1: (0, 0)}, lower=np.full(2, -NO_LIMIT))
    reduction = reduce_problem(problem)
    senses = problem.senses_of(np.zeros(2, dtype=np.int64))
    assert senses.tolist() == [1, 1]
    assert reduction.restrict(senses).tolist() == [reduction.sign[0]]


def test_a_relation_said_twice_is_dropped_also_with_the_other_sign() -> None:
    reduction = reduce_problem(problem_of([1, 2, 3], [[1, 1, -1], [-1, -1, 1], [1, 1, -1]], levels={0: 1}))
    assert reduction.relation.tolist() == [0]


def test_first_of_equal_rows_compares_in_full() -> None:
    matrix = csr_matrix(np.array([[1, 2, 0], [0, 0, 0], [-1, -2, 0], [1, 2, 1], [1, 2, 0]]))
    assert first_of_equal_rows(matrix, np.array([5, 0, -5, 5, 4])).tolist() == [True, True, False, True, True]


def test_a_contradiction_holds_the_group_at_zero() -> None:
    tied = tie_cells(4, np.array([[0, 1, 1, 7], [1, 2, -1, 8], [0, 2, 1, 9]]))
    assert len(set(tied.root[:3])) == 1
    assert tied.zero.tolist() == [tied.root[0]]
    assert tied.by.tolist() == [7, 7, 7, -4]


def test_long_chains_of_ties_keep_their_signs() -> None:
    pairs = np.array([[i, i + 1, -1, i] for i in range(999)])
    tied = tie_cells(1000, pairs[np.random.default_rng(1).permutation(999)])
    assert len(set(tied.root)) == 1
    assert np.array_equal(tied.turn * tied.turn[0], np.resize([1, -1], 1000))


# -- fixing and tightening ----------------------------------------------------------------------------------------------


def test_a_frozen_cell_is_folded_in() -> None:
    lower, upper = np.array([0, 0, 2, 0]), np.array([NO_LIMIT, NO_LIMIT, 2, NO_LIMIT])
    reduction = reduce_problem(problem_of([1, 2, 2, 6], [[1, 1, 1, -1]], levels={0: 1}, lower=lower, upper=upper))
    assert reduction.group.tolist()[2] == -1
    assert reduction.problem.rhs.tolist() == [1]  # the table lacked one


def test_a_relation_of_one_cell_cannot_move_it_further_than_exactly_its_level() -> None:
    problem = problem_of([10], [[1]], levels={0: 1}, rhs=np.array([12]), variant="exact")
    assert not reduce_problem(problem).feasible
    assert reduce_problem(dataclasses.replace(problem, rhs=np.array([11]))).constant.tolist() == [1]


def test_bounds_go_through_relations_in_exact_integers() -> None:
    """3x + 2y = 2^60 + 1: beyond doubles."""
    big = 2**60
    low, high = np.array([0, 0]), np.array([2**61, 5])
    by = np.full((2, 2), -1)
    row = SparseRows(np.array([0, 2]), np.array([0, 1]), np.array([3, 2]))
    moved = tighten_bounds(row, np.array([big + 1]), np.array([4]), TracedBounds(low, high, *by))
    assert not moved  # the bounds lie beyond what is worth having
    low, high = np.array([0, 0]), np.array([2**61, 5])
    relation = row._replace(data=np.array([3, -2])), np.array([10]), np.array([4])  # 3x - 2y = 10, number 4
    assert tighten_bounds(*relation, TracedBounds(low, high, *by))
    assert (low.tolist(), high.tolist(), by.tolist()) == ([4, 0], [6, 4], [[4, -1], [4, 4]])
    assert tighten_bounds(*relation, TracedBounds(low, high, *by))
    assert (low.tolist(), high.tolist(), by.tolist()) == ([4, 1], [6, 4], [[4, 4], [4, 4]])
    assert not tighten_bounds(*relation, TracedBounds(low, high, *by))


def test_a_relation_too_large_for_64_bits_is_left_alone() -> None:
    low, high = np.array([-(2**50), -(2**50)]), np.array([2**50, 2**50])
    row = SparseRows(np.array([0, 2]), np.array([0, 1]), np.array([2**12, 1]))
    assert not tighten_bounds(row, np.array([1]), np.array([0]), TracedBounds(low, high, *np.full((2, 2), -1)))


@settings(deadline=None, max_examples=80)
@given(problem=small_problems())
def test_tightened_bounds_lose_no_table(problem: ProtectionProblem) -> None:
    """Every table of a small box that the problem accepts is found again in the reduced problem, at the same cost."""
    reduction = reduce_problem(problem)
    reduced, span = reduction.problem, range(-3, 4)
    if problem.size > 5:
        return
    for deviation in map(np.array, itertools.product(span, repeat=problem.size)):
        if problem.accepts(deviation):
            assert reduction.feasible
            heads = np.array([np.flatnonzero(reduction.group == group)[0] for group in range(reduced.size)], dtype=np.int64)
            small = (deviation - reduction.constant)[heads] * reduction.sign[heads]
            assert np.array_equal(reduction.expand(small), deviation)
            assert reduced.accepts(small)
            cells, senses = reduction.forced.cell, reduction.forced.sense
            shown = np.where(deviation >= problem.up.low, 1, -1)[cells]
            assert np.array_equal(shown, senses) or (deviation[cells] == 0).any()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(problem=small_problems())
def test_the_reduced_problem_costs_the_same(problem: ProtectionProblem) -> None:
    problem = dataclasses.replace(problem, norm="l1")
    reduction = reduce_problem(problem)
    best = cheapest_cost(problem)
    if not reduction.feasible:
        return
    rest = cheapest_cost(reduction.problem) if reduction.problem.size else 0.0
    assert rest + reduction.fixed_cost == pytest.approx(best)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(problem=tied_problems())
def test_tied_cells_with_levels_of_zero_lose_and_gain_no_table(problem: ProtectionProblem) -> None:
    """All whole tables of the reduced problem, taken back, are all whole tables of the original, at the same cost."""
    reduction, tables = reduce_problem(problem), whole_tables(problem)
    found = whole_tables(reduction.problem) if reduction.feasible else np.zeros((0, reduction.problem.size), dtype=np.int64)
    assert {tuple(reduction.expand(each).tolist()) for each in found} == {tuple(each.tolist()) for each in tables}
    costs = [reduction.problem.cost(each) + reduction.fixed_cost for each in found]
    assert costs == pytest.approx([problem.cost(reduction.expand(each)) for each in found])
    cell, sense, _ = reduction.forced
    side = np.where(sense > 0, tables[:, cell] >= problem.upper_level[cell], tables[:, cell] <= -problem.lower_level[cell])
    assert side.all()


# -- forced senses ------------------------------------------------------------------------------------------------------


def test_a_cell_below_its_level_is_forced_by_its_own_bounds() -> None:
    assert forced(reduce_problem(problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5}))) == [(0, 1, OWN_BOUNDS)]


def test_a_relation_forces_the_sense_and_is_named() -> None:
    """The total may fall by 2 at most and the others not rise: the first cell cannot fall by 4, only rise."""
    upper = np.array([99, 20, 30, 99])
    lower = np.array([0, 0, 0, 58])
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, lower=lower, upper=upper)
    assert forced(reduce_problem(problem)) == [(0, 1, 0)]


def test_of_two_relations_the_one_that_forces_is_named() -> None:
    relations = [[1, 1, -1, 0, 0], [0, 0, 1, 1, -1]]
    lower, upper = np.array([0, 19, 0, 0, 0]), np.array([99, 20, 99, 99, 99])
    problem = problem_of([10, 20, 30, 40, 70], relations, levels={2: 25, 3: 5}, lower=lower, upper=upper)
    # The sum of the first two can fall by 10 + 1 only, so it rises by 25; the grand total by 29 at most, so the other part must fall.
    assert forced(reduce_problem(problem)) == [(2, 1, 0), (3, -1, 1)]


def test_a_tied_cell_is_forced_through_the_tie() -> None:
    relations = [[1, 1, -1, 0], [0, 0, 1, -1]]
    problem = problem_of([10, 20, 30, 30], relations, levels={3: 8}, lower=np.array([0, 0, 25, 0]))
    assert forced(reduce_problem(problem)) == [(3, 1, 1)]


def test_a_sense_that_follows_from_a_fixed_amount_is_named() -> None:
    """The total is frozen below the sum of its parts, one of them frozen too: the other must fall, by just so much."""
    problem = problem_of([10, 20, 26], [[1, 1, -1]], levels={0: 4}, lower=np.array([0, 20, 26]), upper=np.array([99, 20, 26]))
    reduction = reduce_problem(problem)
    assert forced(reduction) == [(0, -1, 0)]
    assert reduction.constant.tolist() == [-4, 0, 0]


def test_free_cells_are_not_forced() -> None:
    assert forced(reduce_problem(problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4}))) == []
    assert (OWN_BOUNDS, SEVERAL) == (-1, -2)


# -- redundant relations ------------------------------------------------------------------------------------------------


def test_one_relation_of_a_two_way_table_follows_from_the_others() -> None:
    value = with_margins(np.array([[1, 2, 3], [4, 5, 6]])).ravel()
    reduction = reduce_problem(problem_of(value, two_way_relations(2, 3), levels={0: 1}))
    assert reduction.problem.rhs.size == 7
    assert reduction.redundant.size == 1
    rank = np.linalg.matrix_rank(reduction.problem.relations.toarray())
    assert rank == 6


@settings(deadline=None, max_examples=40)
@given(problem=small_problems())
def test_what_is_kept_has_full_rank(problem: ProtectionProblem) -> None:
    reduction = reduce_problem(problem)
    if not reduction.feasible:
        return
    matrix = reduction.problem.relations.toarray()
    kept = np.delete(matrix, reduction.redundant, axis=0)
    if kept.size:
        assert np.linalg.matrix_rank(matrix) == kept.shape[0]


# -- size ---------------------------------------------------------------------------------------------------------------


def test_fifty_thousand_ties_are_found() -> None:
    """Cells 2k and 2k + 1 are equal; the even ones add up to the last."""
    count = 50_000
    even, last = np.arange(0, 2 * count, 2), 2 * count
    rows = np.concatenate([np.repeat(np.arange(count), 2), np.full(count + 1, count)])
    cells = np.concatenate([np.arange(2 * count), even, [last]])
    factors = np.concatenate([np.tile([1, -1], count), np.ones(count, dtype=np.int64), [-1]])
    value = np.append(np.full(2 * count, 5), 5 * count)
    problem = problem_of(value, np.zeros((0, value.size)), levels={int(cell): 1 for cell in even[:100]})
    matrix = csr_matrix((factors, (rows, cells)), shape=(count + 1, value.size))
    reduction = reduce_problem(dataclasses.replace(problem, relations=matrix, rhs=np.zeros(count + 1, dtype=np.int64)))
    assert (reduction.problem.size, reduction.problem.rhs.size, reduction.relation.tolist()) == (count + 1, 1, [count])
