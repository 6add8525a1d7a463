from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from statveil.server.engine.identity import cell_ids, space_of, subtract, unit_prints
from tests.server.village import key_of


def whole(prints: np.ndarray) -> list[int]:
    return [int(low) + (int(high) << 64) for low, high in prints]


def test_a_print_belongs_to_the_unit_and_not_to_its_place() -> None:
    one, two = unit_prints(key_of(), "d", ["a", "b", "c"]), unit_prints(key_of(), "d", ["c", "a"])
    assert whole(one)[2] == whole(two)[0]
    assert whole(one)[0] == whole(two)[1]


def test_prints_differ_by_dataset_and_by_key() -> None:
    prints = [unit_prints(key_of(1), "d", ["a"]), unit_prints(key_of(1), "e", ["a"]), unit_prints(key_of(2), "d", ["a"])]
    assert len({tuple(each[0]) for each in prints}) == 3


@given(st.lists(st.integers(0, 2**128 - 1), min_size=2, max_size=2))
def test_subtraction_is_modulo_two_to_the_128(numbers: list[int]) -> None:
    low = [np.array([number & (2**64 - 1)], dtype=np.uint64) for number in numbers]
    high = [np.array([number >> 64], dtype=np.uint64) for number in numbers]
    found = subtract(low[0], high[0], low[1], high[1])
    assert int(found[0][0]) + (int(found[1][0]) << 64) == (numbers[0] - numbers[1]) % 2**128


def test_a_cell_is_named_by_its_set_its_size_and_what_is_tabulated() -> None:
    low, high, count = np.array([1, 1, 1], np.uint64), np.array([2, 2, 3], np.uint64), np.array([5, 6, 5])
    turnover, persons = space_of(key_of(), "d", "turnover"), space_of(key_of(), "d", "persons")
    ids = [*cell_ids(key_of(), turnover, low, high, count), *cell_ids(key_of(), persons, low, high, count)]
    assert len(set(ids)) == 6
    assert all(len(each) == 16 for each in ids)
    assert len({turnover, persons, space_of(key_of(), "d", "turnover", "weighted"), space_of(key_of(), "e", "turnover")}) == 4
