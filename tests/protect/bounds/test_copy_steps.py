"""Steps in a node of the lifted relaxation, by hand on three clusters."""

from __future__ import annotations

import numpy as np

from statveil.protect.bounds.copy_steps import broken_triangles


def signs(first: float, second: float, third: float) -> np.ndarray:
    """The products of clusters 0 and 1, 0 and 2, 1 and 2."""
    return np.array([[1, first, second], [first, 1, third], [second, third, 1]], dtype=np.float32)


def test_three_clusters_cannot_all_be_against_each_other() -> None:
    by, corners, told = broken_triangles(signs(-1, -1, -1), 0.1, 5)
    assert by.tolist() == [2]  # -1 - 1 - 1 should be at least -1
    assert corners.tolist() == [[2, 1, 0]]
    assert told.tolist() == [[1, 1, 1]]


def test_who_goes_along_with_two_has_them_along_with_each_other() -> None:
    by, _, told = broken_triangles(signs(1, 1, -1), 0.1, 5)
    assert by.tolist() == [2]
    assert sorted(told[0].tolist()) == [-1, -1, 1]
    product = np.array([-1, 1, 1])  # x: 2 and 1, y: 2 and 0, z: 1 and 0
    assert told[0] @ product == -3


def test_products_of_true_signs_break_nothing() -> None:
    for one in (1, -1):
        for other in (1, -1):
            assert broken_triangles(signs(one, other, one * other), 0.0, 5)[0].size == 0


def test_no_more_than_asked_for_are_told() -> None:
    against = (2 * np.eye(5) - 1).astype(np.float32)
    assert broken_triangles(against, 0.1, 99)[0].size == 10  # five clusters, three at a time
    assert broken_triangles(against, 0.1, 4)[0].size == 4
