"""Numbers in text files are read exactly, by compiled loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import FormatError
from statveil.formats.amounts import NO_BOUND, DecimalNumbers
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


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_the_nearest_ones(number: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    doubles, sure = read(tmp_path_factory.getbasetemp(), repr(number)).in_doubles()
    assert not sure[0] or doubles[0] == number
