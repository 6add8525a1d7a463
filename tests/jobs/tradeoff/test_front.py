"""Which points no other beats, which to recommend, and which to show of many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from statveil.jobs.tradeoff.front import knee, non_dominated, spread_out

POINTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=25)


def test_a_point_beaten_in_both_is_left_out() -> None:
    assert non_dominated([1, 2, 3, 2], [9, 5, 1, 6]).tolist() == [0, 1, 2]


def test_of_equal_points_the_first_is_kept() -> None:
    assert non_dominated([2, 1, 1, 2], [5, 9, 9, 5]).tolist() == [1, 0]


def test_a_third_objective_keeps_more() -> None:
    assert non_dominated([1, 2], [1, 2]).tolist() == [0]
    assert non_dominated([1, 2], [1, 2], [5, 3]).tolist() == [0, 1]


def test_differences_of_rounding_do_not_count() -> None:
    assert non_dominated([1.0, 1.0 + 1e-12], [5.0, 5.0 - 1e-13]).tolist() == [0]


@given(POINTS)
def test_no_point_kept_is_beaten_and_every_other_is(points: list[tuple[int, int]]) -> None:
    first, second = zip(*points, strict=True)
    kept = non_dominated(first, second).tolist()
    for place, (x, y) in enumerate(points):
        beaten = any((a, b) != (x, y) and a <= x and b <= y for a, b in points)
        twin = any(points[other] == (x, y) for other in kept)
        assert (place in kept) <= (not beaten)
        assert beaten or twin
    assert [points[place] for place in kept] == sorted(points[place] for place in kept)


def test_the_knee_is_where_the_front_bends() -> None:
    assert knee([100, 101, 103, 110, 130], [1.0, 0.6, 0.2, 0.15, 0.1]) == 2


def test_the_knee_does_not_depend_on_units() -> None:
    change, distortion = np.array([100, 101, 103, 110, 130]), np.array([1.0, 0.6, 0.2, 0.15, 0.1])
    assert knee(change * 1000 + 7, distortion * 0.01) == knee(change, distortion)


def test_small_fronts_have_a_knee() -> None:
    assert knee([5], [3]) == 0
    assert knee([5, 6], [3, 1]) == 0  # a straight line: the least change
    assert knee([5, 6, 7], [3, 2, 1]) == 0


def test_a_long_front_is_thinned_but_keeps_its_ends_and_its_knee() -> None:
    change = np.arange(100) + 100.0
    distortion = 1 / (1 + np.arange(100.0))
    kept = spread_out(change, distortion, 7)
    assert kept.size == 7
    assert {0, 99, knee(change, distortion)} <= set(kept.tolist())
    assert kept.tolist() == sorted(kept.tolist())


def test_a_short_front_is_shown_in_full() -> None:
    assert spread_out([1, 2, 3], [3, 2, 1], 3).tolist() == [0, 1, 2]
    assert spread_out([1, 2, 3], [3, 2, 1], 1).tolist() == [0]


def test_points_next_to_each_other_are_shown_once() -> None:
    assert spread_out([0, 1, 499, 500, 999, 1000], [1000, 999, 401, 400, 1, 0], 6).tolist() == [0, 2, 5]
