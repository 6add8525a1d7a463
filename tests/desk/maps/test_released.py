"""How a change is written."""

from __future__ import annotations

import pytest

from statveil.desk.maps.released import changed_by


@pytest.mark.parametrize(
    ("value", "scale", "released", "words"),
    [
        (200, 0, "210", "+5.00%"),
        (20000, 2, "190", "-5.00%"),
        (-50, 0, "-60", "-20.00%"),
        (7, 0, "7", "+0.00%"),
        (0, 0, "3", "+3"),
        (0, 0, "0", "+0.00%"),
    ],
)
def test_a_change_is_told_in_percent_of_the_original_and_as_it_is_where_that_is_zero(
    value: int, scale: int, released: str, words: str
) -> None:
    assert changed_by(value, scale, released) == words
