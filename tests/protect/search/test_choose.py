"""`auto`'s teams: a first table whatever happens, and members that take turns and rest when they bring nothing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.core.limits import Limits
from statveil.protect.bounds.copy_model import CopyModel, Worth
from statveil.protect.bounds.copy_steps import CopyNode
from statveil.protect.bounds.lifted import LiftedRoot
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose
from statveil.protect.search.local import anneal, dive, flips, ising, walk
from statveil.protect.search.papers import sat
from statveil.protect.search_state import BoundProof, Search, SearchNews
from statveil_lab.generators.random_tables import random_problem
from statveil_lab.tables import linked_problem
from tests.protect.problems import problem_of
from tests.protect.search.stories import cube, search_of


def listened(problem: ProtectionProblem, *, seconds: float = 30) -> tuple[Search, list[SearchNews]]:
    heard: list[SearchNews] = []
    return Search(problem, Limits(seconds=seconds), 0, heard.append), heard


def stages(heard: list[SearchNews]) -> list[str]:
    return list(dict.fromkeys(found.stage for found in heard))


def parts_up_total_down(*_: object, **__: object) -> IntArray:
    """Senses that no table can have."""
    return np.array([1, 1, -1])


def three_sensitive() -> ProtectionProblem:
    return problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 4, 1: 4, 2: 4})


def test_all_up_comes_before_the_search_for_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """On large tight tables the clauses may take all the time; all up takes one program."""
    monkeypatch.setattr(anneal, "anneal_senses", parts_up_total_down)
    search, heard = listened(three_sensitive())
    choose.first_table(search)
    assert stages(heard) == ["raising parts", "balancing senses", "all up", "satisfying relations"]
    assert next(found.stage for found in heard if found.deviation is not None) == "raising parts"  # at once, without a program


def test_with_a_table_known_clauses_get_few_rounds_and_no_branch_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anneal, "anneal_senses", parts_up_total_down)
    monkeypatch.setattr(sat._SenseClauses, "solve", parts_up_total_down)
    rounds: list[IntArray] = []
    monkeypatch.setattr(sat._SenseClauses, "learn", lambda self, duals, senses: rounds.append(senses))
    search, heard = listened(three_sensitive())
    choose.first_table(search)
    assert len(rounds) == choose.TUNING.few_rounds
    assert "looking for a first table" not in stages(heard)
    assert search.best is not None


def test_a_large_table_has_one_before_any_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "TUNING", choose.TUNING._replace(slow_program=1_000, crowded=20))
    problem = linked_problem(3, seed=1)
    search, heard = listened(problem)
    choose.first_table(search)
    first = next(found for found in heard if found.deviation is not None)
    assert first.stage == "raising parts"
    assert first.deviation is not None
    assert search.objective < problem.cost(first.deviation), "programs follow, and do better"


def counted(calls: Counter[str], name: str) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        calls[name] += 1

    return call


def test_dives_that_bring_nothing_sit_out_ever_more_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve idle turns: they dive in the first, the third and the seventh; walks and kicks rest in the same way."""
    calls: Counter[str] = Counter()
    monkeypatch.setattr(walk, "walk_in_rounds", counted(calls, "walks"))
    monkeypatch.setattr(ising, "polish", counted(calls, "polish"))
    monkeypatch.setattr(flips, "flip_while_better", counted(calls, "flips"))
    monkeypatch.setattr(flips, "kick", counted(calls, "kicks"))
    monkeypatch.setattr(dive, "run", counted(calls, "dives"))
    search = search_of(cube())
    search.try_senses(search.problem.all_up())
    choose.improve(search)
    assert calls == {"polish": 12, "flips": 12, "dives": 3, "walks": 3, "kicks": 3}


