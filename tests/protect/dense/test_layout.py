"""Full tables are seen from their relations alone, in whatever order; nothing else is taken for one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.protect.dense.layout import layout_of
from tests.protect.dense.full_tables import full_problem, in_another_order, relations


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 4), (2, 2, 3, 2)])
@pytest.mark.parametrize("seed", [None, 1])
def test_every_line_of_the_tensor_is_its_relation(shape: tuple[int, ...], seed: int | None) -> None:
    problem = full_problem(shape)
    if seed is not None:
        problem, _ = in_another_order(problem, seed=seed)
    layout = layout_of(problem.relations)
    assert layout is not None
    assert sorted(layout.shape) == sorted(shape)
    values = layout.laid_out(problem.value)
    assert (layout.by_cell(values) == problem.value).all()
    for axis, rows in enumerate(layout.relation):
        assert (values.sum(axis=axis) == 2 * values.take(-1, axis=axis)).all()
        for place in itertools.product(*map(range, rows.shape)):
            line = layout.cell[(*place[:axis], slice(None), *place[axis:])]
            assert set(line.tolist()) == set(problem.relations[rows[place]].indices.tolist())


def test_what_is_no_full_table_has_no_layout() -> None:
    whole = relations((3, 2, 4))
    twice = csr_matrix(np.vstack([whole[1].toarray(), whole[1:].toarray()]))
    swapped = whole.toarray()
    swapped[0, [0, 7]] = swapped[0, [7, 0]]  # a part of another line
    scaled = 2 * whole
    one_way = csr_matrix(np.array([[1, 1, 1, -1]]))
    two_signs = whole.toarray()
    two_signs[0] = np.abs(two_signs[0])
    for matrix in (whole[1:], whole[:, :-1], twice, csr_matrix(swapped), scaled, one_way, csr_matrix(two_signs), csr_matrix((0, 4))):
        assert layout_of(csr_matrix(matrix)) is None


def test_linked_and_nested_totals_are_no_full_table() -> None:
    """A hierarchy: a + b = A, A + c = T, crossed with nothing; and the same crossed with two columns."""
    tree = np.array([[1, 1, 0, -1, 0], [0, 0, 1, 1, -1]])
    crossed = np.vstack([np.kron(tree, np.eye(3, dtype=np.int64)), np.kron(np.eye(5, dtype=np.int64), [[1, 1, -1]])])
    for matrix in (tree, crossed):
        assert layout_of(csr_matrix(matrix)) is None
