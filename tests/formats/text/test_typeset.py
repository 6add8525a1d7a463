"""Compiled typesetting writes what the plain function writes, number for number."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.formats.text import typeset
from statveil.formats.text.amounts import NO_BOUND, decimal_text
from statveil.formats.text.typeset import Amounts, Choices, lines_of, relation_lines

amounts = st.one_of(st.integers(-NO_BOUND, NO_BOUND), st.integers(-1000, 1000), st.sampled_from([0, 10**18, -(10**18), 9, 10, 99, 100]))


def text(pieces: object) -> str:
    return b"".join(pieces).decode("ascii")  # type: ignore[call-overload]


@settings(deadline=None)
@given(units=st.lists(amounts, min_size=1, max_size=20), decimals=st.integers(0, 6))
def test_amounts_are_those_of_decimal_text(units: list[int], decimals: int) -> None:
    written = text(lines_of([Amounts(np.array(units, dtype=np.int64), decimals)]))
    assert written.splitlines() == [decimal_text(amount, decimals) for amount in units]


def test_words_stand_between_amounts() -> None:
    words = Choices(["ab", "", "xyz"], np.array([2, 0, 1]))
    assert (
        text(lines_of([Amounts(np.array([1, 2, 3]), 0), words, Amounts(np.array([5, 50, -500]), 1)])) == "1 xyz 0.5\n2 ab 5.0\n3  -50.0\n"
    )


def test_no_rows_are_no_lines() -> None:
    assert text(lines_of([Amounts(np.zeros(0, dtype=np.int64), 2)])) == ""


def test_a_relation_reads_as_in_the_format() -> None:
    matrix = csr_matrix(np.array([[1, -2, 0], [0, 0, 0], [0, 0, 12345678901234567]]))
    lines = text(relation_lines(matrix.indptr, matrix.indices, matrix.data, Amounts(np.array([0, -7, 1250]), 2))).splitlines()
    assert lines == ["0.00 2 : 0 (1) 1 (-2)", "-0.07 0 :", "12.50 1 : 2 (12345678901234567)"]


def test_pages_join_without_a_seam(monkeypatch: object) -> None:
    units = np.arange(10)
    whole = text(lines_of([Amounts(units, 0)]))
    matrix = csr_matrix(np.eye(10, dtype=np.int64))
    relations = text(relation_lines(matrix.indptr, matrix.indices, matrix.data, Amounts(units, 0)))
    rows, typeset._ROWS = typeset._ROWS, 3
    try:
        assert b"".join(bytes(piece) for piece in lines_of([Amounts(units, 0)])).decode() == whole
        assert (
            b"".join(bytes(piece) for piece in relation_lines(matrix.indptr, matrix.indices, matrix.data, Amounts(units, 0))).decode()
            == relations
        )
    finally:
        typeset._ROWS = rows