def test_where_starts_pay_a_turn_is_a_short_polish_and_few_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of flips and kicks took 30 of 50 s on hier16, which new starts would have made better use of."""
    asked: list[dict[str, int]] = []
    calls: Counter[str] = Counter()
    monkeypatch.setattr(walk, "walk_in_rounds", counted(Counter(), "walks"))
    monkeypatch.setattr(ising, "polish", lambda _, **settings: asked.append(settings))
    monkeypatch.setattr(flips, "flip_while_better", lambda *_, **settings: asked.append(settings))
    monkeypatch.setattr(flips, "kick", counted(calls, "kicks"))
    monkeypatch.setattr(dive, "run", counted(calls, "dives"))
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(slow_from=1))
    search = search_of(cube())
    search.try_senses(search.problem.all_up())
    choose.improve(search)
    assert asked == [{"patience": choose.TUNING.short_patience}, {"rounds": choose.TUNING.first_flips}] * 12
    assert not calls


def test_starts_pay_on_tables_of_middling_size(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cube()
    assert not choose.starts_pay(problem)
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(slow_from=problem.size))
    assert choose.starts_pay(problem)
    assert not choose.starts_pay(dataclasses.replace(problem, norm="l2")), "there is no form around the best table"
    monkeypatch.setattr(choose, "TUNING", choose.TUNING._replace(slow_program=problem.size))
    assert not choose.starts_pay(problem)


def test_dives_that_bring_something_do_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first three dives find something, one a turn; then twelve turns are idle, in three of which they dive."""
    dives: list[int] = []

    def dived(search: Search, **_: object) -> None:
        dives.append(len(dives))
        search.objective -= 1.0 if len(dives) <= 3 else 0.0

    monkeypatch.setattr(walk, "walk_in_rounds", counted(Counter(), "walks"))
    monkeypatch.setattr(ising, "polish", counted(Counter(), "polish"))
    monkeypatch.setattr(flips, "flip_while_better", counted(Counter(), "flips"))
    monkeypatch.setattr(flips, "kick", counted(Counter(), "kicks"))
    monkeypatch.setattr(dive, "run", dived)
    search = search_of(cube())
    search.try_senses(search.problem.all_up())
    choose.improve(search)
    assert len(dives) == 3 + 3


def test_squares_are_searched_by_two_teams() -> None:
    """A 5 x 5 x 5 table of 38 sensitive cells: both roles go on from the first table, and find a better one."""
    problem = dataclasses.replace(random_problem((5, 5, 5), seed=0), norm="l2")
    assert choose.roles_for(problem) == ["search", "blocks"]
    for role in choose.roles_for(problem):
        search, heard = listened(problem, seconds=600)

        def hear(found: SearchNews, search: Search = search, heard: list[SearchNews] = heard) -> None:
            heard.append(found)
            if found.deviation is not None and found.stage in ("polishing senses", "reopening neighbourhoods"):
                search.limits = Limits(seconds=1e-9)  # enough seen

        search._send = hear
        choose.run(search, role=role)
        tables = [found for found in heard if found.deviation is not None]
        assert tables[0].stage == "balancing senses"
        assert tables[-1].stage in ("polishing senses", "reopening neighbourhoods")


def test_no_tree_helps_where_only_lifting_does_and_signs_are_too_many() -> None:
    """What a bound of 112 beside cuts of 100 says, with 129 signs and with 128; beside cuts of 111 a tree of cuts may close the gap."""

    def lifted(signs: int, cuts: float) -> LiftedRoot:
        known = BoundProof(csr_matrix((0, 1)), np.zeros(0), np.zeros(1), cuts, np.zeros(0), np.zeros(0), np.zeros(0))
        model = SimpleNamespace(cells=np.arange(signs), known=known)
        return LiftedRoot(cast("CopyModel", model), cast("CopyNode", None), Worth(112.0, 112.0, 1.0, *[np.zeros(0)] * 4))

    assert choose.no_tree_helps(lifted(129, 100.0))
    assert not choose.no_tree_helps(lifted(128, 100.0))
    assert not choose.no_tree_helps(lifted(129, 111.0))
    assert not choose.no_tree_helps(None)
