"""The lifted bound: above that of cuts where signs of several relations hang together, never above the best there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.limits import Limits
from statveil.formats.certificate import Alike
from statveil.protect.adjust import adjust_problem
from statveil.protect.bounds import copy_model
from statveil.protect.bounds.certificate import Certified, certify
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.bounds.lifted import bound_by_copies
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import NO_MULTIPLIERS, DualMultipliers, LiftedMultipliers, Search, SearchNews, leaves, renumbered
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import small_problems
from tests.reference.cta import cheapest_cost


def three_way(seed: int = 0) -> ProtectionProblem:
    """4 x 4 x 4 with ten sensitive cells and no bounds."""
    drawn = random_problem((4, 4, 4), seed=seed, sensitive=0.15)
    return replace(drawn, lower=np.zeros_like(drawn.value), upper=np.full(drawn.size, NO_LIMIT), variant="at-least")


def bounds_of(problem: ProtectionProblem, *, worth: float = 1e6) -> tuple[float, float, Certified | None]:
    """What cuts prove, what copies do, and what the checker makes of the last proof."""
    heard: list[SearchNews] = []
    reduction = reduce_problem(problem)
    search = Search(reduction.problem, Limits(seconds=60), 0, heard.append)
    bound_by_cuts(search)
    cuts = search.proved
    bound_by_copies(search)
    proof = [NO_MULTIPLIERS, *(found.proof for found in heard if found.proof is not None)][-1]
    return cuts + reduction.fixed_cost, search.proved + reduction.fixed_cost, certify(reduction, proof, worth)


@pytest.mark.slow
def test_signs_of_several_relations_together_prove_more() -> None:
    problem = three_way()
    cuts, copies, certified = bounds_of(problem)
    assert copies > 1.02 * cuts
    assert certified is not None
    assert certified.bound == pytest.approx(copies, rel=1e-4)
    assert certified.bound <= adjust_problem(problem, method="exact", limits=Limits(seconds=60)).objective


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_multipliers_of_few_digits_fit_as_they_are_written(seed: int) -> None:
    """A pull that rounding takes past a cell's cost counts for as far as the cell can move: 65 of 8,308 were lost that way."""
    search = Search(reduce_problem(three_way(seed)).problem, Limits(seconds=60), 0, lambda _: None)
    bound_by_cuts(search)
    root = bound_by_copies(search)
    assert root is not None
    written = root.model.proof(root.node, root.worth, enough=0.9 * root.worth.bound)
    assert written.copies.dtype == np.int16
    pull = np.abs(search.problem.relations.T @ np.ldexp(written.copies.astype(np.float64), -written.bits))
    own = np.zeros(search.problem.size)
    own[root.model.cells] = pull[root.model.cells, root.node.cluster[root.model.cells]]
    cuts = np.zeros(root.model.known.rhs.size)
    of_cut = {(int(row), int(cell)): k for k, (row, cell) in enumerate(zip(root.model.known.relation, root.model.known.cell, strict=True))}
    for row, cell, amount in zip(written.plain.cut_relation, written.plain.cut_cell, written.plain.cut, strict=True):
        cuts[of_cut[int(row), int(cell)]] += amount
    others = pull.sum(axis=1) - own + root.model.known.matrix.T @ cuts
    rest = np.setdiff1d(np.arange(search.problem.size), root.model.cells)
    assert (others[rest] <= search.problem.weight[rest] * (1 + 1e-5)).all()


@pytest.mark.slow
@given(small_problems(additive=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_never_above_the_best_there_is(problem: ProtectionProblem) -> None:
    if not reduce_problem(problem).feasible or (best := cheapest_cost(problem)) == float("inf") or best == 0:
        return
    _, copies, certified = bounds_of(problem, worth=best + 1)
    assert certified is not None
    assert certified.bound <= best * (1 + 1e-9)
    assert copies <= best * (1 + 1e-6)


@pytest.mark.slow
def test_a_cell_that_must_move_without_being_sensitive_has_no_sign_to_multiply() -> None:
    """A search that believes a bound above the best there is stops before it has found that."""
    problem = three_way()
    pushed = np.flatnonzero(~problem.sensitive)[::5]
    lower = problem.lower.copy()
    lower[pushed] = problem.value[pushed] + 9
    problem = replace(problem, lower=lower)
    _, copies, certified = bounds_of(problem)
    assert certified is not None
    assert copies <= certified.bound * (1 + 1e-6)


@pytest.mark.slow
def test_levels_that_differ_by_sense_cost_the_certificate_nothing() -> None:
    """The relaxation takes the lesser level for both senses; a checker that knows no better than to tell them apart proves less."""
    problem = three_way(seed=3)
    cuts, copies, certified = bounds_of(replace(problem, upper_level=problem.upper_level * 2))
    assert copies > 1.01 * cuts
    assert certified is not None
    assert certified.bound >= copies * (1 - 1e-4)


def test_two_signs_are_not_worth_their_copies() -> None:
    problem = three_way()
    few = np.flatnonzero(problem.sensitive)[2:]
    problem.sensitive[few] = False
    heard: list[SearchNews] = []
    search = Search(problem, Limits(seconds=60), 0, heard.append)
    bound_by_cuts(search)
    bound_by_copies(search)
    assert "lifting the bound" not in {found.stage for found in heard}


def test_nor_are_more_copies_than_can_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_model, "TUNING", copy_model.TUNING._replace(most_entries=100))
    search = Search(three_way(), Limits(seconds=60), 0, lambda _: None)
    bound_by_cuts(search)
    before = search.proved
    bound_by_copies(search)
    assert search.proved == before


def test_a_part_of_a_problem_in_the_numbers_of_the_whole() -> None:
    plain = DualMultipliers(np.zeros(0), np.array([1]), np.array([0]), np.array([2.0]))
    none = np.zeros((0, 3), dtype=np.int64)
    proof = LiftedMultipliers(plain, np.array([1, 0]), np.array([[3, 0], [0, 4]]), 5, none, none, np.zeros(0))
    whole = renumbered(Alike(0, 1, proof, plain), rows=np.array([5, 2]), cells=np.array([7, 9]), count=6)
    assert isinstance(whole, Alike)
    assert (whole.cell, whole.other, leaves(whole)) == (7, 9, 2)
    same = whole.same
    assert isinstance(same, LiftedMultipliers)
    assert same.cells.tolist() == [9, 7]
    assert same.plain.cut_relation.tolist() == [2]
    assert same.copies[[5, 2]].tolist() == [[3, 0], [0, 4]]
    assert np.count_nonzero(same.copies) == 2
