"""Which copies of a table are worth their signs, and multipliers of few digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.protect.bounds import copy_model
from statveil.protect.bounds.copy_model import CopyModel
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.bounds.lifted import bound_by_copies
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.search_state import Search, SearchNews
from tests.protect.bounds.copies import bounds_of, three_way


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_multipliers_of_few_digits_fit_as_they_are_written(seed: int) -> None:
    """A pull that rounding takes past a cell's cost counts for as far as the cell can move: 65 of 8,308 were lost that way."""
    search = Search(reduce_problem(three_way(seed)).problem, Limits(seconds=60), 0, lambda _: None)
    bound_by_cuts(search)
    root = bound_by_copies(search)
    assert root is not None
    _, written = root.model.proof(root.node, root.worth, enough=0.9 * root.worth.bound)
    assert written.copies.dtype == np.int16
    pull = np.abs(search.problem.relations.T @ np.ldexp(written.copies.astype(np.float64), -written.bits[:, np.newaxis]))
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


def test_each_relation_has_a_unit_of_its_own() -> None:
    """With one for all, what relations of cheap cells are worth is rounded away: of a bound of 524 only 511.6 was proved."""
    problem = replace(three_way(), weight=10.0 ** -np.random.default_rng(0).integers(0, 8, 125))
    search = Search(problem, Limits(seconds=60), 0, lambda _: None)
    bound_by_cuts(search)
    model = CopyModel.of(problem, search.cuts)
    assert model is not None
    node = model.root()
    asked = np.random.default_rng(1).uniform(-1, 1, node.relations.shape).astype(np.float32)
    worth = model.worth(node, asked, node.cuts * 0, node.triangles)
    _, written = model.proof(node, worth)
    got = np.ldexp(written.copies.astype(np.float64), -written.bits[:, np.newaxis]) / model.row_scale[:, np.newaxis]
    assert got == pytest.approx(asked * worth.fits, rel=1e-3, abs=1e-5 * worth.fits)


@pytest.mark.slow
def test_cells_that_can_go_one_way_only_have_one_copy() -> None:
    """Their signs are known relative to one another. Taken for unknown on one side of a product, 30% were lost in the certificate."""
    problem = three_way(seed=3)
    lower, alone = problem.lower.copy(), np.flatnonzero(problem.sensitive)[::2]
    lower[alone] = problem.value[alone]
    cuts, copies, certified = bounds_of(replace(problem, lower=lower))
    assert copies > 1.1 * cuts
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
