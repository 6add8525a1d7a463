"""Tables whose costs lie on few cells: who works on them, and what a solver makes of the whole program."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.protect.bounds import branch_and_bound
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose, exact, heavy
from statveil.protect.search_state import Search
from statveil.protect.system import problem_of
from statveil_lab.generators.office import OfficeShape, office_system
from tests.protect.problems import problem_of as small_problem
from tests.protect.search.stories import search_of


@pytest.fixture
def few_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large and many here is small enough for a test."""
    monkeypatch.setattr(choose, "TUNING", choose.TUNING._replace(dear_choices=12, cells_of_dear=(50, 60_000)))
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_cells=50))


def small_office(seed: int = 4) -> ProtectionProblem:
    system = office_system(OfficeShape(codes=(16, 20), inner=(4, 6), sensitive=15), seed=seed)
    return reduce_problem(problem_of(system)).problem


@pytest.mark.usefixtures("few_are_few")
def test_an_offices_table_goes_to_the_teams_for_dear_cells_and_one_of_equal_costs_does_not() -> None:
    problem = small_office()
    assert problem.choices.size > 12
    assert choose.roles_for(problem) == ["cases", "program"]
    assert branch_and_bound.fits(problem)
    even = dataclasses.replace(problem, weight=1 / np.maximum(problem.upper_level, 1.0))
    assert not choose.costs_on_few(even)
    assert choose.roles_for(even) != ["cases", "program"]


@pytest.mark.usefixtures("few_are_few")
def test_both_teams_end_with_the_same_optimum_and_cases_prove_it() -> None:
    problem, found = small_office(), {}
    for role in ("cases", "program"):
        found[role] = search_of(problem)
        choose.run(found[role], role=role)
    cases, program = found["cases"], found["program"]
    assert problem.accepts(program.best)
    assert cases.objective == pytest.approx(program.objective, rel=1e-9)
    assert cases.proved == pytest.approx(cases.objective, rel=1e-3)
    assert program.proved < cases.proved, "a solver's bound is a claim"


@pytest.mark.usefixtures("few_are_few")
@pytest.mark.parametrize(("role", "own"), [("cases", "proving by cases"), ("program", "the whole program")])
def test_flips_come_before_the_team_s_own_work(role: str, own: str) -> None:
    heard: list[str] = []
    search = Search(small_office(), Limits(seconds=60), 0, lambda news: heard.append(news.stage))
    choose.run(search, role=role)
    stages = list(dict.fromkeys(heard))
    assert stages.index("flipping senses") < stages.index(own)


def far_reaching() -> ProtectionProblem:
    """A cell of next to no cost beside one that costs 10^16: going as far as that allows, it would pass all numbers a solver takes."""
    levels = {0: 10**6, 1: 2, 3: 2}
    weight = np.array([1e10, 1e-3, 1e-3, 1e-3, 1.0, 1.0, 1.0])
    value = [2 * 10**7, 20, 30, 40, 2 * 10**7 + 20, 70, 2 * 10**7 + 90]
    return small_problem(value, [[1, 1, 0, 0, -1, 0, 0], [0, 0, 1, 1, 0, -1, 0], [0, 0, 0, 0, 1, 1, -1]], levels=levels, weight=weight)


def test_a_reach_beyond_all_that_is_forced_is_cut_and_then_nothing_is_claimed() -> None:
    """HiGHS refused the program: a switch of 10^15 and more."""
    search = search_of(far_reaching())
    search.try_senses(far_reaching().all_up())
    program = exact.Disjunctions(search)
    assert program.truncated
    assert abs(program.model.matrix).max() < 1e15
    before = search.objective
    heavy.solve_program(search)
    assert search.objective <= before
    assert search.bound == 0
