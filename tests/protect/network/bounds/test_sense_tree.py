"""Cases of senses raise the bound of the coarse table, never past the optimum, and the checker finds the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from statveil.core.limits import Limits
from statveil.protect.network.bounds.capacity_bound import CoarseBound
from statveil.protect.network.bounds.cover_bound import dual_bound, least_imbalance, shortages
from statveil.protect.network.bounds.sense_tree import SenseTree, settled
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Proof, Search, SearchNews, leaves_of
from tests.protect.certify import certify
from tests.protect.network.bounds.covered import RELAXED, network_of, open_somewhere
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of
from tests.reference.cta import cheapest_cost


class Watch:
    """A search that keeps the last proof it was offered."""

    def __init__(self, problem: ProtectionProblem, worth: float) -> None:
        self.proof: Proof | None = None
        self.search = Search(problem, Limits(seconds=600), 0, self._hear)
        self.search.objective = worth

    def _hear(self, news: SearchNews) -> None:
        self.proof = news.proof if news.proof is not None else self.proof


def grown(problem: ProtectionProblem, worth: float) -> tuple[float, Watch]:
    """What the coarse table proves alone, and a search whose bound a tree has raised as far as it goes."""
    coarse, shortage, watch = Coarsening(problem, network_of(problem)), shortages(problem), Watch(problem, worth)
    bound = CoarseBound(coarse, shortage)
    multipliers = bound.multipliers(seconds=60)
    alone = 0.0 if multipliers is None else dual_bound(problem, multipliers, shortage, worth=worth)
    SenseTree(watch.search, bound.by_cases(), shortage).run(seconds=600)
    return alone, watch


def test_what_totals_may_not_do_by_halves() -> None:
    """Half a level up and half a level down moves nothing on the whole; one of them does, and takes other cells along."""
    problem = small_hierarchy(levels={3: 7, 4: 5, 6: 6, 1: 9})
    best = cheapest_cost(problem)
    alone, watch = grown(problem, best + 1)
    assert alone + 0.5 < watch.search.proved <= best + 1e-6


def test_the_checker_finds_what_the_cases_prove() -> None:
    problem = small_hierarchy(levels={3: 7, 4: 5, 6: 6, 1: 9})
    reduction, best = reduce_problem(problem), cheapest_cost(problem)
    _, watch = grown(reduction.problem, best)
    assert watch.proof is not None
    assert len(leaves_of(watch.proof)) > 1
    certified = certify(reduction, watch.proof, best)
    assert certified is not None
    assert certified.bound >= watch.search.proved - 1e-6


@pytest.mark.slow
@RELAXED
@given(problem=small_hierarchies())
def test_cases_stay_below_the_optimum(problem: ProtectionProblem) -> None:
    totals = Coarsening(problem, network_of(problem)).totals
    if not (open_somewhere(problem) and (problem.sensitive & totals).any()):
        return
    best = cheapest_cost(problem)
    alone, watch = grown(problem, best + 1.0 if np.isfinite(best) else 1e6)
    assert watch.search.proved <= best + 1e-6
    assert watch.search.proved >= min(alone, best) - 1e-6


def test_a_settled_sense_closes_the_other() -> None:
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: (4, 6), 1: (3, 3)})
    one = settled(problem, {0: 1, 1: -1})
    assert one.can_go_up.tolist() == [True, False, False]
    assert one.can_go_down.tolist() == [False, True, False]
    assert settled(problem, {}) is problem


def test_settled_senses_leave_a_larger_imbalance() -> None:
    """4 and 3 leave 1 if one rises and the other falls, 7 if both rise."""
    problem = problem_of([50, 50, 100], [[1, 1, -1]], levels={0: 4, 1: 3})
    assert least_imbalance(problem, 0) == 1
    assert least_imbalance(settled(problem, {0: 1}), 0) == 1
    assert least_imbalance(settled(problem, {0: 1, 1: 1}), 0) == 7


def test_an_impossible_case_is_no_obstacle() -> None:
    """The first column's total may not rise, so its two inner rows cannot both: that case is shown to be impossible, by a ray."""
    first = np.arange(24) == 0
    problem = small_hierarchy(levels={3: 7, 6: 6}, upper=np.where(first, 250, 10**6))
    assert problem.value[0] == 250
    both = settled(problem, {3: 1, 6: 1})
    assert cheapest_cost(both) == np.inf
    best = cheapest_cost(problem)
    _, watch = grown(problem, best + 1)
    assert watch.search.proved == pytest.approx(best)
