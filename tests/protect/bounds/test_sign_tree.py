"""Branch and bound on relative signs: it proves what the relaxation leaves open, exactly, and nothing that is not so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.audit.certificate_checker import bound_of
from statveil.core.limits import Limits
from statveil.formats.certificate import Alike
from statveil.protect import search_state
from statveil.protect.bounds import ascent, copy_model, sign_tree
from statveil.protect.bounds.certificate import Certified
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.bounds.lifted import bound_by_copies, draw_senses
from statveil.protect.bounds.sign_tree import prove_by_signs
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose
from statveil.protect.search_state import NO_MULTIPLIERS, Search, SearchNews
from tests.protect.bounds.copies import three_way
from tests.protect.certify import certify
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost


class Proved:
    """What a tree of relative signs makes of a problem, and what the checker makes of its last proof."""

    def __init__(self, problem: ProtectionProblem, *, seconds: float = 120) -> None:
        heard: list[SearchNews] = []
        self.reduction = reduce_problem(problem)
        self.search = Search(self.reduction.problem, Limits(seconds=seconds), 0, heard.append)
        choose.first_table(self.search)
        bound_by_cuts(self.search)
        lifted = bound_by_copies(self.search)
        self.root = self.search.proved
        if lifted is not None:
            draw_senses(self.search, lifted)
            prove_by_signs(self.search, lifted)
        self.proof = [NO_MULTIPLIERS, *(found.proof for found in heard if found.proof is not None)][-1]

    def certified(self, worth: float) -> Certified | None:
        return certify(self.reduction, self.proof, worth)


def pentagon() -> ProtectionProblem:
    """Five cells in a ring, each of level 4, any two neighbours in a relation with a cell that takes what they leave: an odd ring has two
    neighbours that move alike, so 5 times 4 and once 8. Bounds by one relation see nothing of it.
    """
    relations = np.zeros((5, 10), dtype=np.int64)
    for side in range(5):
        relations[side, [side, (side + 1) % 5, 5 + side]] = 1
    return problem_of([50] * 10, relations, levels=dict.fromkeys(range(5), 4), rhs=np.full(5, 150))


@pytest.mark.slow
def test_an_odd_ring_of_signs_is_proved() -> None:
    proved = Proved(pentagon())
    assert proved.search.objective == cheapest_cost(pentagon()) == 28
    assert proved.search.proved == 28
    certified = proved.certified(28)
    assert certified is not None
    assert certified.bound == 28
    assert bound_of(pentagon(), certified.certificate) == 28


@pytest.mark.slow
def test_a_three_way_table_is_proved_by_pairs_of_signs() -> None:
    proved = Proved(three_way())
    assert proved.root < proved.search.proved == proved.search.objective
    assert isinstance(proved.proof, Alike)
    certified = proved.certified(proved.search.objective + proved.reduction.fixed_cost)
    assert certified is not None
    assert certified.bound == proved.search.objective + proved.reduction.fixed_cost


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"steps": 1, "most": 1}, {"steps": 20, "most": 1}])
def test_few_steps_a_node_lead_down_to_settled_senses(monkeypatch: pytest.MonkeyPatch, changes: dict[str, int]) -> None:
    """The tree then ends in programs with all senses settled, and in cases of whole amounts."""
    monkeypatch.setattr(ascent, "TUNING", ascent.TUNING._replace(**changes))
    monkeypatch.setattr(copy_model, "TUNING", copy_model.TUNING._replace(coarse=6))
    proved = Proved(pentagon())
    certified = proved.certified(28)
    assert certified is not None
    assert certified.bound == 28


@pytest.mark.slow
@given(small_problems(additive=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_never_above_the_best_there_is(problem: ProtectionProblem) -> None:
    if not reduce_problem(problem).feasible or (best := cheapest_cost(problem)) == float("inf") or best == 0:
        return
    proved = Proved(problem, seconds=20)
    certified = proved.certified(best + 1)
    assert certified is not None
    assert certified.bound <= best * (1 + 1e-9)
    assert proved.search.proved <= best * (1 + 1e-6)


def test_what_memory_holds_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_tree, "TUNING", sign_tree.TUNING._replace(most_bytes=0))
    proved = Proved(three_way())
    assert proved.root <= proved.search.proved < proved.root + 1  # costs are whole


def test_too_many_signs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_tree, "SIGN_TREES", sign_tree.SIGN_TREES._replace(most_copies=3))
    proved = Proved(replace(three_way()))
    assert proved.search.stage != "proving by relative signs"


def test_what_could_not_be_checked_in_time_is_not_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaf that would take the checker all day: the root's bound remains."""
    monkeypatch.setattr(search_state, "CHECK_TIME", search_state.CHECK_TIME._replace(leaf_per_entry=1e4))
    proved = Proved(three_way())
    assert not isinstance(proved.proof, Alike)
    assert proved.root <= proved.search.proved < proved.root + 1  # costs are whole
