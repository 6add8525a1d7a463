"""Cells that relations make equal or opposite, and relations said twice.

Relations are compared by keyed 64-bit sums of their terms; each hit is then checked in full. Rows must be sorted and without zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, IntArray

NONE = -4
"""In the place of a relation: the cell is tied to nothing."""


class Ties(NamedTuple):
    """z of a cell is `turn` times z of its root; `zero` lists roots with z = -z; `by` is the first relation that tied the cell's group."""

    root: IntArray
    turn: IntArray
    zero: IntArray
    by: IntArray


def find(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """Rows (i, j, sign, relation) with z_i = sign * z_j."""
    return np.concatenate([_two_terms(matrix, residual), _differences(matrix, residual)])


def join(count: int, pairs: IntArray) -> Ties:
    """One root for all cells that pairs (i, j, sign, relation) tie together."""
    root, turn, stuck = _forest(count, pairs)
    by = np.full(count, NONE)
    by[root[pairs[::-1, 0]]] = pairs[::-1, 3]
    return Ties(root, turn, np.unique(root[np.flatnonzero(stuck)]), by[root])


def part(tied: Ties, away: BoolArray) -> Ties:
    """The same ties without those between cells that go `away` and the others of their group."""
    _, first, place, size = np.unique(2 * tied.root + away, return_index=True, return_inverse=True, return_counts=True)
    root = first[place]
    held = np.unique(root[np.isin(tied.root, tied.zero)])
    return Ties(root, tied.turn * tied.turn[root], held, np.where(size[place] > 1, tied.by, NONE))


def first_of_equal_rows(matrix: csr_matrix, residual: IntArray) -> BoolArray:
    """Which relations are the first of their kind (also among negatives)."""
    count = matrix.shape[0]
    first = np.ones(count, dtype=np.bool_)
    if count == 0:
        return first
    lead = np.sign(np.append(matrix.data, 1)[np.minimum(matrix.indptr[:-1], matrix.nnz)])
    sums = _row_sums(matrix.indptr, matrix.indices, matrix.data, _keys(matrix.shape[1], 11)) * lead.astype(np.uint64)
    order = np.argsort(sums, kind="stable")
    hits = np.flatnonzero(sums[order][1:] == sums[order][:-1])
    one, two = order[hits], order[hits + 1]
    turn = lead[one] * lead[two]
    same = (residual[one] == turn * residual[two]) & _equal(matrix.indptr, matrix.indices, matrix.data, one, two, turn)
    first[two[same]] = False
    return first


def _two_terms(matrix: csr_matrix, residual: IntArray) -> IntArray:
    rows = np.flatnonzero((np.diff(matrix.indptr) == 2) & (residual == 0))
    first = matrix.indptr[rows]
    i, j, a, b = matrix.indices[first], matrix.indices[first + 1], matrix.data[first], matrix.data[first + 1]
    same = np.abs(a) == np.abs(b)
    return np.asarray(np.column_stack([i, j, -np.sign(a * b), rows])[same], dtype=np.int64)


def _differences(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """Ties by two relations with the same right-hand side that are alike, or opposite, but for one term each."""
    rest, rows = _sums_without(matrix.indptr, matrix.indices, matrix.data, _keys(matrix.shape[1], 7))
    mirrored = np.minimum(rest, np.uint64(0) - rest)  # a relation and its negative are alike
    order = np.argsort(mirrored, kind="stable")
    hits = np.flatnonzero(mirrored[order][1:] == mirrored[order][:-1])
    one, two = order[hits], order[hits + 1]
    turn = np.where(rest[one] == rest[two], 1, -1)
    return _checked(matrix.indptr, matrix.indices, matrix.data, residual, rows[one], rows[two], turn)


def _keys(count: int, seed: int) -> AnyArray:
    return np.random.Generator(np.random.PCG64(seed)).integers(2**63, size=count, dtype=np.int64).astype(np.uint64)


@njit(cache=True)
def _row_sums(indptr: AnyArray, indices: AnyArray, data: IntArray, keys: AnyArray) -> AnyArray:
    sums = np.zeros(indptr.size - 1, dtype=np.uint64)
    for row in range(sums.size):
        for k in range(indptr[row], indptr[row + 1]):
            sums[row] += keys[indices[k]] * np.uint64(data[k])
    return sums


@njit(cache=True)
def _sums_without(indptr: AnyArray, indices: AnyArray, data: IntArray, keys: AnyArray) -> tuple[AnyArray, IntArray]:
    """For each term its relation's keyed sum without it, and the relation."""
    sums = _row_sums(indptr, indices, data, keys)
    rest, rows = np.empty(indices.size, dtype=np.uint64), np.empty(indices.size, dtype=np.int64)
    for row in range(sums.size):
        for k in range(indptr[row], indptr[row + 1]):
            rest[k] = sums[row] - keys[indices[k]] * np.uint64(data[k])
            rows[k] = row
    return rest, rows


@njit(cache=True)
def _equal(indptr: AnyArray, indices: AnyArray, data: IntArray, one: IntArray, two: IntArray, turn: IntArray) -> BoolArray:
    """Whether relations are alike, or opposite, term for term."""
    same = np.zeros(one.size, dtype=np.bool_)
    for h in range(one.size):
        a, b = indptr[one[h]], indptr[two[h]]
        size = indptr[one[h] + 1] - a
        same[h] = indptr[two[h] + 1] - b == size
        for k in range(size if same[h] else 0):
            same[h] &= indices[a + k] == indices[b + k] and data[a + k] == turn[h] * data[b + k]
    return same


@njit(cache=True)
def _checked(
    indptr: AnyArray, indices: AnyArray, data: IntArray, residual: IntArray, one: IntArray, two: IntArray, turn: IntArray
) -> IntArray:
    """The ties that pairs of relations imply, where they really differ in two terms of one size, and in nothing else."""
    pairs, found = np.empty((one.size, 4), dtype=np.int64), 0
    cells, factors = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    for h in range(one.size):
        if one[h] == two[h] or residual[one[h]] != turn[h] * residual[two[h]]:
            continue
        a, b, differ = indptr[one[h]], indptr[two[h]], 0
        end_a, end_b = indptr[one[h] + 1], indptr[two[h] + 1]
        while (a < end_a or b < end_b) and differ <= 2:
            in_a = a < end_a and (b >= end_b or indices[a] <= indices[b])
            in_b = b < end_b and (a >= end_a or indices[b] <= indices[a])
            cell = indices[a] if in_a else indices[b]
            factor = (data[a] if in_a else 0) - (turn[h] * data[b] if in_b else 0)
            a, b = a + in_a, b + in_b
            if factor != 0:
                if differ < 2:
                    cells[differ], factors[differ] = cell, factor
                differ += 1
        if differ == 2 and abs(factors[0]) == abs(factors[1]):
            pairs[found] = cells[0], cells[1], -1 if (factors[0] > 0) == (factors[1] > 0) else 1, one[h]
            found += 1
    return pairs[:found]


@njit(cache=True)
def _forest(count: int, pairs: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Union-find with signs: root and sign of each cell, and cells whose group a contradiction (z = -z) holds at zero."""
    parent, turn = np.arange(count), np.ones(count, dtype=np.int64)
    stuck = np.zeros(count, dtype=np.bool_)
    for h in range(len(pairs)):
        i, j, sign = pairs[h, 0], pairs[h, 1], pairs[h, 2]
        _flatten(parent, turn, i)
        _flatten(parent, turn, j)
        root_i, root_j = parent[i], parent[j]
        if root_i == root_j:
            stuck[i] |= turn[i] != sign * turn[j]
        else:
            parent[root_i], turn[root_i] = root_j, turn[i] * sign * turn[j]
    for i in range(count):
        _flatten(parent, turn, i)
    return parent, turn, stuck


@njit(cache=True)
def _flatten(parent: IntArray, turn: IntArray, i: int) -> None:
    """Hang a cell, and all on its way up, right below its root."""
    root, sign = i, 1
    while parent[root] != root:
        sign *= turn[root]
        root = parent[root]
    while parent[i] != i:
        above, rest = parent[i], sign * turn[i]
        parent[i], turn[i] = root, sign
        i, sign = above, rest
