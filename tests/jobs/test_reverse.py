"""The solver that attack T12 is lent."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.audit.attacks.case import ReverseProblem
from statveil.audit.attacks.public import ReleasedSystem
from statveil.jobs import reverse
from statveil.protect.adjustment import TracePoint
from statveil.solve.processes import Halt


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


def test_what_is_not_compiled_in_time_is_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack before writing once waited 100 s for the compiler, in a job of 20 s."""
    given = []
    monkeypatch.setattr(reverse, "make_ready", lambda part, tell, *, seconds: given.append(seconds) or Halt.OUT_OF_TIME)
    monkeypatch.setattr(reverse, "adjust_problem", lambda *_, **__: pytest.fail("nothing may be adjusted without its loops"))
    assert reverse.reverse_by_adjustment(seconds=3.0, compiling=False)(two_parts()) is None
    assert given == [3.0]


@pytest.mark.parametrize(("seconds", "points", "attacked"), [(2.9, 1, False), (2.9, 2, True), (0.1, 1, True)])
def test_a_table_from_before_the_search_is_no_attack(
    monkeypatch: pytest.MonkeyPatch, seconds: float, points: int, *, attacked: bool
) -> None:
    """On a busy machine T12 once "passed" with 0.0% on a release at its exact levels: all parts raised, and no search begun."""
    trace = tuple(TracePoint(0.1 * each, 9.0 - each, 0.0) for each in range(points))
    found = SimpleNamespace(trace=trace, seconds=seconds, deviation=np.array([5, -5, 0]))
    monkeypatch.setattr(reverse, "adjust_problem", lambda *_, **__: found)
    assert (reverse.reverse_by_adjustment(seconds=3.0)(two_parts()) is not None) == attacked


@pytest.mark.slow
def test_the_sensitive_cell_is_moved_back_by_its_level() -> None:
    guess = reverse.reverse_by_adjustment(seconds=20.0)(two_parts())
    assert guess is not None
    assert abs(int(guess[0]) - 30) >= 5
    assert guess[0] + guess[1] == guess[2]
