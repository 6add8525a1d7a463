"""Whole tables by parts: additive, safe, and next to the target."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import statveil as sv
from statveil.protect import rounding
from statveil.protect.fixed_senses import FixedSenses
from statveil.protect.rounding import parts_of, round_by_parts
from statveil_lab.generators.random_tables import protect_within, random_table


def three_way() -> sv.ProtectionProblem:
    """All cells may move by 15%; the sensitive ones must by 5%."""
    table = protect_within(random_table((8, 8, 8), seed=1, sensitive=0.1, percent=5), percent=5)
    reach = table.value * 15 // 100
    return dataclasses.replace(table, lower=table.value - reach, upper=table.value + reach, variant="at-least", norm="l2")


@pytest.mark.parametrize(
    "most", [rounding.TUNING.most_for_parts, 100], ids=["as many sweeps as there are", "a table with many parts: fewer sweeps"]
)
def test_seven_percent_up_is_rounded_to_a_safe_whole_table(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "TUNING", rounding.TUNING._replace(most_for_parts=most))
    problem = three_way()
    parts, target = parts_of(problem), 0.07 * problem.value
    assert parts is not None
    assert parts.part.size == 512
    found = round_by_parts(problem, parts, problem.sensitive.astype(np.int64), target)
    assert found is not None
    assert problem.accepts(found)
    assert np.abs(found - target).max() < 3


def test_parts_of_a_large_table_are_looked_for_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "TUNING", rounding.TUNING._replace(most_for_parts=100))
    program = FixedSenses(three_way())
    assert program.parts is None
    assert program.parts_to_round is not None
