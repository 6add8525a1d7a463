from __future__ import annotations

import numpy as np

from statveil.server.dataset.keyed import cell_ids, factors, permanent_ids, space_of, unit_prints
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


def test_a_cell_is_named_by_its_set_its_size_and_what_is_tabulated() -> None:
    low, high, count = np.array([1, 1, 1], np.uint64), np.array([2, 2, 3], np.uint64), np.array([5, 6, 5])
    turnover, persons = space_of(key_of(), "turnover"), space_of(key_of(), "persons")
    ids = [*cell_ids(key_of(), turnover, low, high, count), *cell_ids(key_of(), persons, low, high, count)]
    assert len(set(ids)) == 6
    assert all(len(each) == 16 for each in ids)
    assert len({turnover, persons, space_of(key_of(), "turnover", "weighted"), space_of(key_of(2), "turnover")}) == 4


HOLDINGS = [f"H{number}" for number in range(2_000)]


def test_a_factor_is_permanent_whatever_else_is_in_the_file() -> None:
    """T21: neither the order of records nor the other holdings of a period decide it."""
    ids, some_ids = permanent_ids(key_of(), HOLDINGS), permanent_ids(key_of(), HOLDINGS[7:3:-1])
    assert ids[7:3:-1].tolist() == some_ids.tolist()
    all_of_them, some = factors(key_of(), "turnover", ids), factors(key_of(), "turnover", some_ids)
    assert all_of_them.tie[7:3:-1].tolist() == some.tie.tolist()
    assert all_of_them.floor[7:3:-1].tolist() == some.floor.tolist()


def test_factors_of_two_variables_and_of_two_keys_have_nothing_in_common() -> None:
    """T23: the ratio of two variables of one holding is not kept."""
    ids = permanent_ids(key_of(1), HOLDINGS)
    turnover = factors(key_of(1), "turnover", ids)
    for other in (factors(key_of(1), "persons", ids), factors(key_of(2), "turnover", permanent_ids(key_of(2), HOLDINGS))):
        assert abs(float(np.corrcoef(turnover.floor, other.floor)[0, 1])) < 0.1


def test_floors_fill_their_range() -> None:
    drawn = factors(key_of(), "turnover", permanent_ids(key_of(), HOLDINGS))
    assert drawn.floor.min() < 0.01
    assert drawn.floor.max() > 0.99
    assert drawn.floor.max() < 1
