"""Two clusters of signs become one (docs/science.md, section 5)."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect.bounds.copy_model import Worth
from statveil.protect.bounds.copy_steps import CopyNode
from statveil.protect.bounds.joins import joined


def single(*numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def three() -> tuple[CopyNode, Worth]:
    """A cell in each of three clusters, the third against its own; one relation, one cut; two triangles."""
    relations, cuts, triangles = single([1, 2, 4]), single(7), single(3, 5)
    node = CopyNode(
        cluster=np.array([0, 1, 2, -1]),
        turn=single(1, 1, -1, 0),
        inside=single([1, 0, 0.5], [0, 1, 0], [0, 0, -1], [2, 4, 6]),
        size=single(1, 1, 1, 6),
        sign=single([1, 0.5, 0], [0.5, 1, -1], [0, -1, 1]),
        relations=relations,
        cuts=cuts,
        relations_sum=np.ones_like(relations),
        cuts_sum=np.ones_like(cuts),
        corners=np.array([[2, 1, 0], [2, 1, 0]]),
        corner_signs=single([1, 1, 1], [-1, -1, 1]),
        triangles=triangles,
        triangles_sum=np.ones_like(triangles),
    )
    return node, Worth(1.0, 1.0, 1.0, relations, cuts, triangles, np.zeros((3, 3)))


@pytest.mark.parametrize("way", [1, -1])
def test_the_second_goes_along_with_the_first_or_against_it(way: int) -> None:
    found = joined(*three(), 0, 2, way)
    assert found.cluster.tolist() == [0, 1, 0, -1]
    assert found.turn.tolist() == [1, 1, -way, 0]
    assert found.relations.tolist() == [[1 + way * 4, 2]]
    assert found.inside[3].tolist() == [(2 + way * 6) / 2, 4]
    assert found.sign.tolist() == [[1, (0.5 - way) / 2], [(0.5 - way) / 2, 1]]


def test_triangles_of_both_clusters_say_nothing_any_more() -> None:
    found = joined(*three(), 0, 2, 1)
    assert found.corners.shape == (0, 3)
    assert found.triangles.size == 0


def test_triangles_of_one_of_them_are_those_of_the_new_cluster() -> None:
    node, worth = three()
    four = node._replace(
        cluster=np.array([0, 1, 2, 3]),
        sign=np.eye(4, dtype=np.float32),
        inside=np.eye(4, dtype=np.float32),
        corners=np.array([[3, 2, 1]] * 2),
    )
    found = joined(four, worth._replace(relations=single([1, 2, 4, 8])), 0, 3, -1)
    assert found.corners.tolist() == [[0, 2, 1], [0, 2, 1]]
    assert found.corner_signs.tolist() == [[-1, -1, 1], [1, 1, 1]]  # the products in which the turned cluster stands
    assert found.triangles.tolist() == [3, 5]


def test_what_was_summed_up_begins_anew() -> None:
    node, worth = three()
    found = joined(node, worth, 0, 2, 1)
    assert not found.relations_sum.any()
    assert not found.cuts_sum.any()
    found.cuts[0] = 0
    assert worth.cuts[0] == 7  # the parent's multipliers stay
