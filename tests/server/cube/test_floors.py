"""What is drawn for a content is drawn by the key: always the same, another with another key, evenly from 0 to 1."""

from __future__ import annotations

import numpy as np

from statveil.core.secret import SecretKey
from statveil.server.cube.floors import uniform
from tests.server.cube.stories import KEY

CONTENT = (np.arange(2000, dtype=np.uint64), np.arange(2000, dtype=np.uint64) ** 2)


def test_the_same_content_has_the_same_number_in_any_order() -> None:
    drawn = uniform(KEY, b"firms", "floor", CONTENT)
    assert np.array_equal(uniform(KEY, b"firms", "floor", (CONTENT[0][::-1], CONTENT[1][::-1])), drawn[::-1])


def test_another_key_space_or_purpose_draws_others() -> None:
    drawn = uniform(KEY, b"firms", "floor", CONTENT)
    other = SecretKey(b"another key of these tests, 32 b")
    for found in (
        uniform(other, b"firms", "floor", CONTENT),
        uniform(KEY, b"farms", "floor", CONTENT),
        uniform(KEY, b"firms", "sense", CONTENT),
    ):
        assert not (found == drawn).any()


def test_numbers_are_spread_evenly() -> None:
    drawn = uniform(KEY, b"firms", "floor", CONTENT)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts = np.histogram(drawn, bins=10, range=(0, 1))[0]
    assert counts.min() > 150, "of 200 expected; the key is fixed"
