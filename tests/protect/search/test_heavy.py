"""Tables whose costs lie on few cells: who works on them, and what a solver makes of the whole program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose, exact, heavy
from statveil.protect.search_state import Search
from tests.protect.problems import problem_of as small_problem
from tests.protect.search.offices import make_few_few, small_office
from tests.protect.search.stories import search_of


class Run(NamedTuple):
    search: Search
    stages: list[str]


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    """Both teams on one table, to their end."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        make_few_few(patch)
        for role in ("cases", "program"):
            stages: list[str] = []
            search = Search(small_office(), Limits(seconds=600), 0, lambda news, stages=stages: stages.append(news.stage))
            choose.run(search, role=role)
            found[role] = Run(search, stages)
    return found


@pytest.mark.slow
def test_both_teams_end_with_the_same_optimum_and_cases_prove_it(runs: dict[str, Run]) -> None:
    problem, cases, program = small_office(), runs["cases"].search, runs["program"].search
    assert problem.accepts(cases.best)
    assert problem.accepts(program.best)
    assert cases.objective == pytest.approx(program.objective, rel=1e-9)
    assert cases.proved == pytest.approx(cases.objective, rel=1e-3)
    assert program.proved < cases.proved, "a solver's bound is a claim"


@pytest.mark.slow
@pytest.mark.parametrize(("role", "own"), [("cases", "proving by cases"), ("program", "the whole program")])
def test_flips_come_before_the_team_s_own_work(runs: dict[str, Run], role: str, own: str) -> None:
    stages = runs[role].stages
    assert stages.index("all down") < stages.index("flipping senses") < stages.index(own)


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


@pytest.mark.slow
def test_senses_that_the_solver_comes_to_are_polished() -> None:
    problem = small_office()
    search, polished = search_of(problem), []
    search.try_senses(problem.all_up())
    before = search.objective
    heavy.solve_program(search, polish=polished.append)
    assert search.objective < before
    assert polished
    assert all(np.array_equal(np.abs(senses), problem.sensitive) for senses in polished)
