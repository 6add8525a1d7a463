"""The Ising form: the same over relations and over parts; and a polish that gives up where its starts bring nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from statveil.core.arrays import IntArray
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import parts_of
from statveil.protect.search.local import ising
from statveil_lab.tables import linked_problem
from tests.protect.problems import problem_of
from tests.protect.search.stories import search_of, two_by_two


@pytest.mark.parametrize("seed", range(3))
def test_over_parts_the_form_is_that_over_relations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 169 linked cells without those that cannot move: some 120 cells and 20 parts."""
    problem = reduce_problem(linked_problem(2, seed=seed)).problem
    parts = parts_of(problem)
    assert parts is not None
    over_relations = ising.ising_form(problem)
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(dense_up_to=parts.part.size))
    monkeypatch.setattr(ising, "_form_by_relations", None)
    over_parts = ising.ising_form(problem, parts)
    assert np.abs(over_parts.couple - over_relations.couple).max() < 1e-6
    assert np.abs(over_parts.field - over_relations.field).max() < 1e-6


@pytest.mark.parametrize(
    "problem",
    [dataclasses.replace(reduce_problem(linked_problem(2, seed=0)).problem, variant="exact"), linked_problem(2, seed=0)],
    ids=["sensitive cells take just their level", "zeros cannot move"],
)
def test_where_some_cells_absorb_nothing_the_form_is_over_relations(problem: ProtectionProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of(problem)
    assert parts is not None
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(dense_up_to=parts.part.size))
    monkeypatch.setattr(ising, "_form_by_parts", None)
    assert ising.ising_form(problem, parts).cells.size == problem.sensitive.sum()


def test_energy_is_the_least_square_cost_of_absorbing() -> None:
    """Two cells of level 5 and their total: opposite senses leave nothing to absorb; alike, 10 fall on three cells, 100/3 in squares."""
    form = ising.ising_form(problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 5, 1: 5}))
    assert form.energy(np.array([1, -1, 0])) == pytest.approx(0.0, abs=1e-6)
    assert form.energy(np.array([1, 1, 0])) == pytest.approx(form.energy(np.array([-1, -1, 0])))
    assert form.energy(np.array([1, 1, 0])) > 1.0


def test_where_starts_bring_nothing_the_tries_soon_end(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(two_by_two())
    search.try_senses(search.problem.all_up())
    tried: list[IntArray] = []

    def in_vain(senses: IntArray) -> bool:
        tried.append(senses)
        return False

    monkeypatch.setattr(search, "try_senses", in_vain)
    ising.polish(search, restarts=24, patience=150)
    assert len(tried) <= ising.TUNING.starts_in_vain + 150 // ising.TUNING.hopeless


def test_senses_are_priced_once_near_the_best_table(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(two_by_two())
    search.try_senses(search.problem.all_up())
    near: list[bytes] = []
    monkeypatch.setattr(search, "try_senses", lambda senses: near.append(senses.tobytes()) or False)
    ising.polish(search, restarts=0, patience=150)
    assert 0 < len(near) == len(set(near))


def test_around_a_table_cells_that_move_already_absorb_more() -> None:
    """Two sums of two, levels 5. The first moves by 50, 45 more than it must, against 50: with 5 to soften, 50 + 55; the other just by 5,
    against 5: 5 + 10. An imbalance in the first costs 15/105 of the same in the other."""
    problem = problem_of([100] * 4, [[1, 1, 0, 0], [0, 0, 1, 1]], levels={0: 5, 2: 5}, rhs=np.array([200, 200]))
    plain, around = ising.ising_form(problem), ising.form_around(problem, np.array([50, -50, 5, -5]))
    assert plain.couple[0, 0] == pytest.approx(plain.couple[1, 1])
    assert around.couple[0, 0] / around.couple[1, 1] == pytest.approx(15 / 105, rel=1e-6)


def test_tries_near_the_best_table_bring_it_down() -> None:
    search = search_of(reduce_problem(linked_problem(2, seed=0)).problem)
    search.try_senses(search.problem.all_up())
    before = search.objective
    ising.polish(search, restarts=0, patience=50)
    assert search.objective < before


def test_where_starts_bring_nothing_on_a_slow_table_tries_go_on_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a best table told to be so cheap that no start comes up to it, what new starts lead to is met all the same."""
    search = search_of(reduce_problem(linked_problem(2, seed=0)).problem)
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(slow_from=1))
    search.try_senses(search.problem.all_up())
    all_up, search.objective = search.objective, 1.0
    heard: list[IntArray] = []
    monkeypatch.setattr(search, "offer", lambda deviation: heard.append(deviation) or False)
    ising.polish(search, restarts=24, patience=50)
    met = [search.problem.cost(deviation) for deviation in heard if deviation is not None]
    assert met == sorted(met, reverse=True)
    assert met[-1] < all_up
