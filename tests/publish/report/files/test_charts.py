"""The numbers behind the charts of a safe file."""

from __future__ import annotations

import numpy as np

from statveil.publish.report.files import charts


def test_unsafe_combinations_before_and_after_stand_side_by_side() -> None:
    values = charts.unsafe_by_size({1: 0, 2: 5}, {2: 1})["data"]["values"]
    assert [(each["size"], each["stage"], each["records"]) for each in values] == [
        ("1", "before", 0),
        ("2", "before", 5),
        ("1", "after", 0),
        ("2", "after", 1),
    ]


def test_of_many_values_the_largest_are_shown_and_the_rest_together() -> None:
    names = [f"v{number}" for number in range(charts.MOST_VALUES + 2)]
    before = np.arange(1.0, len(names) + 1)
    rows = charts._largest(names, before, 2 * before)
    assert len(rows) == charts.MOST_VALUES + 1
    assert rows[0] == ("v2", 3.0, 6.0)  # in their own order, without the two smallest
    assert rows[-1] == (charts.OTHER, 1.0 + 2.0, 2.0 + 4.0)


def test_fields_that_say_the_same_tell_most_about_each_other() -> None:
    same, apart = np.array([[5.0, 0.0], [0.0, 5.0]]), np.full((2, 2), 2.5)
    assert charts._mutual(same) == np.log(2)
    assert charts._mutual(apart) == 0


def test_a_rectangle_is_as_large_as_its_share() -> None:
    names, codes = [["f", "m"], ["x", "y"]], [np.array([0, 0, 1]), np.array([0, 1, 1])]
    found = charts._rectangles(names, codes, np.array([1, 1, 2]))
    assert [(each["first"], each["second"], each["records"]) for each in found] == [("f", "x", 1), ("f", "y", 1), ("m", "y", 2)]
    areas = [(each["x1"] - each["x0"]) * (each["y1"] - each["y0"]) for each in found]
    assert areas == [0.25, 0.25, 0.5]
