"""Too few respondents."""

from __future__ import annotations

from statveil.risk.rules import MinimumFrequency
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_few_respondents():
    assert levels([firms(10, 10), firms(10, 10, 10), []], MinimumFrequency(3)) == [(4, 4), None, None]


def test_a_zero_cell_of_few_respondents_is_unsafe_and_moves_by_one_published_unit():
    assert levels([firms(0, 0)], MinimumFrequency(3)) == [(1, 1)]
    assert levels([firms(0, 0)], MinimumFrequency(3), scale=2, decimals=0) == [(100, 100)]
    assert levels([firms(0, 0)], MinimumFrequency(3), scale=0, decimals=-3) == [(1000, 1000)]
    assert levels([firms(0, 0)], MinimumFrequency(3), scale=0, decimals=2) == [(1, 1)]
