"""Records behind an engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

from statveil.core.errors import UnknownColumn
from statveil.data.microdata import profile
from statveil.data.readers import read_microdata


def test_the_codes_of_a_column_are_distinct_texts_in_the_order_of_text() -> None:
    data = read_microdata(pa.table({"area": [10, 9, None, 10], "trade": ["b", "a", "b", None]}))
    assert data.codes("area") == ["10", "9"]
    assert data.codes("trade") == ["a", "b"]


def test_the_codes_of_a_column_that_is_not_there_are_refused() -> None:
    with pytest.raises(UnknownColumn, match="no column 'region'"):
        read_microdata(pa.table({"area": ["p"]})).codes("region")


def test_amounts_among_which_a_few_words_stand_are_amounts_all_the_same() -> None:
    """A column of amounts that are nearly all different is no identifier because some say "k.A."."""
    amounts = [f"{3 * number},{number % 10}5" for number in range(96)]
    look = {each.name: each for each in profile(read_microdata(pa.table({"sum": [*amounts, *["k.A."] * 4]})))}["sum"]
    assert (look.look, look.distinct, look.span) == ("number", 97, None)
    assert look.spread is not None
    assert (look.spread.least, look.spread.median, look.spread.largest) == (0.05, 141.75, 285.55)
    names = [f"{number} {word}" for number in range(25) for word in "abcd"]
    assert profile(read_microdata(pa.table({"name": names})))[0].look == "identifier"


def test_the_tail_of_a_column_and_its_most_frequent_codes_are_told() -> None:
    table = pa.table({"sum": [str(each) for each in [*range(1, 100), 4950]], "code": ["b"] * 60 + ["a"] * 20 + ["c"] * 20})
    data = read_microdata(table)
    spread = profile(data)[0].spread
    assert spread is not None
    assert (spread.high, spread.largest, spread.largest_share) == (99, 4950, 0.5)
    assert data.frequent_codes(["code"]) == {"code": ["b", "a", "c"]}


def test_a_column_of_zeros_has_no_tail() -> None:
    spread = profile(read_microdata(pa.table({"sum": ["0", "0.0", "0.00"] * 5})))[0].spread
    assert spread is not None
    assert spread.largest_share == 0
