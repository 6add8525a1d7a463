"""What the parent makes of news from several teams: tables checked again, claims refuted by tables."""

from __future__ import annotations

import time

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.formats.certificate import Alike
from statveil.protect.presolve.components import components_of
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.run_record import RunRecord, _ComponentRecord
from statveil.protect.search_state import NO_MULTIPLIERS, AnyMultipliers, LiftedMultipliers, Proof, SearchNews, seconds_to_check
from tests.protect.claims import CHEAP, ROW

DEARER = np.array([5, -5, 0, 0])
"""Costs 10."""


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


class Clock:
    """A clock that stands where it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def one_copy(cells: int) -> AnyMultipliers:
    none = np.zeros(0, dtype=np.int64)
    copies = np.zeros((ROW.rhs.size, cells), dtype=np.int64)
    return LiftedMultipliers(NO_MULTIPLIERS, np.zeros(cells, dtype=np.int64), copies, copies[:, 0], none, none, np.zeros(0))


def test_the_larger_the_proof_the_sooner_a_run_must_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree took eighteen seconds to be checked and written after a limit of sixty."""
    clock, record = Clock(monkeypatch), RunRecord(Limits(seconds=60), None)
    reduction = reduce_problem(ROW)
    record.expect(reduction, components_of(reduction.problem))
    without = record.kept
    lifted = one_copy(1)
    record.hear((0, 0, SearchNews("lifting the bound", 5.0, 5.0, proof=lifted)))
    tree: Proof = Alike(0, 1, Alike(1, 2, lifted, lifted), lifted)
    record.hear((0, 0, SearchNews("proving by relative signs", 6.0, 6.0, proof=tree)))
    leaf = seconds_to_check(record.components.whole, lifted)
    assert record.kept == pytest.approx(without + 3 * leaf)
    clock.now = 60 - record.kept
    assert record.is_late(by=0.0)
    assert not record.is_late(by=0.5)
    record.hear((0, 0, SearchNews("proving by relative signs", 5.5, 5.5, proof=Alike(0, 1, tree, tree))))
    assert record.kept == pytest.approx(without + 3 * leaf), "what proves less is not at hand"


def test_what_is_too_large_to_be_checked_in_time_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, record = Clock(monkeypatch), RunRecord(Limits(seconds=60), None)
    reduction = reduce_problem(ROW)
    record.expect(reduction, components_of(reduction.problem))
    lifted = one_copy(1)
    tree: Proof = Alike(0, 1, Alike(1, 2, lifted, lifted), lifted)
    record.hear((0, 0, SearchNews("lifting the bound", 5.0, 5.0, proof=lifted)))
    record.hear((0, 0, SearchNews("proving by relative signs", 6.0, 6.0, proof=tree)))
    assert record.proofs()[:2] == [tree, lifted]
    assert all(map(record.in_time, record.proofs()))
    clock.now = 66 - 2 * seconds_to_check(reduction.original, lifted)
    assert [record.in_time(proof) for proof in record.proofs()[:2]] == [False, True]
