"""What a problem says twice: cells that relations make equal, relations said twice, relations that follow from others.

Equal cells (or opposite ones) and equal relations are found by keyed 64-bit sums of terms; each hit is then checked in full. Rows must be
sorted and without zeros.
In tables of three and more dimensions half of the relations follow from the others. A solver that is given the independent ones alone
works several times faster, on the same problem. Elimination is over the integers modulo a large prime: what is kept is independent
for certain, and what is dropped follows from it but for a chance of about 2^-61. A wrong drop would be a relaxation: bounds would hold
still, and every table is checked against all relations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.protect.presolve import TUNING
from statveil.protect.problem import ProtectionProblem

PRIME = 2**61 - 1
_PRIME, _BITS, _HALF, _REST = np.uint64(PRIME), np.uint64(61), np.uint64(31), np.uint64(30)
_LOW_HALF, _LOW_REST, _ZERO, _ONE = np.uint64(2**31 - 1), np.uint64(2**30 - 1), np.uint64(0), np.uint64(1)


class SparseRows(NamedTuple):
    """A sparse matrix as compiled loops take it: row j (or column j) is `indices` and `data` from `indptr[j]` to `indptr[j + 1]`."""

    indptr: AnyArray
    indices: AnyArray
    data: IntArray


def sparse_rows(matrix: csr_matrix | csc_matrix) -> SparseRows:
    return SparseRows(matrix.indptr, matrix.indices, matrix.data)


# --- equal cells, equal relations

NO_TIE = -4
"""In the place of a relation: the cell is tied to nothing."""


class CellTies(NamedTuple):
    """z of a cell is `turn` times z of its root; `zero` lists roots with z = -z; `by` is the first relation that tied the cell's group."""

    root: IntArray
    turn: IntArray
    zero: IntArray
    by: IntArray


