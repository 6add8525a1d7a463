"""The solver that attack T12 is lent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.attacks.case import ReverseProblem
from statveil.audit.attacks.public import ReleasedSystem
from statveil.core.errors import InfeasibleProblem, OutOfTime
from statveil.core.limits import Limits
from statveil.jobs import reverse
from statveil.protect.adjustment import TracePoint
from statveil.protect.problem import ProtectionProblem


def two_parts() -> ReverseProblem:
    released = np.array([30, 70, 100])
    published = ReleasedSystem(
        relations=csr_matrix(np.array([[1, 1, -1]])),
        rhs=np.zeros(1, dtype=np.int64),
        released=released,
        low=np.zeros(3),
        high=np.full(3, np.inf),
        known_bounds=False,
    )
    return ReverseProblem(
        published=published, sensitive=np.array([True, False, False]), lower=np.array([5, 0, 0]), upper=np.array([5, 0, 0])
    )


@pytest.mark.parametrize(("seconds", "points", "attacked"), [(2.9, 1, False), (2.9, 2, True), (0.1, 1, True)])
def test_a_table_from_before_the_search_is_no_attack(
    monkeypatch: pytest.MonkeyPatch, seconds: float, points: int, *, attacked: bool
) -> None:
    """On a busy machine T12 once "passed" with 0.0% on a release at its exact levels: all parts raised, and no search begun."""
    trace = tuple(TracePoint(0.1 * each, 9.0 - each, 0.0) for each in range(points))
    found = SimpleNamespace(trace=trace, seconds=seconds, deviation=np.array([5, -5, 0]))
    monkeypatch.setattr(reverse, "adjust_problem", lambda *_, **__: found)
    assert (reverse.reverse_by_adjustment(seconds=3.0)(two_parts()) is not None) == attacked


def test_on_a_busy_machine_the_attack_has_more_time_until_a_search_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def adjusted(problem: ProtectionProblem, *, limits: Limits, **_: Any) -> SimpleNamespace:
        given.append(limits.seconds)
        if len(given) == 1:
            raise OutOfTime("No table in time.")
        points = [TracePoint(0.1, 9.0, 0.0)] * (2 if limits.seconds > 5 else 1)
        return SimpleNamespace(trace=points, seconds=limits.seconds, deviation=np.array([5, -5, 0]))

    monkeypatch.setattr(reverse, "adjust_problem", adjusted)
    guess = reverse.reverse_by_adjustment(seconds=1.5, longest=60.0)(two_parts())
    assert given == [1.5, 3.0, 6.0]
    assert guess is not None
    given.clear()
    assert reverse.reverse_by_adjustment(seconds=1.5, longest=4.0)(two_parts()) is None
    assert given == [1.5, 3.0, 4.0]


def test_where_no_adjustment_exists_more_time_is_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise InfeasibleProblem("There is none.")

    monkeypatch.setattr(reverse, "adjust_problem", refused)
    assert reverse.reverse_by_adjustment(seconds=1.5, longest=60.0)(two_parts()) is None


@pytest.mark.slow
def test_the_sensitive_cell_is_moved_back_by_its_level() -> None:
    guess = reverse.reverse_by_adjustment(seconds=20.0)(two_parts())
    assert guess is not None
    assert abs(int(guess[0]) - 30) >= 5
    assert guess[0] + guess[1] == guess[2]
