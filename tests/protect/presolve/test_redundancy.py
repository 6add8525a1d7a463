"""Relations that follow from others may go; contradictions may not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.protect.presolve.redundancy import PRIME, _inverse, _product, independent_relations, independent_rows
from tests.protect.problems import problem_of, two_way_relations
from tests.reference.elimination import rows_not_following


def test_the_last_relation_of_a_two_way_table_follows_from_the_others() -> None:
    """3 rows and 4 columns with margins have 4 + 5 relations, of which one follows."""
    problem = problem_of(np.zeros(20), two_way_relations(3, 4), levels={})
    assert independent_relations(problem).size == 8


def test_the_shorter_of_equals_is_kept() -> None:
    """a + b = s and c + d + e = s: of their difference and the longer one, the longer goes."""
    rows = [[0, 0, 1, 1, 1, -1], [1, 1, 0, 0, 0, -1], [1, 1, -1, -1, -1, 0]]
    assert independent_relations(problem_of(np.zeros(6), rows, levels={})).tolist() == [0, 1]


def test_a_contradiction_stays() -> None:
    problem = problem_of([1, 2, 3], [[1, 1, -1], [1, 1, -1], [1, 1, -1]], rhs=np.array([0, 0, 5]), levels={})
    assert independent_relations(problem).tolist() == [0, 2]


@given(st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), max_size=8))
def test_as_many_are_kept_as_the_rank(rows: list[list[int]]) -> None:
    matrix = np.array(rows, dtype=np.int64).reshape(-1, 5)
    problem = problem_of(np.zeros(5), matrix, levels={})
    kept = independent_relations(problem)
    assert kept.size == np.linalg.matrix_rank(matrix) == np.linalg.matrix_rank(matrix[kept])


FACTORS = st.sampled_from([0, 0, 0, 1, 1, -1, -1, 2, -3, 5])


@given(st.lists(st.lists(FACTORS, min_size=7, max_size=7), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_those_are_kept_that_do_not_follow_from_the_ones_before(rows, random) -> None:
    """The last number of each row is its right-hand side; the relations are looked at in any order."""
    order = random.sample(range(len(rows)), random.randint(1, len(rows)))
    matrix = np.array(rows, dtype=np.int64)
    kept, all_seen = independent_rows(csr_matrix(matrix[:, :-1]), matrix[:, -1].copy(), np.array(order), 10**6)
    assert all_seen
    assert kept.tolist() == sorted(rows_not_following(rows, order))


def test_relations_that_fill_up_on_the_way_need_more_room_than_they_came_with() -> None:
    """120 relations of three cells each, anywhere among 100: what is left of the last ones has dozens."""
    dice = np.random.default_rng(3)
    matrix = np.zeros((120, 100), dtype=np.int64)
    for row in matrix:
        row[dice.choice(100, 3, replace=False)] = dice.choice([-1, 1, 2], 3)
    kept = independent_relations(problem_of(np.zeros(100), matrix, levels={}))
    assert kept.size == np.linalg.matrix_rank(matrix) == np.linalg.matrix_rank(matrix[kept])


def test_what_there_is_no_time_to_look_at_is_kept_unless_it_says_nothing() -> None:
    """The second relation takes all the work allowed; the third, which follows, and the empty one are not looked at."""
    rows = csr_matrix(np.array([[1, 1, -1], [1, 1, 0], [2, 2, -1], [0, 0, 0]], dtype=np.int64))
    nothing, order = np.zeros(4, dtype=np.int64), np.arange(4)
    assert independent_rows(rows, nothing, order, 100)[0].tolist() == [0, 1]
    kept, all_seen = independent_rows(rows, nothing, order, 2)
    assert (kept.tolist(), all_seen) == ([0, 1, 2], False)


def test_no_relations_and_no_cells() -> None:
    assert independent_relations(problem_of([], np.zeros((0, 0)), levels={})).size == 0


@pytest.mark.parametrize("a", [1, 2, 2**30, 2**31 - 1, 2**31, 2**60 + 12345, PRIME // 3, PRIME - 2, PRIME - 1])
def test_computing_modulo_the_prime_is_exact_up_to_the_largest_numbers(a: int) -> None:
    for b in (0, 1, 3, 2**31 - 1, 2**31, 2**61 - 2**31, PRIME // 7, PRIME - 1):
        assert int(_product(np.uint64(a), np.uint64(b))) == a * b % PRIME
    assert a * int(_inverse(np.uint64(a))) % PRIME == 1
