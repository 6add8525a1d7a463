"""Keys as small integers: in the order of their codes, found again among others, values ordered where they are numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.records import coding
from statveil.records.coding import key_order, key_places, mixed, value_order

CODES = np.array([[1, 0, -1, 0], [0, 2, 1, 2]])
"""Four keys of two fields; -1 is missing."""


def test_a_key_is_one_number_and_missing_comes_first() -> None:
    assert mixed(CODES, [2, 3]).tolist() == [2 * 4 + 1, 1 * 4 + 3, 0 * 4 + 2, 1 * 4 + 3]


def test_keys_are_in_the_order_of_their_codes_however_many_there_may_be() -> None:
    assert key_order(CODES, [2, 3]).tolist() == [2, 1, 3, 0]
    assert key_order(CODES, [2**40, 2**40]).tolist() == [2, 1, 3, 0], "too many for one number"


def test_a_key_is_found_among_the_sorted_ones() -> None:
    known = np.array([[0, 0, 1], [1, 2, 0]])
    assert key_places(known, np.array([[1, 0], [0, 2]])).tolist() == [2, 1]


def test_numbers_are_ordered_however_they_are_written_and_missing_comes_first() -> None:
    places, ordered = value_order(["10", "9.5", "", "9.50"])
    assert ordered
    assert places.tolist() == [2, 1, 0, 1]


def test_words_among_numbers_are_no_order() -> None:
    places, ordered = value_order(["b", "10", "a"])
    assert not ordered
    assert places.tolist() == [2, 0, 1]


def test_a_file_with_too_many_keys_told_apart_is_counted_once_and_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is counted where risk models look at no column and at no weight."""
    rng = np.random.default_rng(5)
    size = 200
    records = pa.table(
        {
            "area": pa.array(rng.choice(["a", "b", None], size), pa.string()),
            "age": rng.integers(0, 4, size),
            "ill": rng.choice(["x", "y", "z"], size),
            "weight": rng.choice(["1", "2.5"], size),
            "price": rng.integers(1, 3, size),
        }
    )
    options = {"fields": {"area": None, "age": None}, "threshold": 3, "rule": "recount", "weight": "weight", "record_cost": "price"}
    judging = sv.KeyVariables(**options, models=[sv.recode.DistinctDiversity("ill", 2), sv.recode.IndividualRisk(0.5)])
    data = sv.read_microdata(records)
    apart = coding.code_file(data, judging)
    assert apart.told == (("price", "weight"), ("ill",))
    queries = []
    counted = coding.count_keys
    monkeypatch.setattr(coding, "count_keys", lambda *given: queries.append(1) or counted(*given))
    monkeypatch.setattr(coding, "TUNING", coding.TUNING._replace(most_told=3))
    together, plain = coding.code_file(data, judging), coding.code_file(data, sv.KeyVariables(**options))
    assert len(queries) == 2  # one each
    assert together.told == plain.told == (("price",), ())
    assert apart.count.size > together.count.size
    for name in ("codes", "count", "weight", "mass", "numbers"):
        assert np.array_equal(getattr(together, name), getattr(plain, name)), name
