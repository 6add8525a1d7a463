"""Decimal numbers are read exactly, however they are written."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.core.errors import FormatError
from statveil.formats import amounts as module
from statveil.formats.amounts import NO_BOUND, AmountColumn, DecimalNumbers, Rounding, WordColumn, decimal_text, lines_of, relation_lines
from statveil.formats.text import TextLines


def read(folder: Path, *words: str) -> DecimalNumbers:
    path = folder / "words.txt"
    path.write_text("\n".join(words) + "\n", encoding="ascii")
    text = TextLines(path)
    return text.block(len(words), "a word").table(1, words="one word a line").numbers(0, "word")


@pytest.mark.parametrize(
    ("word", "digits", "power"),
    [
        ("0", 0, 0),
        ("-0.000", 0, 0),
        ("1792.150", 179215, -2),
        ("-1000", -1, 3),
        ("+1.5e3", 15, 2),
        ("1.076619754E+11", 1076619754, 2),
        (".5", 5, -1),
        ("5.", 5, 0),
        ("0.0500", 5, -2),
        ("100000000000000000000", 1, 20),
        ("999999999999999999", 999999999999999999, 0),
        ("1e99999", 1, 4000),
        ("1" + "0" * 50_000, 1, 4000),
    ],
)
def test_a_number_is_its_digits_and_a_power_of_ten(tmp_path: Path, word: str, digits: int, power: int) -> None:
    numbers = read(tmp_path, word)
    assert (int(numbers.digits[0]), int(numbers.powers[0])) == (digits, power)


@pytest.mark.parametrize("word", ["nan", "NaN", "-", ".", "1e", "1e+", "1..2", "1,5", "0x10", "1.2.3", "five", "x", "infi", "1_000", "é"])
def test_what_is_no_number_is_refused(tmp_path: Path, word: str) -> None:
    (tmp_path / "words.txt").write_text(f"1\n\n{word}\n", encoding="latin-1")
    table = TextLines(tmp_path / "words.txt").block(2, "a word").table(1, words="one word a line")
    with pytest.raises(FormatError, match=r"words\.txt, line 3: the word is not a number"):
        table.numbers(0, "word")


def test_more_than_18_digits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2: the word has more than 18 digits"):
        read(tmp_path, "1.00000000000000000", "1.0000000000000000001")


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "-INF", "1e20", "-1e20", "9007199254740992"])
def test_too_large_amounts_are_no_bound(tmp_path: Path, word: str) -> None:
    for units, _, too_large in [read(tmp_path, word).in_units(0), read(tmp_path, word).in_units(6)]:
        assert too_large.all()
        assert units[0] == (-NO_BOUND if word.startswith("-") else NO_BOUND)


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


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_the_nearest_ones(number: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    doubles, sure = read(tmp_path_factory.getbasetemp(), repr(number)).in_doubles()
    assert not sure[0] or doubles[0] == number


@given(amount=st.integers(-(2**53), 2**53), decimals=st.integers(0, 6))
def test_texts_are_exact(amount: int, decimals: int) -> None:
    assert Fraction(decimal_text(amount, decimals)) == Fraction(amount, 10**decimals)


amounts = st.one_of(st.integers(-NO_BOUND, NO_BOUND), st.integers(-1000, 1000), st.sampled_from([0, 10**18, -(10**18), 9, 10, 99, 100]))


def text(pieces: object) -> str:
    return b"".join(pieces).decode("ascii")  # type: ignore[call-overload]


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
