"""Two clusters of signs become one: what a node of the lifted relaxation keeps of its parent (docs/science.md, section 5)."""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.bounds.copy_model import Worth
from statveil.protect.bounds.copy_steps import CopyNode


def joined(node: CopyNode, worth: Worth, first: int, other: int, way: int) -> CopyNode:
    """The node in which `other` goes along with `first` (1) or against it (-1), from a parent's multipliers.

    Those of both copies added up are worth at least as much as they were: sizes of sums are at most sums of sizes. Triangles of both
    clusters say nothing any more.
    """
    rest = np.flatnonzero(np.arange(node.sign.shape[0]) != other)
    place = np.zeros(node.sign.shape[0], dtype=np.int64)
    place[rest] = np.arange(rest.size)
    place[other] = place[first]
    one, turn = int(place[first]), np.float32(way)
    relations, inside = worth.relations[:, rest], node.inside[:, rest]
    relations[:, one] += turn * worth.relations[:, other]
    inside[:, one] = (node.inside[:, first] + turn * node.inside[:, other]) / np.float32(2.0)
    corners, corner_signs, triangles = _triangles(node, worth.triangles, (first, other), way)
    return CopyNode(
        cluster=np.where(node.cluster >= 0, place[node.cluster], -1),
        turn=np.where(node.cluster == other, turn * node.turn, node.turn).astype(np.float32),
        inside=np.ascontiguousarray(inside),
        size=node.size.copy(),
        sign=_products(node.sign, rest, first, other, turn),
        relations=np.ascontiguousarray(relations),
        cuts=worth.cuts.copy(),
        relations_sum=np.zeros_like(relations, order="C"),
        cuts_sum=np.zeros_like(worth.cuts),
        corners=place[corners],
        corner_signs=corner_signs,
        triangles=triangles,
        triangles_sum=np.zeros_like(triangles),
    )


def _products(sign: AnyArray, rest: IntArray, first: int, other: int, turn: np.float32) -> AnyArray:
    both = sign.copy()
    both[first] = (sign[first] + turn * sign[other]) / np.float32(2.0)
    both[:, first] = both[first]
    both[first, first] = np.float32(1.0)
    return np.ascontiguousarray(both[np.ix_(rest, rest)])


def _triangles(node: CopyNode, amounts: AnyArray, pair: tuple[int, int], way: int) -> tuple[IntArray, AnyArray, AnyArray]:
    """Those that had not both clusters, with the signs that they have now."""
    has = [(node.corners == cluster).any(axis=1) for cluster in pair]
    stay = np.flatnonzero(~(has[0] & has[1]))
    corners, signs = node.corners[stay], node.corner_signs[stay].copy()
    for product, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
        turned = (corners[:, one] == pair[1]) | (corners[:, other] == pair[1])
        signs[turned, product] *= np.float32(way)
    return corners, signs, amounts[stay].astype(np.float32)
