"""Programs that grow while they are solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.solve.highs import CoveringProgram, PackingProgram

pytestmark = pytest.mark.slow


def test_rows_that_are_added_bind_from_then_on() -> None:
    """max 2 x + y with both up to 10; then x + y <= 6, then x <= 1 as well."""
    program = PackingProgram(np.array([2.0, 1.0]), upper=10.0)
    none = (csr_matrix((0, 2)), np.zeros(0))
    for (rows, most), best in (
        (none, [10.0, 10.0]),
        ((csr_matrix([[1.0, 1.0]]), np.array([6.0])), [6.0, 0.0]),
        ((csr_matrix([[1.0, 0.0]]), np.array([1.0])), [1.0, 5.0]),
    ):
        found = program.with_rows(rows, most, seconds=60)
        assert found is not None
        assert found.tolist() == best


def test_rows_of_a_covering_program_that_are_met_with_room_to_spare_are_left_out_and_the_answer_stays():
    program = CoveringProgram(np.array([1.0, 2.0]), price=100.0)
    program.add(csr_matrix([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]), np.array([0.2, 0.5, 0.4]))
    none, whole = np.zeros(2), np.ones(2)
    point, multipliers = program.solve(none, whole, seconds=10)
    assert point.tolist() == pytest.approx([0.2, 0.4])  # the second row has 0.1 to spare
    assert multipliers.tolist() == pytest.approx([1.0, 0.0, 2.0])
    assert program.drop(np.array([0, 1])).tolist() == [1]
    point, multipliers = program.solve(none, whole, seconds=10)
    assert point.tolist() == pytest.approx([0.2, 0.4])
    assert multipliers.tolist() == pytest.approx([1.0, 2.0])
