"""Limits, and what is refused at the door."""

from __future__ import annotations

import math

import pytest

from statveil.core.errors import InputError
from statveil.core.limits import Limits, check_kind, check_seed, is_finite, known


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"seconds": -1}, {"seconds": math.inf}, {"gap": -0.1}, {"gap": math.nan}])
def test_impossible_limits_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Limits(**wrong)


def test_an_unknown_word_is_answered_with_the_known_ones() -> None:
    known("norm", "l1", ("l1", "l2"))
    with pytest.raises(InputError, match=r"Known: l1, l2\."):
        known("norm", "l3", ("l1", "l2"))


def test_a_thing_of_another_kind_is_refused_with_what_to_write() -> None:
    with pytest.raises(InputError, match="limits must be Limits, not int") as refused:
        check_kind("limits", 60, Limits)
    assert "limits=Limits(...)" in refused.value.hint


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_a_seed_is_a_whole_number_of_zero_or_more(seed: object) -> None:
    check_seed(0)
    with pytest.raises(InputError, match="seed"):
        check_seed(seed)


def test_truth_values_and_infinities_are_no_finite_numbers() -> None:
    assert is_finite(0)
    assert is_finite(-2.5)
    assert not any(is_finite(each) for each in (True, math.inf, math.nan, "1", None))
