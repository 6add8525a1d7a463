"""(n,k) dominance, on cells small enough to check by hand."""

from __future__ import annotations

from statveil.risk.rules import Dominance
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_s1_example_rule_takes_one_respondent_above_seventy_percent():
    # S1: p = x1/0.7 - T. 80/0.7 - 100 = 14.28..., rounded up.
    assert levels([firms(80, 15, 5), firms(70, 20, 10), firms(50)], Dominance(1, 70)) == [(15, 15), None, (22, 22)]


def test_two_firms_that_dominate_together():
    # 60 + 35 = 95 > 90% of 100; 95/0.9 - 100 = 5.55...
    assert levels([firms(60, 35, 5), firms(50, 40, 10)], Dominance(2, 90)) == [(6, 6), None]
