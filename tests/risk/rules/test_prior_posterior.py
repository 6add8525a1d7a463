"""The (p,q) rule, on cells small enough to check by hand."""

from __future__ import annotations

from statveil.risk.rules import PPercent, PriorPosterior
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_knowing_each_other_to_half_is_worth_twice_the_percentage():
    assert levels([firms(60, 30, 10)], PPercent(10)) == [None]
    # 50% of 10 = 5 < 6 = 10% of 60; 10/50 x 60 - 10 = 2
    assert levels([firms(60, 30, 10)], PriorPosterior(10, 50)) == [(2, 2)]
