"""The bound of a network climbs from stage to stage and never passes the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.limits import Limits
from statveil.protect.network.bounds import TUNING, lower_bound, sense_tree
from statveil.protect.network.bounds.lower_bound import LowerBound
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.search_state import Search
from tests.protect.network.bounds.covered import network_of
from tests.protect.network.tables import small_hierarchy
from tests.protect.problems import problem_of, two_way_relations
from tests.reference.cta import cheapest_cost


def bound_of(search: Search) -> LowerBound:
    network = network_of(search.problem)
    return LowerBound(search, network, Coarsening(search.problem, network))


@pytest.fixture
def search() -> Search:
    """2 x 2 cells of 50, the first sensitive at level 4: it and three others move by 4, whichever way."""
    problem = problem_of([50, 50, 100, 50, 50, 100, 100, 100, 200], two_way_relations(2, 2), levels={0: 4})
    assert cheapest_cost(problem) == 16
    return Search(problem, Limits(seconds=600), 0, lambda news: None)


def test_the_cover_counts_what_each_line_must_take_up(search: Search) -> None:
    bound = bound_of(search)
    bound.by_cover()
    assert 4 < search.proved <= 16 + 1e-9  # the cell alone is 4


def test_further_stages_bring_no_less(search: Search) -> None:
    bound = bound_of(search)
    bound.by_cover()
    first = search.proved
    assert search.try_senses(search.problem.all_up())
    assert search.objective == 16
    bound.raise_further()
    assert first <= search.proved <= 16 + 1e-9


def test_where_nothing_is_known_every_subtable_is_far(search: Search) -> None:
    far = bound_of(search).far()
    assert far[:-1].all()
    assert not far[-1]  # the ground is no subtable


def test_relations_of_subtables_are_those_of_the_problem(search: Search) -> None:
    bound = bound_of(search)
    assert bound.relations_of(np.unique(bound.network.subtable)).tolist() == sorted(
        set(bound.network.relation[bound.network.relation >= 0])
    )


def stages_of(monkeypatch: pytest.MonkeyPatch, least_rise: float) -> list[str]:
    """The stages that the bound of a table with open totals goes through, told from the first to the last."""
    problem = small_hierarchy(levels={3: 7, 4: 5, 6: 6, 1: 9})
    told: list[str] = []
    search = Search(problem, Limits(seconds=600), 0, lambda news: told.append(news.stage))
    assert search.try_senses(problem.all_up())
    monkeypatch.setattr(lower_bound, "TUNING", TUNING._replace(whole_block=0))
    monkeypatch.setattr(sense_tree, "TUNING", TUNING._replace(least_rise=least_rise))
    bound = bound_of(search)
    bound.by_cover()
    bound.raise_further()
    assert search.proved <= cheapest_cost(problem) + 1e-6
    return list(dict.fromkeys(told))


def test_cases_that_pay_go_on_and_others_give_way_to_capacities(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stages_of(monkeypatch, least_rise=0.0)[-1] == "bounding by cases"
    assert stages_of(monkeypatch, least_rise=2.0)[-1] == "bounding with capacities"
