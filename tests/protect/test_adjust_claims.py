"""A solver's word is a claim: a table that costs less refutes its bound, and neither "optimal" nor "infeasible" rests on it."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InfeasibleProblem, NoTableFound
from statveil.core.limits import Ending, Limits
from statveil.protect.adjust import adjust_problem
from tests.protect.claims import ROW
from tests.protect.problems import problem_of


@pytest.mark.slow
def test_without_a_certificate_nothing_is_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statveil.protect.adjust.Certifier.certified", lambda *_: None)
    found = adjust_problem(ROW, limits=Limits(seconds=60))
    assert (found.objective, found.bound, found.bound_by) == (8.0, pytest.approx(8.0), "solver")
    assert found.ending is Ending.CLAIMED
    assert (found.certified_bound, found.certified_gap) == (0.0, float("inf"))


ODD = problem_of(
    [50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 3, 1: 5, 2: 7}, variant="exact", lower=np.array([0] * 3 + [150]), upper=np.full(4, 150)
)
"""Three, five and seven, each up or down, come to an odd number, and the total stays."""


@pytest.mark.slow
def test_infeasible_is_what_is_shown_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InfeasibleProblem, match="No safe table exists") as proved:
        adjust_problem(ODD, limits=Limits(seconds=60))
    assert proved.value.explanation is not None
    monkeypatch.setattr("statveil.protect.infeasible.explain.explain", lambda *_, **__: None)
    with pytest.raises(NoTableFound, match="A solver says that none exists"):
        adjust_problem(ODD, limits=Limits(seconds=60))


@pytest.mark.slow
def test_a_method_that_finds_none_says_just_that() -> None:
    """All up is what the senses ask, and the total is held. Another method finds two up, one down."""
    held = problem_of(
        [50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 3, 1: 3, 2: 6}, lower=np.array([0, 0, 0, 150]), upper=np.array([99, 99, 99, 150])
    )
    with pytest.raises(NoTableFound, match="The method found no safe table") as failure:
        adjust_problem(held, method="fixed", start=np.array([1, 1, 1, 0]), limits=Limits(seconds=60))
    assert failure.value.exit_code == 4
    assert adjust_problem(held, limits=Limits(seconds=60)).objective == 12
