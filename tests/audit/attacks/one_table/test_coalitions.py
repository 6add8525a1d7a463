"""Respondents of a cell who subtract what they gave."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.audit.attacks.attacker import TUNING
from statveil.audit.attacks.case import Contributions, Respondents
from statveil.audit.attacks.one_table import coalitions
from statveil.audit.attacks.verdict import VerdictStatus


def people(*amounts: list[int], protected: bool = True, coalition: int = 1) -> Respondents:
    """Cells with these contributions."""
    return Respondents(
        number=np.array([len(each) for each in amounts]),
        protected=np.full(len(amounts), protected),
        percent=0.1,
        coalition=coalition,
        contributions=lambda cells: [
            Contributions(amount=np.array(amounts[cell]), protected=np.full(len(amounts[cell]), protected)) for cell in cells
        ],
    )


RNG = np.random.Generator(np.random.PCG64(0))


def together(released: int, respondents: Respondents) -> coalitions.Verdict:
    return coalitions.of_cells(np.array([released]), np.array([True]), respondents, RNG)


def test_one_of_two_subtracts_itself() -> None:
    """90 + 50 = 140, released as 144: the second takes 94 for 90, which is within 10%; the first takes 54 for 50, which is too."""
    assert together(144, people([90, 50])).number == "2 of 2 coalitions within p% (100.0%)"
    assert together(144, people([90, 50])).status is VerdictStatus.FAILED
    assert together(150, people([90, 50])).passed


def test_who_waived_protection_is_no_victim() -> None:
    assert together(144, people([90, 50], protected=False)).status is VerdictStatus.NOT_APPLICABLE


def test_coalitions_larger_than_the_rule_are_told_and_not_judged() -> None:
    """Two of three know the third to the unit; the rule speaks of single attackers."""
    alone, two = (together(141, people([60, 50, 30], coalition=size)) for size in (1, 2))
    assert alone.passed
    assert alone.figures["successful, 2"] == 3
    assert two.status is VerdictStatus.FAILED


def test_of_many_cells_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coalitions, "TUNING", TUNING._replace(most_coalition_cells=2))
    verdict = coalitions.of_cells(np.array([144] * 5), np.ones(5, dtype=bool), people(*[[90, 50]] * 5), RNG)
    assert verdict.figures["sensitive cells"] == 2
