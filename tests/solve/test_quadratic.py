"""Least squares under equations and limits, on programs that are solved by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.solve.quadratic import least_squares, least_squares_above

SUM = csr_matrix([[1.0, 1.0]])


def test_a_sum_is_shared_in_inverse_proportion_to_weight() -> None:
    found = least_squares(weight=np.array([1.0, 3.0]), matrix=SUM, rhs=np.array([4.0]), lower=np.full(2, -9.0), upper=np.full(2, 9.0))
    assert found == pytest.approx([3.0, 1.0], abs=1e-6)


def test_limits_are_kept() -> None:
    found = least_squares(weight=np.ones(2), matrix=SUM, rhs=np.array([4.0]), lower=np.full(2, -9.0), upper=np.array([1.0, 9.0]))
    assert found == pytest.approx([1.0, 3.0], abs=1e-6)


def test_what_has_no_solution_has_none() -> None:
    assert least_squares(weight=np.ones(2), matrix=SUM, rhs=np.array([4.0]), lower=np.zeros(2), upper=np.ones(2)) is None


def test_nothing_to_choose() -> None:
    none = np.zeros(0)
    found = least_squares(weight=none, matrix=csr_matrix((0, 0)), rhs=none, lower=none, upper=none)
    assert found is not None
    assert found.size == 0
    assert least_squares_above(weight=none, matrix=csr_matrix((0, 0)), rhs=none, lower=none, upper=none) is None


def test_multipliers_price_the_rows() -> None:
    """min u^2 + v^2 with u + v >= 4: both are 2, and one more wanted costs 4 more."""
    found = least_squares_above(weight=np.ones(2), matrix=SUM, rhs=np.array([4.0]), lower=np.full(2, -9.0), upper=np.full(2, 9.0))
    assert found is not None
    point, price = found
    assert point == pytest.approx([2.0, 2.0], abs=1e-6)
    assert price == pytest.approx([4.0], abs=1e-5)
