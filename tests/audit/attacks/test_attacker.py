"""What an attacker sums up of what it saw, and what it asks."""

from __future__ import annotations

import numpy as np

from statveil.audit.attacks.attacker import Sightings, crossings, different_requests, expanded, less_one_code, plain, summed_up
from statveil.audit.attacks.public import RequestAxis, TableRequest
from tests.audit.attacks.stories import case, village
from tests.reference import servers


def test_what_was_published_of_each_set_is_summed_up() -> None:
    key, value = np.array([7, 3, 7, 7, 3], dtype=np.uint64), np.array([10, 5, 12, 10, 9])
    found = summed_up(Sightings(key=key, value=value, answer=np.zeros(5, np.int64), place=np.arange(5)))
    assert found.key.tolist() == [3, 7]
    assert found.times.tolist() == [2, 3]
    assert found.mean.tolist() == [7, 32 / 3]
    assert found.midrange.tolist() == [7, 11]
    assert found.mode.tolist() == [5, 10]  # of two values that are seen once each, the smaller
    assert (found.lowest.tolist(), found.highest.tolist()) == ([5, 10], [9, 12])
    assert key[found.first].tolist() == [3, 7]


def test_nothing_seen_is_nothing_summed_up() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert summed_up(Sightings(key=none.astype(np.uint64), value=none, answer=none, place=none)).key.size == 0


def test_ranges_one_after_the_other() -> None:
    owner, number = expanded(np.array([5, 0, 9]), np.array([2, 0, 1]))
    assert owner.tolist() == [0, 0, 2]
    assert number.tolist() == [5, 6, 9]


def test_equal_requests_are_one_and_drawing_ends() -> None:
    drawn = [TableRequest(axes=(RequestAxis(id=name),), measure="wages") for name in "aab"]
    left = iter(drawn)
    assert different_requests(lambda: next(left), 3, draws=3) == [drawn[0], drawn[2]]
    assert different_requests(lambda: drawn[0], 3, draws=5) == [drawn[0]]


def test_the_two_largest_dimensions_are_rows_and_columns() -> None:
    attacker = case(servers.Bare(village(records=50))).attacker
    asked = plain(attacker, "wages")
    assert asked is not None
    assert [axis.id for axis in asked.axes] == ["region", "trade"]  # 10 and 12 finest codes; size has 3, form 2
    assert all(each.axes[0].id == "region" for each in crossings(attacker, "wages"))


def test_nested_sets_leave_out_each_code_of_a_filter() -> None:
    attacker = case(servers.Bare(village(records=50))).attacker
    filters = [each.filters for each in less_one_code(attacker, "wages")]
    assert filters[0] == ()
    assert (("size", ("m", "l")),) in filters
    assert (("size", ("s",)),) in filters
    assert len(filters) == 1 + 6 + 2  # size: three left out and three alone; form: its two codes are each other's rest


def test_random_numbers_depend_on_seed_and_name_alone() -> None:
    attacker = case(servers.Bare(village(records=50))).attacker
    assert attacker.rng("a").integers(10**9) == attacker.rng("a").integers(10**9) != attacker.rng("b").integers(10**9)
