"""Branch and bound with a certificate: it closes on the optimum, and the checker agrees."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.audit.certificate_checker import check_bound
from statveil.core.limits import Limits
from statveil.formats.certificate import Cases, ProofSum
from statveil.protect.bounds import branch_and_bound
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers, Search, SearchNews, leaves_of, renumbered
from tests.audit.certificates import certificate_of
from tests.protect.bounds.proofs import table
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost, cheapest_whole_table


@pytest.mark.parametrize("seed", range(8))
def test_small_tables_are_proved_and_certified(seed: int) -> None:
    problem = table(seed)
    certified = certificate_of(problem, by_cases=True)
    assert certified is not None
    assert certified.bound == cheapest_cost(problem)
    assert check_bound(problem, certified.certificate) == certified.bound


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


@pytest.mark.slow
@given(small_problems())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_tree_closes_on_the_continuous_optimum(problem: ProtectionProblem) -> None:
    """Amounts are whole in a two-way table, so the tree must reach the best there is."""
    certified = certificate_of(problem, by_cases=True)
    if certified is not None:
        assert certified.bound == pytest.approx(cheapest_cost(problem), rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_a_tree_cut_short_still_proves_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_nodes=4, first_news=2))
    for seed in range(4):
        problem = table(seed, size=5)
        certified = certificate_of(problem, by_cases=True)
        assert certified is not None
        assert certified.bound <= cheapest_cost(problem)


def test_squares_and_large_problems_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[SearchNews] = []
    search = Search(dataclasses.replace(table(0), norm="l2"), Limits(seconds=300), 0, heard.append)
    branch_and_bound.prove_by_tree(search)
    assert not heard
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_choices=0))
    search = Search(reduce_problem(table(0)).problem, Limits(seconds=300), 0, heard.append)
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
    assert len(leaves_of(proof)) == 2


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


def test_where_a_node_hardly_leans_it_keeps_the_best_table_s_senses_and_what_is_better_is_polished() -> None:
    problem = problem_of([50, 60, 70, 80, 260], [[1, 1, 1, 1, -1]], levels={0: 3, 1: 5, 2: 10})
    search, polished = Search(problem, Limits(seconds=300), 0, lambda _: None), []
    search.try_senses(problem.all_down())
    program = branch_and_bound._NodeProgram(search, polished.append)
    cells, rise, fall = problem.choices, np.array([0.5, 0.55, 0.9]), np.array([0.5, 0.45, 0.1])
    assert program._leanings(cells, rise, fall).tolist() == [-1, -1, 1]
    program._try({0: -1, 1: -1, 2: 1})
    assert search.objective == 18 + 2
    assert [senses.tolist() for senses in polished] == [[-1, -1, 1, 0, 0]]
    program._try({0: -1, 1: 1, 2: 1})
    assert len(polished) == 1, "not better"
