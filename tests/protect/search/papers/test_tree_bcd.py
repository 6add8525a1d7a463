"""Levels of a hierarchy, read from its relations."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from statveil.protect.search.papers.tree_bcd import depths, sense_levels, windows
from tests.protect.problems import problem_of, two_way_relations

COUNTRY = [[-1, 1, 1, 0, 0, 0, 0], [0, -1, 0, 1, 1, 0, 0], [0, 0, 0, -1, 0, 1, 1]]
"""0 the country, 1 and 2 its provinces, 3 and 4 towns of 1, 5 and 6 quarters of 3."""


def test_a_country_has_provinces_towns_and_quarters() -> None:
    assert depths(csr_matrix(np.array(COUNTRY))).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_the_sign_of_a_relation_does_not_matter() -> None:
    turned = np.array(COUNTRY) * np.array([[1], [-1], [1]])
    assert depths(csr_matrix(turned)).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_a_two_way_table_has_its_grand_total_its_margins_and_its_cells() -> None:
    depth = depths(csr_matrix(two_way_relations(2, 3))).reshape(3, 4)
    assert depth.tolist() == [[2, 2, 2, 1], [2, 2, 2, 1], [1, 1, 1, 0]]


def test_of_two_equal_cells_the_negative_one_is_the_total() -> None:
    assert depths(csr_matrix(np.array([[1, -1]]))).tolist() == [1, 0]


def test_relations_without_a_total_or_in_a_circle_give_no_order() -> None:
    assert depths(csr_matrix(np.array([[1, 1, 1]]))).tolist() == [0, 0, 0]
    assert depths(csr_matrix(np.array([[-1, 1, 1, 0], [1, -1, 0, 1]]))).tolist() == [0, 0, 1, 1]


def test_levels_hold_the_choices_only() -> None:
    """The town of 2 is too small to fall: no choice. Quarters are not sensitive: no level."""
    problem = problem_of([100, 60, 40, 58, 2, 30, 28], COUNTRY, levels={1: 5, 2: 5, 3: 5, 4: 5})
    assert [level.tolist() for level in sense_levels(problem)] == [[1, 2], [3]]


def test_windows_widen_and_overlap() -> None:
    levels = [np.array([0]), np.array([1, 2]), np.array([3])]
    assert [w.tolist() for w in windows(levels, 1)] == [[0], [1, 2], [3]]
    assert [w.tolist() for w in windows(levels, 2)] == [[0, 1, 2], [1, 2, 3]]
    assert [w.tolist() for w in windows(levels, 3)] == [[0, 1, 2, 3]]
