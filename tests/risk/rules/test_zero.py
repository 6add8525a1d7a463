"""Zeros that tell."""

from __future__ import annotations

from statveil.risk.rules import ZeroRule
from tests.reference.rules import Respondent
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_a_zero_that_tells_is_unsafe_only_where_somebody_responded():
    cells = [firms(0, 0), [], firms(5, 0), [Respondent(0, waived=True)]]
    assert levels(cells, ZeroRule(2.5), scale=1, decimals=1) == [(25, 25), None, None, None]
