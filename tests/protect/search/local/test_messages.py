"""Messages: exact where relations form a tree, the same for the same seed, and ahead of annealing in three dimensions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.local import anneal, ising, messages
from statveil_lab.generators.random_tables import random_problem
from tests.protect.problems import problem_of, small_problems
from tests.protect.search.stories import five_in_a_row, search_of, two_by_two
from tests.reference.cta import all_senses, cheapest_cost


def imbalance(problem: ProtectionProblem, senses: np.ndarray) -> np.ndarray:
    level = np.where(senses > 0, problem.upper_level, -problem.lower_level) * problem.sensitive
    return np.asarray(problem.residual - problem.relations @ level)


def two_rows_with_a_common_cell() -> ProtectionProblem:
    """Cells 0, 1, 2 and their total; cells 2, 3 and theirs. Five sensitive levels but for the totals', one of them lopsided: a tree."""
    relations = [[1, 1, 1, 0, -1, 0], [0, 0, 1, 1, 0, -1]]
    return problem_of([90, 80, 70, 60, 240, 130], relations, levels={0: 9, 1: 4, 2: (3, 7), 3: 6})


def leanings_by_counting(graph: messages.FactorGraph) -> np.ndarray:
    """Slow: the weights of all senses of all cells, and from them how much each cell leans."""
    up, down = np.zeros(graph.choice.size), np.zeros(graph.choice.size)
    for signs in itertools.product((-1.0, 1.0), repeat=graph.choice.size):
        s = np.array(signs)
        left = [
            graph.offset[j] + graph.halves[a:b] @ s[graph.members[a:b]]
            for j, (a, b) in enumerate(itertools.pairwise(graph.starts.tolist()))
        ]
        weight = np.exp(-(np.abs(left) ** 1.5).sum() + graph.leaning @ s)
        up, down = up + weight * (s > 0), down + weight * (s < 0)
    return np.asarray(0.5 * np.log(up / down))


def test_where_relations_form_a_tree_cells_lean_as_all_combinations_together_would_have_it() -> None:
    graph = messages.graph_of(two_rows_with_a_common_cell())
    leaning, heard = np.full(graph.choice.size, 0.01), np.zeros(graph.members.size)
    for _ in range(5):
        messages._pass(graph, leaning, heard, 0, 0)
    assert np.abs(leaning).max() > 0.05, "the lopsided cell breaks the tie"
    assert leaning == pytest.approx(leanings_by_counting(graph), rel=0.01)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(problem=small_problems(additive=False))
def test_offset_and_halves_give_the_imbalance_that_any_senses_leave(problem: ProtectionProblem) -> None:
    """Whatever the levels, the caps and the cells that have no choice; in units of T, with the price of each relation."""
    graph = messages.graph_of(problem)
    prices, forced = anneal.relation_prices(problem), problem.all_up()
    scale = None
    for chosen in all_senses(problem):
        senses = forced.copy()
        senses[graph.choice] = chosen[graph.choice]
        sums = graph.offset.copy()
        np.add.at(sums, np.repeat(np.arange(graph.offset.size), np.diff(graph.starts)), graph.halves * senses[graph.choice][graph.members])
        left = -prices * imbalance(problem, senses)
        scale = scale if scale is not None else next((a / b for a, b in zip(sums, left, strict=True) if abs(b) > 1e-9), None)
        assert sums == pytest.approx(left * (scale or 0.0), abs=1e-9)


@pytest.mark.parametrize("problem", [two_by_two(), five_in_a_row()], ids=["two by two", "five in a row"])
def test_small_tables_get_their_best_senses_from_some_beginning(problem: ProtectionProblem) -> None:
    search = search_of(problem)
    messages.run(search)
    assert search.objective == cheapest_cost(problem)


def test_the_same_seed_brings_the_same_senses_and_another_one_others() -> None:
    problem = random_problem((8, 8, 8), seed=1)
    first, again, other = (messages.settled_senses(search_of(problem, seed=seed)) for seed in (3, 3, 4))
    assert first is not None
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_in_three_dimensions_messages_leave_less_than_annealing(seed: int) -> None:
    """20 x 20 x 20, 2,400 sensitive, the better of two: eight times the sweeps of a first table still leave some 5% more."""
    problem = random_problem((20, 20, 20), seed=seed)
    assert messages.pays(problem)
    settled = [messages.settled_senses(search_of(problem, seed=again)) for again in range(2)]
    annealed = [anneal.anneal_senses(search_of(problem, seed=again), sweeps=3_200) for again in range(2)]
    left = min(np.abs(imbalance(problem, senses)).sum() for senses in settled if senses is not None)
    assert left < min(np.abs(imbalance(problem, senses)).sum() for senses in annealed)


def test_where_messages_do_not_settle_senses_are_annealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "TUNING", messages.TUNING._replace(most_rounds=0))
    search = search_of(two_by_two())
    messages.run(search)
    assert search.best is not None
    assert search.problem.accepts(search.best)


def test_polish_starts_from_messages_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(messages, "settled_senses", asked.append)
    monkeypatch.setattr(ising, "TUNING", ising.TUNING._replace(sweeps_balance=1))
    monkeypatch.setattr(messages, "TUNING", messages.TUNING._replace(least_choices=5))
    few, many = random_problem((3, 3, 3), seed=0), random_problem((20, 20), seed=0)
    assert (messages.pays(few), messages.pays(many)) == (False, False), "below one choice for each relation, and above two and a half"
    ising.polish(search_of(many), restarts=2, patience=1)
    assert not asked
    ising.polish(search_of(random_problem((6, 6, 6), seed=0, sensitive=0.6)), restarts=2, patience=1)
    assert len(asked) == 1, "every other start; the rest are from chance"


def test_relations_with_too_many_choices_are_refused() -> None:
    long = problem_of([50] * 17 + [850], [[1] * 17 + [-1]], levels=dict.fromkeys(range(17), 5))
    with pytest.raises(InputError, match="at most 16 sensitive cells"):
        messages.run(search_of(long))


def test_without_choices_the_only_senses_are_tried() -> None:
    search = search_of(problem_of([0, 50, 50], [[1, 1, -1]], levels={0: 5}))
    messages.run(search)
    assert search.objective == 10.0
