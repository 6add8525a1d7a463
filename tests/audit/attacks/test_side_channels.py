"""Times of answers: how far two samples are apart, which are compared, and whether they are multiples of the quantum (T20)."""

from __future__ import annotations

import pytest

from statveil.audit.attacks import side_channels
from statveil.audit.attacks.side_channels import cohen


def test_the_means_are_apart_in_standard_deviations() -> None:
    assert cohen([1, 2, 3], [2, 3, 4]) == -1  # both spread by one
    assert cohen([5, 5], [5, 5]) == 0


def test_tables_asked_one_after_the_other_are_compared() -> None:
    timed = [(True, 1.0), (True, 2.0), (False, 3.0), (False, 4.0), (False, 5.0)]
    assert side_channels._paired(timed) == [(2.0, 3.0), (1.0, 4.0)]  # the last without a partner is left out


def test_the_slowest_tenth_is_the_machine() -> None:
    assert side_channels._settled([3, 1, 2, 9, 4, 5, 6, 7, 8, 100]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert side_channels._settled([2, 1]) == [1, 2]


@pytest.mark.parametrize(("seconds", "all_are"), [([0.25, 0.51, 1.02], True), ([0.25, 0.3], False), ([0.01], False)])
def test_times_just_above_a_multiple_tell_nothing(seconds: list[float], all_are: bool) -> None:
    assert side_channels._quantised(seconds) is all_are


def test_words_that_tell_of_protection() -> None:
    assert side_channels.WORDS.search(b'{"suppressed": 3}')
    assert not side_channels.WORDS.search(b'{"value": 3, "senseless": true}')
