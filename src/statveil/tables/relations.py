"""All additive relations of a table as one sparse matrix over its distinct cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from statveil.core.arrays import IntArray
from statveil.tables.positions import Grid
from statveil.tables.table import Table, View

_PRINT_SEED = 20_240_229


def relations(table: Table) -> sparse.csr_matrix:
    """One row per total and tree: -1 for the total, +1 for each of its parts; `relations(table) @ value` is zero.

    table: cells in one view or several. Rows come by view, dimension, tree and position, then those of equations and of sets of cells.
    A total that is its only part gives no row, and no row comes twice.

    >>> import statveil as sv
    >>> table = sv.table_from_cells({"shop": sv.Hierarchy.flat(["A", "B"])}, {("A",): 12, ("B",): 30})
    >>> relations(table).toarray().tolist()
    [[-1, 1, 1]]
    """
    blocks = [_block(table.size, *entries) for view in table.views for entries in _entries(view)]
    blocks += [_block(table.size, *entries) for entries in _linking(table)]
    matrix = sparse.vstack(blocks, format="csr", dtype=np.int64)
    matrix = matrix[np.diff(matrix.indptr) > 0]
    return sparse.csr_matrix(matrix[_first_of_equal_rows(matrix)])


def _entries(view: View) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Per dimension and tree: (row of each part, cell of each part, cell of each row's total)."""
    grid = Grid(dimensions=view.dimensions)
    keys = grid.keys(view.coordinates)
    for axis, dimension in enumerate(view.dimensions):
        codes = view.coordinates[:, axis]
        for tree in range(len(dimension.trees)):
            above = dimension.parents(tree)[codes]
            parts = np.flatnonzero(above >= 0)
            total_keys, row = np.unique(keys[parts] + grid.strides[axis] * (above - codes)[parts], return_inverse=True)
            yield row, view.cell[parts], view.cell[np.searchsorted(keys, total_keys)]


def _linking(table: Table) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Per equation between responses and per set of cells: the same."""
    for equation in table.equations:
        rows, parts = equation.parts.shape
        yield np.repeat(np.arange(rows), parts), equation.parts.ravel(), equation.total
    for union in table.unions:
        yield np.zeros(union.members.size, np.int64), union.members, np.array([union.cell], dtype=np.int64)


def _block(cells: int, row: IntArray, part: IntArray, total: IntArray) -> sparse.csr_matrix:
    rows = np.concatenate([row, np.arange(total.size)])
    columns = np.concatenate([part, total])
    signs = np.concatenate([np.ones(part.size, np.int64), np.full(total.size, -1, np.int64)])
    block = sparse.csr_matrix((signs, (rows, columns)), shape=(total.size, cells))
    block.sum_duplicates()
    block.eliminate_zeros()
    return block


def _first_of_equal_rows(matrix: sparse.csr_matrix) -> IntArray:
    """Rows are equal if two independent 64-bit prints of their entries are."""
    if matrix.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    draws = np.random.default_rng(_PRINT_SEED).integers(0, 2**64, size=(2, matrix.shape[1]), dtype=np.uint64)
    signs = matrix.data.astype(np.uint64)
    prints = [np.add.reduceat(signs * draw[matrix.indices], matrix.indptr[:-1]) for draw in draws]
    order = np.lexsort(prints)
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = np.logical_or.reduce([np.diff(print_[order]) != 0 for print_ in prints])
    firsts: IntArray = np.sort(order[new])
    return firsts
