"""The p% rule, on cells small enough to check by hand."""

from __future__ import annotations

from statveil.risk.rules import MinimumFrequency, PPercent
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_the_second_largest_firm_subtracts_itself():
    # 100 - 60 - 35 = 5 < 6 = 10% of 60. One unit is missing.
    assert levels([firms(60, 35, 5), firms(60, 34, 6)], PPercent(10)) == [(1, 1), None]


def test_the_only_firm_of_a_cell_is_unsafe():
    assert levels([firms(200)], PPercent(10)) == [(20, 20)]


def test_two_firms_that_conspire_learn_more():
    cell = firms(60, 30, 25, 5)
    assert levels([cell], PPercent(10)) == [None]
    assert levels([cell], PPercent(10, coalition=2)) == [(1, 1)]
    assert levels([firms(100, 5)], PPercent(10, coalition=0)) == [(5, 5)]


def test_a_tenth_is_a_tenth():
    # in doubles 0.1% of 3000 is a little more than 3
    assert levels([firms(1000, 1000, 1000)], MinimumFrequency(4, level=0.1)) == [(3, 3)]
