"""Branch and bound with a certificate: it closes on the optimum, and the checker agrees."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import statveil as sv
from statveil.audit.certificate_checker import bound_of, check_bound
from statveil.core.limits import Ending, Limits
from statveil.formats.certificate import Cases, ProofSum
from statveil.protect.adjust import adjust_problem
from statveil.protect.bounds import branch_and_bound
from statveil.protect.bounds.certificate import certify
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import NO_MULTIPLIERS, DualMultipliers, LiftedMultipliers, Search, SearchNews, leaves, renumbered
from tests.audit.certificates import certificate_of
from tests.protect.problems import problem_of, small_problems, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost, cheapest_whole_table


def table(seed: int, size: int = 4, **changes: object) -> ProtectionProblem:
    """A square table with a third of its inner cells sensitive."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(10, 90, (size, size))
    cells = rng.choice(size * (size + 1), size=size * size // 3, replace=False)
    return problem_of(
        with_margins(inner).ravel(), two_way_relations(size, size), levels={int(cell): int(rng.integers(2, 9)) for cell in cells}, **changes
    )


@pytest.mark.parametrize("seed", range(8))
def test_small_tables_are_proved_and_certified(seed: int) -> None:
    problem = table(seed)
    certified = certificate_of(problem, by_cases=True)
    assert certified is not None
    assert certified.bound == cheapest_cost(problem)
    assert check_bound(problem, certified.certificate) == certified.bound


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


def test_amounts_that_are_not_whole_are_branched_on() -> None:
    """s + 2 x = 80: s must move by 3, and x by half as much the other way. Halves are not whole: s moves by 4, which costs 6 in all."""
    problem = problem_of([20, 30], [[1, 2]], levels={0: 3}, rhs=np.array([80]))
    certified = certificate_of(problem, by_cases=True)
    assert certified is not None
    assert cheapest_cost(problem) == 4.5
    assert certified.bound == 6
    assert any(case.at is not None for case in cases_of(certified.certificate.proof))


def cases_of(node: object) -> list[Cases[object]]:
    return [node, *cases_of(node.up), *cases_of(node.down)] if isinstance(node, Cases) else []


@pytest.mark.parametrize("seed", range(6))
def test_systems_with_factors_of_two_are_proved_to_the_whole_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relations = np.hstack([rng.choice([0, 1, 2, -1], size=(2, 3)), -2 * np.eye(2, dtype=int)])
    value = np.full(5, 20)
    problem = problem_of(
        value,
        relations,
        levels={0: 3, 1: (1, 2), 3: 1},
        rhs=relations @ value,
        lower=value - 5,
        upper=value + 5,
        weight=rng.choice([1.0, 1.5, 0.3], size=5),
    )
    best, certified = cheapest_whole_table(problem), certificate_of(problem, by_cases=True)
    if certified is None:
        assert np.isinf(best)
    else:
        assert certified.bound == pytest.approx(best, rel=1e-9)
        assert certified.bound <= best


def test_a_tie_to_a_cell_that_is_fixed_is_shown() -> None:
    """a + c = d and b + c = d make a and b equal. b must rise by exactly 4, so a does: 8 before c or d is looked at."""
    problem = problem_of([10, 10, 20, 30], [[1, 0, 1, -1], [0, 1, 1, -1]], levels={1: 4}, variant="exact", lower=np.array([0, 10, 0, 0]))
    certified = certify(reduce_problem(problem), NO_MULTIPLIERS, 12.0)
    assert certified is not None
    assert certified.bound == 8


@pytest.mark.slow
@given(small_problems())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_tree_closes_on_the_continuous_optimum(problem: ProtectionProblem) -> None:
    """Amounts are whole in a two-way table, so the tree must reach the best there is."""
    certified = certificate_of(problem, by_cases=True)
    if certified is not None:
        assert certified.bound == pytest.approx(cheapest_cost(problem), rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_a_report_says_what_its_bound_rests_on() -> None:
    adjustment = adjust_problem(table(3), limits=Limits(seconds=20))
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
    bound_by_cuts(Search(reduction.problem, Limits(seconds=20), 0, lambda news: record.hear((0, 0, news))))
    alone = _certified(record, 60.0)
    none = np.zeros(0, dtype=np.int64)
    copies = np.zeros((reduction.problem.rhs.size, 1), dtype=np.int64)
    cells, corners = np.flatnonzero(reduction.problem.sensitive)[:1], none.reshape(0, 3)
    idle = LiftedMultipliers(NO_MULTIPLIERS, cells, copies, 0, corners, corners, np.zeros(0))
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


@pytest.mark.slow
def test_a_tree_cut_short_still_proves_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_nodes=4, first_news=2))
    for seed in range(4):
        problem = table(seed, size=5)
        certified = certificate_of(problem, by_cases=True)
        assert certified is not None
        assert certified.bound <= cheapest_cost(problem)


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


