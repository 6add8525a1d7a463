"""Which systems are full tables of several dimensions, seen from their relations alone, and the table as a tensor with its margins.

Of every relation the one cell of the other sign is the total, the others are parts. The cell that is part of none is the grand total; each
relation under it is an axis. A cell's codes follow from its totals: it has those that any of them has. In the end every relation
must be a whole line along one axis, and every line must have a relation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TableLayout(NamedTuple):
    """shape: codes on each axis, without the total. cell: which cell stands where; the last place of each axis is its total.
    relation: which relation each line is, axis by axis, the lines in the order of the other axes' places.
    """

    shape: tuple[int, ...]
    cell: IntArray
    relation: tuple[IntArray, ...]

    def laid_out(self, per_cell: AnyArray) -> AnyArray:
        """What is known of each cell, as a tensor."""
        return per_cell[self.cell]

    def by_cell(self, tensor: AnyArray) -> AnyArray:
        """The other way round."""
        flat = np.empty(self.cell.size, dtype=tensor.dtype)
        flat[self.cell.ravel()] = tensor.ravel()
        return flat


def layout_of(relations: csr_matrix) -> TableLayout | None:
    """The layout of a full table of two dimensions or more; None for any other system."""
    matrix = relations.tocsr()
    split = _totals_and_parts(matrix)
    if split is None:
        return None
    total, row, part = split
    owners = np.bincount(part, minlength=matrix.shape[1])  # in how many relations each cell is a part: its codes other than totals
    grand = np.flatnonzero(owners == 0)
    if grand.size != 1:
        return None
    axes = np.flatnonzero(total == grand[0])
    shape = tuple((np.diff(matrix.indptr)[axes] - 1).tolist())
    if len(shape) < 2 or min(shape) < 2 or math.prod(size + 1 for size in shape) != matrix.shape[1]:
        return None
    if (
        int(owners.max()) != len(shape)
        or sum(math.prod(s + 1 for j, s in enumerate(shape) if j != k) for k in range(len(shape))) != total.size
    ):
        return None
    codes = _codes(owners, total, row, part, axes)
    places = np.where(codes < 0, np.array(shape, dtype=np.int32)[:, np.newaxis], codes)
    where = np.ravel_multi_index(tuple(places), tuple(size + 1 for size in shape))
    cell = np.full(matrix.shape[1], -1, dtype=np.int64)
    cell[where] = np.arange(where.size)
    if (cell < 0).any():
        return None
    lines = _lines(shape, places, where, total, (row, part))
    return None if lines is None else TableLayout(shape, cell.reshape([size + 1 for size in shape]), lines)


def _totals_and_parts(matrix: csr_matrix) -> tuple[IntArray, AnyArray, AnyArray] | None:
    """The total of each relation, and relation and cell of every part; None if there is a relation of another kind."""
    lengths = np.diff(matrix.indptr)
    if lengths.size == 0 or lengths.min() < 3 or (np.abs(matrix.data) != 1).any():
        return None
    sums = np.add.reduceat(matrix.data, matrix.indptr[:-1])
    if (np.abs(sums) != lengths - 2).any():
        return None
    row = np.repeat(np.arange(lengths.size), lengths)
    is_total = matrix.data == np.repeat(-np.sign(sums), lengths)
    return matrix.indices[is_total].astype(np.int64), row[~is_total], matrix.indices[~is_total]


def _codes(owners: IntArray, total: IntArray, row: AnyArray, part: AnyArray, axes: IntArray) -> AnyArray:
    """For each axis the code of every cell; -1 for its total. Cells of fewer codes come first: theirs are known by then."""
    codes = np.full((axes.size, owners.size), -1, dtype=np.int32)
    for own, relation in zip(codes, axes.tolist(), strict=True):
        under = part[row == relation]
        own[under] = np.arange(under.size)
    level = owners[part]
    for count in range(2, axes.size + 1):
        here = level == count
        parts, above = part[here], total[row[here]]
        for own in codes:
            given = own[above]
            own[parts[given >= 0]] = given[given >= 0]
    return codes


def _lines(
    shape: tuple[int, ...], places: AnyArray, where: IntArray, total: IntArray, parts: tuple[AnyArray, AnyArray]
) -> tuple[IntArray, ...] | None:
    """The relation of every line; None unless each relation is one: a total and, apart from one axis, the same places in all parts."""
    row, part = parts
    first = part[np.searchsorted(row, np.arange(total.size))]
    differs = places[:, first] != places[:, total]
    if (differs.sum(axis=0) != 1).any():
        return None
    axis_of, sizes = np.argmax(differs, axis=0), np.array(shape)
    strides = np.append(np.cumprod((sizes + 1)[::-1])[::-1][1:], 1)
    if (np.bincount(row, minlength=total.size) != sizes[axis_of]).any() or (places[axis_of, total] != sizes[axis_of]).any():
        return None
    code = places[axis_of[row], part]
    if (where[part] != (where[total] - (sizes * strides)[axis_of])[row] + strides[axis_of][row] * code).any():
        return None
    lines = []
    for axis in range(sizes.size):
        rows = np.flatnonzero(axis_of == axis)
        others = [size + 1 for k, size in enumerate(shape) if k != axis]
        at = np.ravel_multi_index(tuple(np.delete(places[:, total[rows]], axis, axis=0)), others)
        relation = np.full(math.prod(others), -1, dtype=np.int64)
        relation[at] = rows
        if rows.size != relation.size or (relation < 0).any():
            return None
        lines.append(relation.reshape(others))
    return tuple(lines)
