"""Levels that withstand respondents who subtract what they gave: by hand, and by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.risk.coalitions import opponents, still_told, withstand_coalitions
from statveil.risk.rules import Dominance, Manual, ManualCell, MinimumFrequency, PPercent, PriorPosterior
from statveil.risk.rules.base import LIMIT
from statveil.risk.sensitivity import UNBOUNDED
from tests.reference.coalitions import is_told
from tests.reference.rules import Respondent
from tests.risk.cells import firms, judged, levels_of, table_of

TENTH = Fraction(1, 10)


def withstood(amounts: Sequence[int], level: int | tuple[int, int], near: Fraction = TENTH, coalition: int = 1) -> tuple[int, int, int]:
    """The level down, the level up, and the largest fall allowed."""
    table = table_of([firms(*amounts)])
    found = withstand_coalitions(table, judged(table, {0: level}), near, coalition)
    return *levels_of(found, 0), sum(amounts) - int(found.minimum[0])


def test_a_fall_passes_what_would_make_a_difference_come_out_right() -> None:
    # 60, 30 and 10: 30 and 60 leave 10 for the third, so a fall of 10, give or take a tenth of 60, tells the second of the first;
    # by the others such falls are 24 to 36 and 57 to 63.
    assert withstood([60, 30, 10], 5) == (16, 5, 24)
    assert withstood([60, 30, 10], 16) == (16, 16, 24)
    assert withstood([60, 30, 10], 30) == (36, 30, 57)
    assert withstood([60, 30, 10], 60)[:2] == (63, 60)
    assert withstood([60, 30, 10], 60)[2] == 100 + UNBOUNDED  # beyond, nothing tells


def test_of_two_each_is_known_to_the_other_unless_the_cell_moves_by_a_tenth_of_the_larger() -> None:
    assert withstood([90, 10], 1)[:2] == (9, 9)
    assert withstood([91, 10], 1)[:2] == (10, 10)  # rounded up
    assert withstood([90, 10], (20, 12))[:2] == (20, 12)


def test_two_who_pool_what_they_know_are_withstood_only_where_they_are_feared() -> None:
    assert withstood([60, 30, 10], 3)[:2] == (3, 3)
    assert withstood([60, 30, 10], 3, coalition=2)[:2] == (16, 6)  # 30 and 10 together miss 60 by nothing


def test_a_single_respondent_and_equal_zeros_have_nobody_to_fear() -> None:
    assert withstood([60], 3) == (3, 3, 60 + UNBOUNDED)
    assert withstood([0, 0], 3)[:2] == (3, 3)


def shadowed(value: int, shadows: Sequence[int], level: tuple[int, int], coalition: int) -> tuple[int, int, int]:
    """The same of a cell whose respondents are known by a shadow variable."""
    table = table_of([[Respondent(value if i == 0 else 0, shadow=each) for i, each in enumerate(shadows)]])
    found = withstand_coalitions(table, judged(table, {0: level}), TENTH, coalition)
    return *levels_of(found, 0), value - int(found.minimum[0])


def test_of_a_shadow_variable_a_respondent_has_the_same_share_of_the_value() -> None:
    down, up, _ = shadowed(1000, [9, 1], (1, 1), 1)  # 900 and 100: a tenth of 900, and what rounding may bring
    assert down == up
    assert 90 <= down <= 92


@pytest.mark.slow
@given(
    value=st.integers(1, 200),
    shadows=st.lists(st.integers(0, 30), min_size=2, max_size=8).filter(any),
    level=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    coalition=st.integers(1, 2),
)
def test_nor_does_a_coalition_that_knows_its_share(value: int, shadows: list[int], level: tuple[int, int], coalition: int) -> None:
    amounts = [Fraction(value * each, sum(shadows)) for each in shadows]
    down, up, last = shadowed(value, shadows, level, coalition)
    assert not any(is_told(amounts, fall, TENTH, coalition) for fall in (*range(down, min(last, value) + 1), *range(-up - 20, -up + 1)))


def test_finer_rules_and_cells_of_nobody_are_left_alone() -> None:
    finer = replace(table_of([firms(90, 10)]), rule_scale=1)
    unknown = replace(table_of([firms(90, 10)]), respondents=np.array([-1]), frequency=np.array([-1]))
    for table in (finer, unknown):
        found = judged(table, {0: 1})
        same = withstand_coalitions(table, found, TENTH, 2)
        assert (*levels_of(same, 0), int(same.minimum[0])) == (1, 1, -UNBOUNDED)


# Gains and losses.


def test_losses_alone_are_gains_the_other_way_round() -> None:
    table = table_of([firms(-60, -30, -10)])
    found = withstand_coalitions(table, judged(table, {0: 5}), TENTH, 1)
    assert levels_of(found, 0) == (5, 16)  # as of 60, 30 and 10, where the fall is 16 to 24
    assert (int(found.minimum[0]), int(found.maximum[0])) == (-UNBOUNDED, -100 + 24)


def test_a_gain_and_a_loss_that_nearly_cancel_are_told_by_moves_of_a_tenth_either_way() -> None:
    # 100 - 90 = 10: who gave 90 away takes what is released plus 90 for the other's 100, and misses it by the move itself.
    assert withstood([100, -90], 1) == (10, 10, 10 + UNBOUNDED)
    # Of 100, 50 and -140 moves of 36 to 64 and 86 to 114 down tell, and of 130 to 150 up.
    assert withstood([100, 50, -140], 1) == (1, 1, 36)
    assert withstood([100, 50, -140], (37, 131)) == (64, 150, 86)


def test_of_many_only_signs_that_the_sum_allows_are_feared() -> None:
    assert withstood([100, -90, 3, 2, 1, 1, 1, 1], 2)[0] == withstood([-90, 100, 1, 3, 1, 2, 1, 1], 2)[0]
    narrow = table_of([firms(60, 30, -10)])  # 80 is 60 + 30 - 10 and nothing else
    found = withstand_coalitions(narrow, judged(narrow, {0: 1}), TENTH, 1)
    tells = [move for move in range(-79, 80) if is_told([60, 30, -10], -move, TENTH, 1)]
    assert levels_of(found, 0) == (min(m for m in range(1, 80) if -m not in tells), min(m for m in range(1, 80) if m not in tells))


BOTH_SIGNS = st.lists(st.integers(-60, 60).filter(bool), min_size=2, max_size=10)


@pytest.mark.slow
@settings(max_examples=25)
@given(amounts=BOTH_SIGNS, level=st.tuples(st.integers(0, 60), st.integers(0, 60)), coalition=st.integers(1, 2))
def test_no_coalition_finds_another_where_there_are_losses(amounts: list[int], level: tuple[int, int], coalition: int) -> None:
    """Towards zero up to the bound, away from zero wherever nothing has to go further; what goes further tells nothing."""
    one, value = table_of([firms(*amounts)]), sum(amounts)
    found = withstand_coalitions(one, judged(one, {0: level}), TENTH, coalition)
    (down, up), least, most = levels_of(found, 0), int(found.minimum[0]), int(found.maximum[0])
    assert down >= level[0]
    assert up >= level[1]
    falls = range(max(least, value - down - 120), value - down + 1)
    released = np.array([*falls, *range(value + up, min(most, value + up + 120) + 1)])
    many = table_of([firms(*amounts)] * released.size)
    fall, rise = still_told(many, judged(many, dict.fromkeys(range(released.size), 1)), TENTH, coalition, released)
    for number, at in enumerate(released.tolist()):
        further = int(fall[number] or rise[number])
        assert not further or value == 0 or (at - value) * value > 0
        assert not is_told(amounts, (value - at) if not further else further if at < value else -further, TENTH, coalition)


@pytest.mark.slow
@settings(max_examples=30)
@given(amounts=st.lists(st.integers(-80, 80).filter(bool), min_size=2, max_size=4), level=st.integers(0, 60))
def test_with_losses_no_level_is_raised_further_than_some_choice_of_signs_asks(amounts: list[int], level: int) -> None:
    table = table_of([firms(*amounts)])
    down, up = levels_of(withstand_coalitions(table, judged(table, {0: level}), TENTH, 1), 0)
    alike = [signed for signed in signings([abs(each) for each in amounts]) if sum(signed) == sum(amounts)]
    for move in (*(-fall for fall in range(level, down)), *range(level, up)):
        assert any(is_told(signed, -move, TENTH, 1) for signed in alike)


def signings(amounts: list[int]) -> list[list[int]]:
    return [[a * s for a, s in zip(amounts, signs, strict=True)] for signs in product((1, -1), repeat=len(amounts))]


def test_contributions_in_coarser_units_than_the_value_are_brought_to_its_units() -> None:
    coarse = table_of([firms(60, 30, 10)])
    table = replace(coarse, value=coarse.value * 100, scale=2)
    found = withstand_coalitions(table, judged(table, {0: 500}), TENTH, 1)
    assert (*levels_of(found, 0), int(found.minimum[0])) == (1600, 500, 7600)


CELLS = st.lists(st.one_of(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=100)
@given(amounts=CELLS, level=st.tuples(st.integers(0, 60), st.integers(0, 60)), p=st.sampled_from([1, 10, 35]), coalition=st.integers(1, 2))
def test_no_coalition_finds_another_whatever_the_cell_is_released_at(
    amounts: list[int], level: tuple[int, int], p: int, coalition: int
) -> None:
    near, total = Fraction(p, 100), sum(amounts)
    down, up, last = withstood(amounts, level, near, coalition)
    assert down >= level[0]
    assert up >= level[1]
    assert last >= down
    falls = range(down, min(last, total) + 1)
    rises = range(-up - 40, -up + 1)
    assert not any(is_told(amounts, fall, near, coalition) for fall in (*falls, *rises))


@pytest.mark.slow
@settings(max_examples=60)
@given(amounts=st.lists(st.integers(0, 80), min_size=2, max_size=8), level=st.integers(0, 60), coalition=st.integers(1, 2))
def test_where_all_contributions_are_known_no_level_is_raised_further_than_needed(amounts: list[int], level: int, coalition: int) -> None:
    down, up, last = withstood(amounts, level, TENTH, coalition)
    assert all(is_told(amounts, fall, TENTH, coalition) for fall in range(level, down))
    assert up == level or is_told(amounts, 1 - up, TENTH, coalition)
    assert last >= LIMIT or is_told(amounts, last + 1, TENTH, coalition)


def test_opponents_are_those_that_the_rules_fear() -> None:
    manual = Manual([ManualCell(cell={"area": "A0"}, status="sensitive")])
    assert opponents([]) == opponents([Dominance(n=1, k=75), MinimumFrequency(3), manual]) == (TENTH, 1)
    assert opponents([PPercent(p=12.5)]) == (Fraction(1, 8), 1)
    assert opponents([PPercent(p=5, coalition=2), PPercent(p=15), MinimumFrequency(3)]) == (Fraction(3, 20), 2)
    assert opponents([PriorPosterior(p=10, q=50, coalition=3)]) == (TENTH, 3)