def equal_pairs(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """Rows (i, j, sign, relation) with z_i = sign * z_j."""
    return np.concatenate([_two_terms(matrix, residual), _differences(matrix, residual)])


def tie_cells(count: int, pairs: IntArray) -> CellTies:
    """One root for all cells that pairs (i, j, sign, relation) tie together."""
    root, turn, stuck = _forest(count, pairs)
    by = np.full(count, NO_TIE)
    by[root[pairs[::-1, 0]]] = pairs[::-1, 3]
    return CellTies(root, turn, np.unique(root[np.flatnonzero(stuck)]), by[root])


def split_ties(tied: CellTies, away: BoolArray) -> CellTies:
    """The same ties without those between cells that go `away` and the others of their group."""
    _, first, place, size = np.unique(2 * tied.root + away, return_index=True, return_inverse=True, return_counts=True)
    root = first[place]
    held = np.unique(root[np.isin(tied.root, tied.zero)])
    return CellTies(root, tied.turn * tied.turn[root], held, np.where(size[place] > 1, tied.by, NO_TIE))


def first_of_equal_rows(matrix: csr_matrix, residual: IntArray) -> BoolArray:
    """Which relations are the first of their kind (also among negatives)."""
    count = matrix.shape[0]
    first = np.ones(count, dtype=np.bool_)
    if count == 0:
        return first
    lead = np.sign(np.append(matrix.data, 1)[np.minimum(matrix.indptr[:-1], matrix.nnz)])
    sums = _row_sums(sparse_rows(matrix), _keys(matrix.shape[1], 11)) * lead.astype(np.uint64)
    order = np.argsort(sums, kind="stable")
    hits = np.flatnonzero(sums[order][1:] == sums[order][:-1])
    one, two = order[hits], order[hits + 1]
    turn = lead[one] * lead[two]
    same = (residual[one] == turn * residual[two]) & _equal(sparse_rows(matrix), one, two, turn)
    first[two[same]] = False
    return first


def _two_terms(matrix: csr_matrix, residual: IntArray) -> IntArray:
    rows = np.flatnonzero((np.diff(matrix.indptr) == 2) & (residual == 0))
    first = matrix.indptr[rows]
    i, j, a, b = matrix.indices[first], matrix.indices[first + 1], matrix.data[first], matrix.data[first + 1]
    same = np.abs(a) == np.abs(b)
    return np.asarray(np.column_stack([i, j, -np.sign(a * b), rows])[same], dtype=np.int64)


def _differences(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """CellTies by two relations with the same right-hand side that are alike, or opposite, but for one term each."""
    rest, rows = _sums_without(sparse_rows(matrix), _keys(matrix.shape[1], 7))
    mirrored = np.minimum(rest, np.uint64(0) - rest)  # a relation and its negative are alike
    order = np.argsort(mirrored, kind="stable")
    hits = np.flatnonzero(mirrored[order][1:] == mirrored[order][:-1])
    one, two = order[hits], order[hits + 1]
    turn = np.where(rest[one] == rest[two], 1, -1)
    return _verified(sparse_rows(matrix), residual, rows[one], rows[two], turn)


def _keys(count: int, seed: int) -> AnyArray:
    return np.random.Generator(np.random.PCG64(seed)).integers(2**63, size=count, dtype=np.int64).astype(np.uint64)


@njit(cache=True)
def _row_sums(matrix: SparseRows, keys: AnyArray) -> AnyArray:
    """Each relation's terms, every cell counting its key, modulo 2^64."""
    sums = np.zeros(matrix.indptr.size - 1, dtype=np.uint64)
    for row in range(sums.size):
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            sums[row] += keys[matrix.indices[k]] * np.uint64(matrix.data[k])
    return sums


@njit(cache=True)
def _sums_without(matrix: SparseRows, keys: AnyArray) -> tuple[AnyArray, IntArray]:
    """For each term its relation's keyed sum without it, and the relation."""
    indptr, indices, data = matrix
    sums = _row_sums(matrix, keys)
    rest, rows = np.empty(indices.size, dtype=np.uint64), np.empty(indices.size, dtype=np.int64)
    for row in range(sums.size):
        for k in range(indptr[row], indptr[row + 1]):
            rest[k] = sums[row] - keys[indices[k]] * np.uint64(data[k])
            rows[k] = row
    return rest, rows


@njit(cache=True)
def _equal(matrix: SparseRows, one: IntArray, two: IntArray, turn: IntArray) -> BoolArray:
    """Whether relations are alike, or opposite, term for term."""
    indptr, indices, data = matrix
    same = np.zeros(one.size, dtype=np.bool_)
    for h in range(one.size):
        a, b = indptr[one[h]], indptr[two[h]]
        size = indptr[one[h] + 1] - a
        same[h] = indptr[two[h] + 1] - b == size
        for k in range(size if same[h] else 0):
            same[h] &= indices[a + k] == indices[b + k] and data[a + k] == turn[h] * data[b + k]
    return same


@njit(cache=True)
def _verified(matrix: SparseRows, residual: IntArray, one: IntArray, two: IntArray, turn: IntArray) -> IntArray:
    """The ties that pairs of relations imply, where they really differ in two terms of one size, and in nothing else."""
    indptr, indices, data = matrix
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


# --- relations that follow from others


def independent_relations(problem: ProtectionProblem) -> IntArray:
    """Numbers of relations from which all others follow, short ones first choice. A contradiction counts as new: it must not be lost."""
    return independent_short_rows(problem.relations, problem.residual)


def independent_short_rows(matrix: csr_matrix, residual: IntArray) -> IntArray:
    """The same for any relations."""
    return independent_rows(matrix, residual, np.argsort(np.diff(matrix.indptr), kind="stable"), TUNING.most_steps)[0]


def independent_rows(matrix: csr_matrix, residual: IntArray, order: IntArray, most: int) -> tuple[IntArray, bool]:
    """Of the relations in `order` those that do not follow from the ones before, by number; and whether all were looked at."""
    rows = SparseRows(*(np.asarray(part, dtype=np.int64) for part in (matrix.indptr, matrix.indices, matrix.data)))
    width = matrix.shape[1] + 1  # the right-hand side is one more column, behind the cells
    row = _RowUnderWay(np.zeros(width, np.uint64), np.zeros(width, np.bool_), np.empty(width, np.int64))
    kept, all_seen = _independent(rows, residual, np.asarray(order, dtype=np.int64), row, most)
    return np.sort(np.asarray(order)[kept]).astype(np.int64), bool(all_seen)


class _RowUnderWay(NamedTuple):
    """The row that pivots are taken out of: a factor a column, and a heap of the columns it has touched, its lead on top."""

    factor: AnyArray
    touched: BoolArray
    heap: IntArray


@njit(cache=True)
def _independent(matrix, residual, order, row, most):  # type: ignore[no-untyped-def]
    """Which of the relations in order leave something that the pivots before do not say, and whether the work allowed was enough.

    A pivot is a row divided by its lead's factor; pivots lie one behind the other, the one that leads with a column from `start[column]`
    to `end[column]`.
    """
    width = row.factor.size
    start, end = np.full(width, -1), np.full(width, -1)
    room, used = 2 * matrix.indices.size + width, 0
    columns, factors = np.empty(room, np.int64), np.empty(room, np.uint64)
    kept, steps = np.zeros(order.size, np.bool_), 0
    for number in range(order.size):
        waiting = _lay_open(matrix, residual, order[number], row)
        if steps > most:
            kept[number] = waiting > 0
            _clear(row, waiting)
            continue
        while waiting > 0:
            lead = row.heap[0]
            if row.factor[lead] == _ZERO:
                waiting = _drop_lead(row, waiting)
            elif start[lead] >= 0:
                steps += end[lead] - start[lead]
                pivot = slice(start[lead], end[lead])
                waiting = _subtract(columns[pivot], factors[pivot], row.factor[lead], row, waiting)
            else:
                if used + waiting > columns.size:
                    columns, factors = _doubled(columns, waiting), _doubled(factors, waiting)
                start[lead], kept[number] = used, True
                used = end[lead] = _store_pivot(columns, factors, used, row, waiting)
                waiting = _clear(row, waiting)
    return kept, steps <= most


@njit(cache=True)
def _lay_open(matrix, residual, number, row):  # type: ignore[no-untyped-def]
    """Take a relation as the row under way; tells how many columns it has."""
    waiting = 0
    for k in range(matrix.indptr[number], matrix.indptr[number + 1]):
        factor = np.uint64(matrix.data[k] % PRIME)
        if factor != _ZERO:
            row.factor[matrix.indices[k]] = factor
            waiting = _touch(row, matrix.indices[k], waiting)
    right = np.uint64(residual[number] % PRIME)
    if right != _ZERO:
        row.factor[-1] = right
        waiting = _touch(row, row.factor.size - 1, waiting)
    return waiting


@njit(cache=True)
def _subtract(columns, factors, times, row, waiting):  # type: ignore[no-untyped-def]
    """Take a pivot out of the row so many times; tells how many columns the row has touched."""
    against = _PRIME - times
    for k in range(columns.size):
        column = columns[k]
        row.factor[column] = _reduced(row.factor[column] + _product(against, factors[k]))
        waiting = _touch(row, column, waiting)
    return waiting


@njit(cache=True)
def _store_pivot(columns, factors, used, row, waiting):  # type: ignore[no-untyped-def]
    """Write down the row, divided by its lead's factor, behind the pivots so far; tells where it ends."""
    inverse = _inverse(row.factor[row.heap[0]])
    for k in range(waiting):
        factor = row.factor[row.heap[k]]
        if factor != _ZERO:
            columns[used], factors[used] = row.heap[k], _product(factor, inverse)
            used += 1
    return used


@njit(cache=True)
def _clear(row, waiting):  # type: ignore[no-untyped-def]
    """Leave nothing of the row under way."""
    for k in range(waiting):
        row.factor[row.heap[k]], row.touched[row.heap[k]] = _ZERO, False
    return 0


@njit(cache=True)
def _doubled(values: AnyArray, more: int) -> AnyArray:
    """The values in an array of twice the length, and so much more."""
    longer = np.empty(2 * values.size + more, values.dtype)
    longer[: values.size] = values
    return longer


@njit(cache=True)
def _touch(row, column, waiting):  # type: ignore[no-untyped-def]
    """Put a column in the heap unless it is there; tells how many there are."""
    if row.touched[column]:
        return waiting
    row.touched[column] = True
    heap, place = row.heap, waiting
    while place > 0 and heap[(place - 1) // 2] > column:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = column
    return waiting + 1


@njit(cache=True)
def _drop_lead(row, waiting):  # type: ignore[no-untyped-def]
    """Take the least column out of the heap; tells how many are left."""
    heap = row.heap
    row.touched[heap[0]] = False
    last, column, place = waiting - 1, heap[waiting - 1], 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= column:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = column
    return last


@njit(cache=True)
def _product(a, b):  # type: ignore[no-untyped-def]
    """a * b modulo 2^61 - 1, from halves of 31 and 30 bits: 2^61 counts as one, and no sum reaches 2^64."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW_HALF, b >> _HALF, b & _LOW_HALF
    middle = a_high * b_low + a_low * b_high
    total = ((a_high * b_high) << _ONE) + (middle >> _REST) + ((middle & _LOW_REST) << _HALF) + a_low * b_low
    return _reduced(total)


@njit(cache=True)
def _reduced(value):  # type: ignore[no-untyped-def]
    """A number below 2^64 modulo the prime."""
    value = (value & _PRIME) + (value >> _BITS)
    return value - _PRIME if value >= _PRIME else value


@njit(cache=True)
def _inverse(value):  # type: ignore[no-untyped-def]
    """value^(prime - 2), which times value is one."""
    if value == _ONE:
        return value
    result, power, left = _ONE, value, PRIME - 2
    while left > 0:
        if left & 1:
            result = _product(result, power)
        power, left = _product(power, power), left >> 1
    return result
