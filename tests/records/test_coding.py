"""Keys as small integers: in the order of their codes, found again among others, values ordered where they are numbers."""

from __future__ import annotations

import numpy as np

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
