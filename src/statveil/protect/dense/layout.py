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

    @property
    def full_shape(self) -> tuple[int, ...]:
        return tuple(size + 1 for size in self.shape)

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
    if int(owners.max()) != len(shape) or sum(math.prod(s + 1 for j, s in enumerate(shape) if j != k) for k in range(len(shape))) != total.size:
        return None
    codes = _codes(owners, total, row, part, axes)
    places = np.where(codes < 0, np.array(shape), codes)
    if (places > np.array(shape)).any():
        return None
    where = np.ravel_multi_index(tuple(places.T), tuple(size + 1 for size in shape))
    cell = np.full(matrix.shape[1], -1, dtype=np.int64)
    cell[where] = np.arange(where.size)
    if (cell < 0).any():
        return None
    lines = _lines(shape, places, total, row, part)
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


def _codes(owners: IntArray, total: IntArray, row: AnyArray, part: AnyArray, axes: IntArray) -> IntArray:
    """Codes of each cell, one an axis; -1 for its total. Cells with fewer totals come first: theirs are known by then."""
    codes = np.full((owners.size, axes.size), -1, dtype=np.int64)
    for axis, relation in enumerate(axes.tolist()):
        under = part[row == relation]
        codes[under, axis] = np.arange(under.size)
    for level in range(2, axes.size + 1):
        own = owners[part] == level
        parts, above = part[own], total[row[own]]
        for axis in range(axes.size):
            np.maximum.at(codes[:, axis], parts, codes[above, axis])
    return codes


def _lines(shape: tuple[int, ...], places: IntArray, total: IntArray, row: AnyArray, part: AnyArray) -> tuple[IntArray, ...] | None:
    """The relation of every line; None unless each relation is one: a total and, apart from one axis, the same places in all parts."""
    differs = places[part] != places[total[row]]
    if (differs.sum(axis=1) != 1).any():
        return None
    along = np.argmax(differs, axis=1)
    axis_of = np.full(total.size, -1, dtype=np.int64)
    axis_of[row] = along
    sizes = np.array(shape)
    if (axis_of[row] != along).any() or (np.bincount(row, minlength=total.size) != sizes[axis_of]).any():
        return None
    if (places[total, axis_of] != sizes[axis_of]).any():
        return None
    lines = []
    for axis in range(sizes.size):
        rows = np.flatnonzero(axis_of == axis)
        others = [size + 1 for k, size in enumerate(shape) if k != axis]
        at = np.ravel_multi_index(tuple(np.delete(places[total[rows]], axis, axis=1).T), others)
        relation = np.full(math.prod(others), -1, dtype=np.int64)
        relation[at] = rows
        if rows.size != relation.size or (relation < 0).any():
            return None
        lines.append(relation.reshape(others))
    return tuple(lines)