def test_squares_and_large_problems_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[SearchNews] = []
    search = Search(dataclasses.replace(table(0), norm="l2"), Limits(seconds=5), 0, heard.append)
    branch_and_bound.prove_by_tree(search)
    assert not heard
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_choices=0))
    search = Search(reduce_problem(table(0)).problem, Limits(seconds=5), 0, heard.append)
    bound_by_cuts(search)
    search.try_senses(np.where(search.problem.sensitive, 1, 0))
    stages = {found.stage for found in heard}
    branch_and_bound.prove_by_tree(search)
    assert {found.stage for found in heard} == stages


def test_a_proof_of_a_part_is_renumbered_for_the_whole() -> None:
    leaf = DualMultipliers(np.array([2.0]), np.array([0, 0]), np.array([-1, 1]), np.array([0.5, 0.25]))
    proof = renumbered(ProofSum((Cases(1, leaf, leaf._replace(relations=np.zeros(0))),)), np.array([3]), np.array([7, 9]), 5)
    assert isinstance(proof, ProofSum)
    (split,) = proof.parts
    assert isinstance(split, Cases)
    assert split.cell == 9
    assert isinstance(split.up, DualMultipliers)
    assert split.up.relations.tolist() == [0, 0, 0, 2, 0]
    assert split.up.cut_relation.tolist() == [3, 3]
    assert split.up.cut_cell.tolist() == [-1, 9]
    assert leaves(proof) == 2


@pytest.mark.slow
@pytest.mark.shared
def test_a_public_table_is_certified(shared_data: Path) -> None:
    problem = sv.read_jj(shared_data / "csplib" / "cox3.jj", weights="unit")
    adjustment = adjust_problem(problem, limits=Limits(seconds=60))
    assert (adjustment.objective, adjustment.bound, adjustment.bound_by) == (2420, 2420, "tree")


def test_a_cover_cut_asks_for_more_once_senses_are_settled() -> None:
    """Levels of 3, 5 and 10 leave 2 at least (3 + 5 - 10). With the 3 up and the 5 down they leave 8, whatever the 10 does."""
    problem = problem_of([50, 60, 70, 80, 260], [[1, 1, 1, 1, -1]], levels={0: 3, 1: 5, 2: 10})
    covers = branch_and_bound._CoverCuts(problem)
    assert covers.cuts.rhs.tolist() == [18 + 2]
    ranges, up = branch_and_bound._CellRanges(problem, 1000.0), branch_and_bound._Case({0: 1}, {})
    one = covers.settled(covers.cuts.rhs, 0, ranges.within(up))
    assert one.tolist() == [18 + 2]
    two = covers.settled(one, 1, ranges.within(up.with_sense(1, -1)))
    assert two.tolist() == [18 + 8]
    assert covers.settled(two, 3, ranges.within(up.with_sense(1, -1).with_amount(3, 1, 1))).tolist() == [20 + 10], "a fourth up by 2"
