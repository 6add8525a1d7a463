"""Which decimals a system has: those of its values, or as chosen; amounts beyond them are rounded to the safe side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import statveil as sv
from tests.formats.jj_files import system_from
from tests.formats.systems import NINE, VILLAGE


def test_levels_are_rounded_up_and_bounds_inwards(tmp_path: Path) -> None:
    text = VILLAGE.replace("0 1000 5 7.25", "0.12345678 999.99999999 5.00000001 7.2500000")
    system = system_from(tmp_path, text, decimals="all")
    assert system.decimals == 6
    assert system.lower_level[1] == 5_000_001
    assert system.upper_level[1] == 7_250_000
    assert system.lower[1] == 123_457
    assert system.upper[1] == 999_999_999


def test_levels_have_fewer_decimals_beside_large_values(tmp_path: Path) -> None:
    text = "0\n2\n0 200000000000 1 s 0 1e20 0 0 0\n1 200000000000 1 u 0 1e20 1.23456 1 0\n1\n0 2 : 0 (-1) 1 (1)\n"
    system = system_from(tmp_path, text, decimals="all")
    assert system.decimals == 4
    assert system.lower_level.tolist() == [0, 12346]


def test_a_rounded_value_gets_a_wider_level(tmp_path: Path) -> None:
    system = system_from(tmp_path, "0\n1\n0 1.00000049 1 u 0 9 1 0 0\n0\n", decimals=6)
    assert system.value.tolist() == [1_000_000]
    assert system.lower_level.tolist() == [1_000_001]
    assert system.upper_level.tolist() == [0]


def test_decimals_are_those_of_the_values_and_never_of_the_levels(tmp_path: Path) -> None:
    system = system_from(tmp_path, NINE)
    assert system.decimals == 0
    assert system.value.tolist() == [50, 30, 80, 20, 40, 60, 70, 70, 140]
    assert (system.lower_level[0], system.upper_level[0]) == (6, 6)  # 5.5, rounded up
    assert (system.lower[4], system.upper[4]) == (1, 59)  # 0.5 and 59.5, inwards


def test_the_user_may_choose_more_decimals(tmp_path: Path) -> None:
    for decimals in (1, "all"):
        system = system_from(tmp_path, NINE, decimals=decimals)
        assert (system.decimals, system.value[0], system.lower_level[0]) == (1, 500, 55)
        assert (system.lower[4], system.upper[4]) == (5, 595)
    assert system_from(tmp_path, NINE, decimals=3).lower_level[0] == 5500
    assert system_from(tmp_path, NINE, decimals=0).lower_level[0] == 6


def test_values_are_never_rounded_to_fewer_decimals(tmp_path: Path) -> None:
    with pytest.raises(sv.InputError, match=r"village\.jj: the values have 1 decimals, more than the 0 chosen"):
        system_from(tmp_path, VILLAGE, decimals=0)


@pytest.mark.parametrize("wrong", [-1, 7, 1.0, True, "some"])
def test_what_is_no_choice_of_decimals_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(sv.InputError, match="decimals must be a number from 0 to 6"):
        system_from(tmp_path, NINE, decimals=wrong)


def test_decimals_that_make_an_amount_too_large_are_refused(tmp_path: Path) -> None:
    text = NINE.replace("50 1 u", "50000000000 1 u").replace("80 1 s", "50000000030 1 s")
    with pytest.raises(sv.errors.FormatError, match=r"line 3: an amount is too large to be computed exactly"):
        system_from(tmp_path, text, decimals=6, non_additive=True)


def test_a_right_hand_side_has_decimals_of_its_own(tmp_path: Path) -> None:
    """It is a sum of values; what does not add up is mended in its decimals."""
    system = system_from(tmp_path, NINE.replace("0 3 : 2 (-1)", "0.5 3 : 2 (-1)"), non_additive=True)
    assert (system.decimals, system.rhs[0], system.value[0]) == (1, 5, 500)


def test_bounds_between_two_whole_numbers_need_a_choice(tmp_path: Path) -> None:
    text = NINE.replace("40 1 s 0.5 59.5 0", "40 1 s 40.2 40.8 0").replace("5.5 5.5", "5.25 5.5")
    with pytest.raises(sv.errors.FormatError, match=r"no number with 0 decimals lies between the bounds of cell 4") as caught:
        system_from(tmp_path, text)
    assert "--decimals" in str(caught.value)
    assert system_from(tmp_path, text, decimals=1).lower[4] == 402
    with pytest.raises(sv.errors.FormatError, match=r"line 7: no number with 0 decimals lies between the bounds"):
        system_from(tmp_path, text.replace("5.25 5.5", "5 5"))
