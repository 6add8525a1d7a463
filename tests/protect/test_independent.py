"""Relations that follow from others may go; contradictions may not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from statveil.protect.independent import independent_relations
from tests.protect.problems import problem_of, two_way_relations


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
