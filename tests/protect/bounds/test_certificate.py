"""Proofs become certificates of the original system, which the checker believes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import statveil as sv
from statveil.audit.certificate_checker import bound_of, check_bound
from statveil.core.limits import Ending, Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.search_state import NO_MULTIPLIERS, LiftedMultipliers, Search, SearchNews
from tests.audit.certificates import certificate_of
from tests.protect.bounds.proofs import table
from tests.protect.certify import certify
from tests.protect.problems import problem_of, two_way_relations
from tests.reference.cta import cheapest_cost


def test_a_case_about_a_cell_that_goes_opposite_to_its_group() -> None:
    """A fixed total ties the first cells of two rows, one up as the other goes down; the proof branches on both together."""
    value, free = [1, 0, 0, 1, 2, 2, 0, 0, 0, 2, 3, 0, 0, 1, 4], np.full(15, NO_LIMIT)
    fixed = np.arange(15) == 10
    problem = problem_of(
        value,
        two_way_relations(2, 4),
        levels=dict.fromkeys(range(5), 1),
        weight=np.full(15, 0.25),
        lower=np.where(fixed, 3, 0),
        upper=np.where(fixed, 3, free),
    )
    certified = certificate_of(problem, by_cases=True)
    assert certified is not None
    assert certified.bound == cheapest_cost(problem) == 3.0


def test_a_tie_to_a_cell_that_is_fixed_is_shown() -> None:
    """a + c = d and b + c = d make a and b equal. b must rise by exactly 4, so a does: 8 before c or d is looked at."""
    problem = problem_of([10, 10, 20, 30], [[1, 0, 1, -1], [0, 1, 1, -1]], levels={1: 4}, variant="exact", lower=np.array([0, 10, 0, 0]))
    certified = certify(reduce_problem(problem), NO_MULTIPLIERS, 12.0)
    assert certified is not None
    assert certified.bound == 8


@pytest.mark.slow
def test_a_report_says_what_its_bound_rests_on() -> None:
    adjustment = adjust_problem(table(3), limits=Limits(seconds=300))
    assert adjustment.ending is Ending.OPTIMAL
    assert adjustment.bound_by in ("cuts", "tree")
    assert adjustment.certificate is not None
    assert adjustment.certified_bound == adjustment.bound == bound_of(table(3), adjustment.certificate)


def test_a_solver_s_word_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tree is not tried, what branch and bound claims is reported as its claim, beside what is certified."""
    from statveil.protect.presolve.components import components_of
    from statveil.protect.run_record import RunRecord

    problem = table(3)
    reduction = reduce_problem(problem)
    watch = RunRecord(Limits(), None)
    watch.expect(reduction, components_of(reduction.problem))
    watch.hear((0, 0, SearchNews("branch and bound", 50.0, 20.0)))
    certified = certify(reduction, watch.proofs()[0], 60.0)
    assert certified is not None
    assert certified.bound < 50
    assert watch.settle(60.0, certified) == (pytest.approx(50.0 + reduction.fixed_cost), "solver")


def test_of_two_proofs_the_one_counts_whose_certificate_proves_more() -> None:
    """A lifted bound says that it is better than the cuts, and written in whole numbers it is not."""
    from statveil.protect.adjust import _certified
    from statveil.protect.presolve.components import components_of
    from statveil.protect.run_record import RunRecord

    reduction = reduce_problem(table(3))
    record = RunRecord(Limits(), None)
    record.expect(reduction, components_of(reduction.problem))
    bound_by_cuts(Search(reduction.problem, Limits(seconds=300), 0, lambda news: record.hear((0, 0, news))))
    alone = _certified(record, 60.0)
    none = np.zeros(0, dtype=np.int64)
    copies = np.zeros((reduction.problem.rhs.size, 1), dtype=np.int64)
    cells, corners = np.flatnonzero(reduction.problem.sensitive)[:1], none.reshape(0, 3)
    idle = LiftedMultipliers(NO_MULTIPLIERS, cells, copies, copies[:, 0], corners, corners, np.zeros(0))
    record.hear((0, 0, SearchNews("lifting the bound", 55.0, 55.0, proof=idle)))
    assert alone is not None
    assert alone.bound > 0
    lifted, plain = (certify(reduction, proof, 60.0) for proof in record.proofs())
    assert lifted is None or lifted.bound < alone.bound
    assert plain == alone == _certified(record, 60.0)


@pytest.mark.slow
def test_two_tables_side_by_side_are_certified_together() -> None:
    from tests.protect.presolve.test_components import beside

    both = beside(table(1), table(2))
    adjustment = adjust_problem(both, limits=Limits(seconds=30))
    assert adjustment.bound == adjustment.certified_bound == cheapest_cost(table(1)) + cheapest_cost(table(2))
    assert adjustment.certificate is not None
    assert check_bound(both, adjustment.certificate) == adjustment.bound


def test_cells_that_only_several_relations_tie_are_shown_to_the_checker() -> None:
    """x = a + b + c by one relation; y = (a + b) + c by two others: so x = y, and the level of y is paid twice."""
    relations = [[1, 1, 1, 0, -1, 0], [1, 1, 0, -1, 0, 0], [0, 0, 1, 1, 0, -1]]
    problem = problem_of([10, 20, 30, 30, 60, 60], relations, levels={4: 5, 5: 7})
    reduction = reduce_problem(problem)
    assert reduction.group[4] == reduction.group[5]
    certified = certificate_of(problem, by_cases=False)
    assert certified is not None
    assert len(certified.certificate.derived) == 1
    assert certified.bound == cheapest_cost(problem) == 7 * 3
    assert bound_of(problem, dataclasses.replace(certified.certificate, derived=())) < 21


@pytest.mark.slow
@pytest.mark.shared
def test_a_public_table_is_certified(shared_data: Path) -> None:
    problem = sv.read_jj(shared_data / "csplib" / "cox3.jj", weights="unit")
    adjustment = adjust_problem(problem, limits=Limits(seconds=60))
    assert (adjustment.objective, adjustment.bound, adjustment.bound_by) == (2420, 2420, "tree")
