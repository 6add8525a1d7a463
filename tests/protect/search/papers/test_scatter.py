"""Method `scatter`: its parts, one fact each."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.protect.search.papers import scatter
from statveil.protect.search.papers.scatter import ReferenceSet, ScatterPoint
from tests.protect.search.stories import five_in_a_row, search_of


def bits(text: str) -> np.ndarray:
    return np.array([letter == "1" for letter in text])


def written(point: np.ndarray) -> str:
    return "".join("1" if up else "0" for up in point)


def reference_set(*points: tuple[str, float], size: int = 3) -> ReferenceSet:
    """Points that differ in one place only are too close."""
    made = ReferenceSet(size, closest=float(np.sqrt(2)))
    for text, cost in points:
        assert made.consider(ScatterPoint(bits(text), cost))
    return made


def members(of: ReferenceSet) -> list[tuple[str, float]]:
    return [(written(point.up), point.cost) for point in of.members]


def test_the_generator_begins_with_the_seed_its_opposite_and_stripes() -> None:
    assert [written(point) for point in islice(scatter.diverse_points(bits("0000")), 6)] == ["0000", "1111", "1010", "0101", "1001", "0110"]


def test_a_close_point_replaces_its_neighbour_only_if_it_is_cheaper() -> None:
    chosen = reference_set(("0000", 10), ("1111", 20))
    assert not chosen.consider(ScatterPoint(bits("0001"), 10))
    assert chosen.consider(ScatterPoint(bits("0001"), 9))
    assert members(chosen) == [("0001", 9), ("1111", 20)]


def test_a_cheap_point_between_two_members_must_beat_both() -> None:
    chosen = reference_set(("0000", 10), ("0011", 20))
    assert not chosen.consider(ScatterPoint(bits("0001"), 15))
    assert members(chosen) == [("0000", 10), ("0011", 20)]


def test_a_full_set_gives_up_its_dearest() -> None:
    chosen = reference_set(("0000", 10), ("1111", 20), size=2)
    assert not chosen.consider(ScatterPoint(bits("0011"), 20))
    assert chosen.consider(ScatterPoint(bits("0011"), 15))
    assert members(chosen) == [("0000", 10), ("0011", 15)]


def test_the_set_is_filled_with_the_most_distant_not_the_cheapest() -> None:
    chosen = reference_set(("0000", 10), size=2)
    chosen.add_most_distant([ScatterPoint(bits("0011"), 11), ScatterPoint(bits("1111"), 99)])
    assert members(chosen) == [("0000", 10), ("1111", 99)]


def test_the_best_two_have_five_children_the_worst_two_one() -> None:
    assert scatter.children_of(0, 1, 10) == 5
    assert scatter.children_of(8, 9, 10) == 1
    assert scatter.children_of(0, 1, 2) == 5


def test_children_keep_what_their_parents_agree_on() -> None:
    rng = np.random.default_rng(0)
    children = [scatter.combine(ScatterPoint(bits("1100"), 5.0), ScatterPoint(bits("1010"), 7.0), rng) for _ in range(30)]
    assert all(child[0] and not child[3] for child in children)
    assert {written(child) for child in children} == {"1000", "1100", "1010", "1110"}


def test_a_parent_without_a_table_passes_nothing_on() -> None:
    rng = np.random.default_rng(0)
    assert written(scatter.combine(ScatterPoint(bits("1100"), 5.0), ScatterPoint(bits("1010"), np.inf), rng)) == "1100"


def test_improving_turns_groups_while_that_is_cheaper() -> None:
    """From all up (50) single turns lead to 30 or below."""
    search = search_of(five_in_a_row())
    evolution = scatter.ScatterSearch(search, np.arange(5), until=0)
    better = evolution.improved(ScatterPoint(np.ones(5, dtype=np.bool_), evolution.cost(np.ones(5, dtype=np.bool_))))
    assert evolution.cost(np.ones(5, dtype=np.bool_)) == pytest.approx(50)
    assert better.cost <= 30


def test_scatter_finds_the_best_senses_of_five_cells() -> None:
    search = search_of(five_in_a_row())
    scatter.run(search)
    assert search.objective == 26


def test_a_reference_set_of_one_is_refused() -> None:
    with pytest.raises(InputError, match="reference set"):
        scatter.run(search_of(five_in_a_row()), reference=1)
