"""Numbers are written exactly, always with the same decimals."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import InputError
from statveil.publish.formats.numbers import decimal_array, decimal_text, grouped, percent

units = st.lists(st.integers(-(2**62), 2**62), min_size=1)


@given(units, st.integers(-12, 17))
def test_text_and_decimals_equal_the_exact_number(values: list[int], decimals: int) -> None:
    exact = [Decimal(value).scaleb(-decimals) for value in values]
    text = decimal_text(np.array(values), decimals).to_pylist()
    assert [Decimal(word) for word in text] == exact
    assert {len(word.partition(".")[2]) for word in text} == {max(decimals, 0)}
    assert decimal_array(np.array(values), decimals).to_pylist() == exact


@pytest.mark.parametrize(("decimals", "words"), [(0, ["0", "-7"]), (2, ["0.00", "-0.07"]), (-3, ["0", "-7000"])])
def test_small_numbers(decimals: int, words: list[str]) -> None:
    assert decimal_text(np.array([0, -7]), decimals).to_pylist() == words


def test_missing_is_null_not_zero() -> None:
    missing = np.array([False, True])
    assert decimal_text(np.array([5, 0]), 1, missing).to_pylist() == ["0.5", None]
    assert decimal_array(np.array([5, 0]), 1, missing).to_pylist() == [Decimal("0.5"), None]


def test_more_decimals_than_a_number_has_are_refused() -> None:
    with pytest.raises(InputError, match="18 decimals"):
        decimal_text(np.array([1]), 18)


def test_people_read_thousands_and_percents() -> None:
    assert [grouped(1234567, 2), grouped(-1234, 0), grouped(-1234, -3), grouped(5, 2)] == ["12,345.67", "-1,234", "-1,234,000", "0.05"]
    assert [percent(share) for share in (0.0, 0.00123, 0.0123, 0.123, 12.3)] == ["0%", "0.123%", "1.23%", "12.3%", "1,230%"]
    assert percent(float("inf")) == "not known"
