"""Respondents who asked for protection."""

from __future__ import annotations

from statveil.risk.rules import Request
from tests.reference.rules import Respondent
from tests.risk.cells import firms
from tests.risk.rules.stories import levels


def test_only_those_who_ask_are_protected():
    asks = Respondent(80, requested=True)
    assert levels([[asks, *firms(20)], firms(80, 20)], Request(70)) == [(20, 20), None]
    assert levels([[asks, *firms(200)]], Request(70)) == [None]
    assert levels([[asks, *firms(200)]], Request(70, minimum=3, level=(10, 50))) == [(28, 140)]
    assert levels([firms(80, 20)], Request(70, minimum=3)) == [None]
