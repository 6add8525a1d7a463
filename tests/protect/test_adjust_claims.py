"""A solver's word is a claim: a table that costs less refutes its bound, and neither "optimal" nor "infeasible" rests on it."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InfeasibleProblem, NoTableFound
from statveil.core.limits import Ending, Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.run_record import _ComponentRecord
from statveil.protect.search_state import NO_MULTIPLIERS, Search, SearchNews
from tests.protect.problems import problem_of

ROW = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})
CHEAP = np.array([4, -4, 0, 0])
"""Costs 8, the best there is."""
DEARER = np.array([5, -5, 0, 0])
"""Costs 10."""


def test_a_search_does_not_hear_a_claim_above_its_own_table() -> None:
    heard: list[SearchNews] = []
    search = Search(ROW, Limits(), 0, heard.append)
    search.offer(CHEAP)
    search.offer_bound(9.0)
    assert search.bound == 0.0
    assert not search.done
    search.offer_bound(8.0 + 1e-9)
    assert search.bound == 8.0, "rounding in the last digits is no contradiction"


def test_a_cheaper_table_of_another_team_refutes_a_claim() -> None:
    part = _ComponentRecord(gap=0.0)
    part.hear(0, ROW, SearchNews("proof", 3.0, 3.0, proof=NO_MULTIPLIERS))
    part.hear(0, ROW, SearchNews("solver", 9.0, 3.0))
    assert part.known.bound == 9.0
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    assert part.known.bound == 3.0, "only what is proved is left"
    assert not part.settles(1)
    part.hear(0, ROW, SearchNews("solver", 8.0, 3.0))
    assert part.known.bound == 3.0, "a solver that was wrong is not believed again"


def test_a_claim_that_comes_after_the_table_is_refuted_as_well() -> None:
    part = _ComponentRecord(gap=0.0)
    part.hear(0, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    part.hear(0, ROW, SearchNews("solver", 9.0, 2.0))
    assert part.known.bound == 0.0
    part.hear(0, ROW, SearchNews("proof", 8.0, 8.0, proof=NO_MULTIPLIERS))
    assert part.settles(0)


def test_an_unsafe_table_is_not_believed() -> None:
    part = _ComponentRecord(gap=0.0)
    part.hear(0, ROW, SearchNews("search", 0.0, deviation=np.array([3, -3, 0, 0])))
    assert part.known.best is None


def test_the_first_team_within_the_gap_asked_for_decides() -> None:
    """The second team's cheaper table came first; it does not count, for it might have come later."""
    part = _ComponentRecord(gap=0.5)
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    assert not part.settles(1)
    part.hear(0, ROW, SearchNews("proof", 7.0, 7.0, proof=NO_MULTIPLIERS))
    part.hear(0, ROW, SearchNews("search", 7.0, 7.0, deviation=DEARER))
    assert part.settles(0)
    assert part.known.objective == 10.0
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    assert part.known.objective == 10.0, "what comes after is not heard"


def test_without_the_first_team_the_best_table_counts() -> None:
    part = _ComponentRecord(gap=0.01)
    part.hear(0, ROW, SearchNews("search", 7.0, 7.0, deviation=DEARER, proof=NO_MULTIPLIERS))
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    assert not part.settles(1)
    assert part.known.objective == 8.0


def test_an_optimum_of_another_team_waits_for_the_first_to_end() -> None:
    """The first team might find a table as good, and then that one counts, whoever was quicker."""
    part = _ComponentRecord(gap=0.0)
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    part.hear(0, ROW, SearchNews("proof", 8.0, 8.0, proof=NO_MULTIPLIERS))
    assert not part.settles(0)
    part.hear(1, ROW, SearchNews("search", 0.0))
    assert not part.settles(1)
    part.hear(0, ROW, SearchNews("ended", 0.0, ended=True))
    assert part.settles(0)
    assert part.known.rank == 1


def test_an_equal_table_of_the_first_team_counts() -> None:
    part = _ComponentRecord(gap=0.0)
    part.hear(1, ROW, SearchNews("search", 0.0, deviation=CHEAP))
    part.hear(0, ROW, SearchNews("proof", 8.0, 8.0, proof=NO_MULTIPLIERS))
    part.hear(0, ROW, SearchNews("search", 8.0, 8.0, deviation=np.array([4, 0, -4, 0])))
    assert part.settles(0)
    assert part.known.best is not None
    assert part.known.best.tolist() == [4, 0, -4, 0]


def test_a_gap_that_only_a_solver_claims_ends_nothing() -> None:
    part = _ComponentRecord(gap=0.5)
    part.hear(0, ROW, SearchNews("solver", 7.0, 3.0, deviation=CHEAP))
    assert not part.settles(0)
    part.hear(0, ROW, SearchNews("proof", 7.0, 6.0, proof=NO_MULTIPLIERS))
    assert part.settles(0)


@pytest.mark.slow
def test_without_a_certificate_nothing_is_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statveil.protect.adjust.certify", lambda *_: None)
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
