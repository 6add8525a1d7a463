"""Corners in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.audit.patterns import vertices
from statveil.audit.patterns.vertices import exact_corner, times


def test_what_is_between_bounds_follows_from_what_is_at_one() -> None:
    """3 x = 2 y with y at its bound 5: x is 10/3, whatever digits the solver gave."""
    corner = exact_corner(csr_matrix(np.array([[3, -2]])), np.array([3.33333329, 4.9999999]), np.array([9, 9]), np.array([9, 5]))
    assert corner == [Fraction(10, 3), Fraction(5)]


def test_what_nothing_fixes_is_rounded() -> None:
    corner = exact_corner(csr_matrix(np.array([[1, -1]])), np.array([2.4, 2.4]), np.array([9, 9]), np.array([9, 9]))
    assert corner == [Fraction(2), Fraction(2)]


def test_a_residue_that_is_no_short_fraction() -> None:
    """Of all residues about two in five are none: numerator and denominator have 63 bits together with a sign."""
    residues = np.random.default_rng(1).integers(1, 2**62, size=(40, 2)).tolist()
    found = [vertices._fraction(high * 2**63 + low) for high, low in residues]
    assert None in found
    for (high, low), fraction in zip(residues, found, strict=True):
        if fraction is not None:
            assert (fraction.numerator - fraction.denominator * (high * 2**63 + low)) % vertices.PRIME == 0


def test_a_corner_of_long_fractions_is_none(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(vertices, "_fraction", lambda _residue: None)
    assert exact_corner(csr_matrix(np.array([[3, -2]])), np.array([3.3, 5.0]), np.array([9, 9]), np.array([9, 5])) is None


@given(
    rows=st.lists(st.lists(st.integers(-4, 4), min_size=4, max_size=4), min_size=2, max_size=2),
    ends=st.lists(st.integers(-7, 7), min_size=2, max_size=2),
)
def test_corners_of_small_systems(rows: list[list[int]], ends: list[int]) -> None:
    """Two cells at bounds, two that follow by Cramer's rule."""
    (a, b), (c, d) = rows[0][:2], rows[1][:2]
    right = [-(row[2] * ends[0] + row[3] * ends[1]) for row in rows]
    determinant = a * d - b * c
    if not determinant:
        return
    exact = [Fraction(right[0] * d - b * right[1], determinant), Fraction(a * right[1] - right[0] * c, determinant)]
    point = np.array([*map(float, exact), *map(float, ends)]) + 1e-9
    far = np.array([1000, 1000])
    bounds = [np.concatenate([far, sign * np.array(ends)]) for sign in (-1, 1)]
    matrix = csr_matrix(np.array(rows))
    corner = exact_corner(matrix, point, *bounds)
    assert corner == [*exact, *ends]
    assert times(matrix, [int(each * determinant) for each in corner]) == [0, 0]
