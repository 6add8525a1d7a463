"""Decimal numbers are read exactly, however they are written."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.formats import amounts as module
from statveil.formats.amounts import NO_BOUND, AmountColumn, DecimalNumbers, Rounding, WordColumn, decimal_text, lines_of, relation_lines
from tests.formats.amount_files import text

ROUND = {Rounding.DOWN: math.floor, Rounding.UP: math.ceil, Rounding.NEAREST: round}


@given(digits=st.integers(-(10**18) + 1, 10**18 - 1), power=st.integers(-30, 30), decimals=st.integers(0, 6))
@example(digits=500_000_000_000_000_001, power=-19, decimals=0)
@example(digits=-999_999_999_999_999_999, power=-19, decimals=0)
@example(digits=1, power=-4000, decimals=6)
def test_units_are_what_fractions_say(digits: int, power: int, decimals: int) -> None:
    amount = Fraction(digits) * Fraction(10) ** (power + decimals)
    for rounding, rounded in ROUND.items():
        units = DecimalNumbers(np.array([digits]), np.array([power])).in_units(decimals, rounding)
        assert bool(units.too_large[0]) == (abs(rounded(amount)) >= 2**53)
        assert units.too_large[0] or units.units[0] == rounded(amount)
        assert bool(units.exact[0]) == (amount.denominator == 1)


@given(amount=st.integers(-(2**53), 2**53), decimals=st.integers(0, 6))
def test_texts_are_exact(amount: int, decimals: int) -> None:
    assert Fraction(decimal_text(amount, decimals)) == Fraction(amount, 10**decimals)


amounts = st.one_of(st.integers(-NO_BOUND, NO_BOUND), st.integers(-1000, 1000), st.sampled_from([0, 10**18, -(10**18), 9, 10, 99, 100]))


@settings(deadline=None)
@given(units=st.lists(amounts, min_size=1, max_size=20), decimals=st.integers(0, 6))
def test_amounts_are_those_of_decimal_text(units: list[int], decimals: int) -> None:
    written = text(lines_of([AmountColumn(np.array(units, dtype=np.int64), decimals)]))
    assert written.splitlines() == [decimal_text(amount, decimals) for amount in units]


def test_words_stand_between_amounts() -> None:
    words = WordColumn(["ab", "", "xyz"], np.array([2, 0, 1]))
    assert (
        text(lines_of([AmountColumn(np.array([1, 2, 3]), 0), words, AmountColumn(np.array([5, 50, -500]), 1)]))
        == "1 xyz 0.5\n2 ab 5.0\n3  -50.0\n"
    )


def test_no_rows_are_no_lines() -> None:
    assert text(lines_of([AmountColumn(np.zeros(0, dtype=np.int64), 2)])) == ""


def test_a_relation_reads_as_in_the_format() -> None:
    matrix = csr_matrix(np.array([[1, -2, 0], [0, 0, 0], [0, 0, 12345678901234567]]))
    lines = text(relation_lines(matrix.indptr, matrix.indices, matrix.data, AmountColumn(np.array([0, -7, 1250]), 2))).splitlines()
    assert lines == ["0.00 2 : 0 (1) 1 (-2)", "-0.07 0 :", "12.50 1 : 2 (12345678901234567)"]


def test_pages_join_without_a_seam(monkeypatch: object) -> None:
    units = np.arange(10)
    whole = text(lines_of([AmountColumn(units, 0)]))
    matrix = csr_matrix(np.eye(10, dtype=np.int64))
    relations = text(relation_lines(matrix.indptr, matrix.indices, matrix.data, AmountColumn(units, 0)))
    tuning, module.TUNING = module.TUNING, module.TUNING._replace(rows=3)
    try:
        assert b"".join(bytes(piece) for piece in lines_of([AmountColumn(units, 0)])).decode() == whole
        assert (
            b"".join(bytes(piece) for piece in relation_lines(matrix.indptr, matrix.indices, matrix.data, AmountColumn(units, 0))).decode()
            == relations
        )
    finally:
        module.TUNING = tuning
