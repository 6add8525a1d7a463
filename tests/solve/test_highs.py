"""Programs that grow while they are solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.solve.highs import PackingProgram

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
