"""Single respondents kept apart: pairs that clash by hand and by brute force, and tables that have none left."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.core.errors import OutOfTime, SolverFailed
from statveil.core.limits import Ending
from statveil.protect import singletons
from statveil.protect.adjustment import Adjustment
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.singletons import Singletons, cheapest, keep_apart, undrawn_cost, with_pairs
from tests.protect.problems import problem_of, two_way_relations, with_margins

TENTH = Fraction(1, 10)
ONE_SUM = [[1, 1, 1, -1]]


def all_single(value: Any, *cells: int, near: Fraction = TENTH) -> Singletons:
    value = np.array(value, dtype=np.int64)
    single = np.zeros(value.size, dtype=np.bool_)
    single[list(cells)] = True
    return Singletons(single=single, value=value, near=near)


def found_of(problem: ProtectionProblem, deviation: Any, *, certified: float = 0.0) -> Adjustment:
    deviation = np.array(deviation, dtype=np.int64)
    assert problem.accepts(deviation)
    words: dict[str, Any] = {"ending": Ending.OPTIMAL, "trace": (), "method": "walk", "seed": 0, "seconds": 1.0}
    bounds: dict[str, Any] = {"bound": certified, "bound_by": "cuts", "certified_bound": certified}
    return Adjustment(deviation=deviation, senses=problem.senses_of(deviation), objective=problem.cost(deviation), **bounds, **words)


# Pairs that clash.


def test_two_that_move_opposite_ways_by_nearly_as_much_clash() -> None:
    story = all_single([100, 80, 500, 680], 0, 1)
    relations = csr_matrix(ONE_SUM)
    assert story.clashes(relations, np.array([30, -21, 0, 9])).tolist() == [[0, 1]]  # 9 is less than a tenth of 100
    assert story.clashes(relations, np.array([30, -20, 0, 10])).tolist() == []
    assert story.clashes(relations, np.array([-30, 39, 0, 9])).tolist() == [[0, 1]]
    assert story.clashes(relations, np.array([30, 30, 0, 60])).tolist() == []
    assert story.clashes(relations, np.array([0, 9, 0, 9])).tolist() == [[0, 1]]  # who has not moved knows of the other by the sum


def test_only_single_respondents_in_one_sum_clash() -> None:
    relations = csr_matrix([[1, 1, 0, 0, -1, 0], [0, 0, 1, 1, 0, -1]])
    deviation, value = np.array([5, -5, 5, -5, 0, 0]), [50, 50, 50, 50, 100, 100]
    assert all_single(value, 0, 1, 2, 3).clashes(relations, deviation).tolist() == [[0, 1], [2, 3]]
    assert all_single(value, 0, 3).clashes(relations, deviation).tolist() == []  # no sum has both
    assert all_single(value, 1, 4).clashes(relations, deviation).tolist() == []  # a total is no part of its own sum


def test_a_pair_in_two_sums_is_told_once() -> None:
    relations = csr_matrix([[1, 1, -1, 0], [1, 1, 0, -1]])
    assert all_single([50, 50, 100, 100], 0, 1).clashes(relations, np.array([5, -5, 0, 0])).tolist() == [[0, 1]]


def test_the_level_of_a_pair_is_the_share_of_the_larger_rounded_up() -> None:
    story = all_single([101, 80, -205, 3 * 2**51], 0, near=Fraction(1, 8))
    first, second = np.array([0, 1, 0, 3]), np.array([1, 0, 2, 0])
    assert story.levels(first, second).tolist() == [13, 13, 26, 3 * 2**48]


@given(
    value=st.lists(st.integers(-5, 60), min_size=9, max_size=9),
    deviation=st.lists(st.integers(-8, 8), min_size=16, max_size=16),
    single=st.sets(st.integers(0, 15)),
    p=st.sampled_from([5, 10, 33]),
    block=st.sampled_from([1, 2, 2000]),
)
def test_clashes_are_those_of_brute_force(value: list[int], deviation: list[int], single: set[int], p: int, block: int) -> None:
    cells = with_margins(np.array(value).reshape(3, 3)).ravel()
    relations, near = two_way_relations(3, 3), Fraction(p, 100)
    expected = [
        [i, j]
        for i in sorted(single)
        for j in sorted(single)
        if i < j
        and any(row[i] > 0 and row[j] > 0 for row in relations)
        and abs(deviation[i] + deviation[j]) < near * max(abs(int(cells[i])), abs(int(cells[j])))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(singletons, "TUNING", singletons.TUNING._replace(block=block))
        assert all_single(cells, *single, near=near).clashes(csr_matrix(relations), np.array(deviation)).tolist() == expected


# Pairs as cells.


def test_a_pair_is_a_further_cell_that_must_move_by_its_level() -> None:
    problem = problem_of([100, 80, 500, 680], ONE_SUM, levels={0: 20, 1: 20})
    larger = with_pairs(problem, np.array([[0, 1]]), np.array([10]))
    assert larger.value.tolist() == [100, 80, 500, 680, 180]
    assert larger.relations.toarray().tolist() == [[1, 1, 1, -1, 0], [1, 1, 0, 0, -1]]
    assert larger.accepts(np.array([30, -20, 0, 10, 10]))
    assert not larger.accepts(np.array([25, -20, 0, 5, 5]))
    assert larger.weight[-1] < 1e-5
    assert larger.lower[-1] == -NO_LIMIT


# Tables without clashes.


def pair_story(**changes: Any) -> ProtectionProblem:
    """Two single respondents of 100 and 80 that must move by 20 each, and a large cell: cheapest is one up, one down."""
    return problem_of([100, 80, 500, 680], ONE_SUM, levels={0: 20, 1: 20}, **changes)


SINGLES = all_single([100, 80, 500, 680], 0, 1)


@pytest.mark.slow
def test_a_clash_is_resolved_at_the_same_senses_and_costs_no_more_than_it_must() -> None:
    problem = pair_story()
    apart = keep_apart(problem, found_of(problem, [20, -20, 0, 0], certified=40.0), SINGLES, seconds=60)
    assert problem.accepts(apart.deviation)
    assert apart.senses.tolist() == [1, -1, 0, 0]
    assert sorted(np.abs(apart.deviation).tolist()) == [0, 10, 20, 30]  # one moves by 10 more, and so does another cell
    assert apart.objective == problem.cost(apart.deviation) == 60
    assert (apart.certified_bound, apart.bound) == (40.0, 40.0)
    assert apart.ending is Ending.FEASIBLE  # 40 is proved, 60 was found


@pytest.mark.slow
def test_a_cell_that_stands_out_goes_further_up() -> None:
    """Both go up by 20, which no pair minds; the first must go up by 35 at least so that it is no smaller than what is around it."""
    problem = pair_story()
    found = found_of(problem, [20, 20, -40, 0])
    none = np.zeros(4, dtype=np.int64)
    higher = keep_apart(problem, found, SINGLES, seconds=60, further=lambda _: (none, np.array([35, 0, 0, 0])))
    assert higher.deviation[0] >= 35
    assert problem.accepts(higher.deviation)
    assert keep_apart(problem, found, SINGLES, seconds=60, further=lambda _: (none, none)) is found


@pytest.mark.slow
def test_a_cell_that_must_fall_further_does() -> None:
    problem = pair_story()
    none = np.zeros(4, dtype=np.int64)
    lower = keep_apart(
        problem, found_of(problem, [-20, -20, 40, 0]), SINGLES, seconds=60, further=lambda _: (np.array([35, 0, 0, 0]), none)
    )
    assert lower.deviation[0] <= -35
    assert problem.accepts(lower.deviation)


@pytest.mark.slow
def test_a_bound_that_the_new_table_still_meets_still_proves_it() -> None:
    problem = pair_story()
    apart = keep_apart(problem, found_of(problem, [20, -20, 0, 0], certified=60.0), SINGLES, seconds=60)
    assert apart.ending is Ending.OPTIMAL


def test_without_a_clash_without_time_and_at_exact_amounts_nothing_is_changed() -> None:
    problem = pair_story()
    fine, clashing = found_of(problem, [30, -20, -10, 0]), found_of(problem, [20, -20, 0, 0])
    assert keep_apart(problem, fine, SINGLES, seconds=60) is fine
    assert keep_apart(problem, clashing, SINGLES, seconds=0) is clashing
    exact = pair_story(variant="exact")
    assert keep_apart(exact, clashing, SINGLES, seconds=60) is clashing


@pytest.mark.slow
def test_where_the_senses_leave_no_room_others_are_searched_for() -> None:
    reach = {"lower": np.array([80, 60, 460, 600]), "upper": np.array([120, 100, 540, 700])}
    problem = pair_story(**reach)  # one up and one down can only be 20 and -20
    apart = keep_apart(problem, found_of(problem, [20, -20, 0, 0]), SINGLES, seconds=60)
    assert problem.accepts(apart.deviation)
    assert apart.senses.tolist() in ([1, 1, 0, 0], [-1, -1, 0, 0])
    assert SINGLES.clashes(problem.relations, apart.deviation).size == 0


@pytest.mark.slow
def test_where_no_table_keeps_them_apart_the_old_one_stays() -> None:
    reach = {"lower": np.array([80, 60, 500, 680]), "upper": np.array([120, 100, 500, 680])}
    problem = pair_story(**reach)
    found = found_of(problem, [20, -20, 0, 0])
    assert keep_apart(problem, found, SINGLES, seconds=60) is found


@pytest.mark.slow
def test_rounds_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singletons, "TUNING", singletons.TUNING._replace(rounds=0))
    problem = pair_story()
    found = found_of(problem, [20, -20, 0, 0])
    assert keep_apart(problem, found, SINGLES, seconds=60) is found


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(4))
def test_small_tables_have_no_clash_left(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    value = with_margins(rng.integers(20, 200, (3, 4))).ravel()
    single = rng.choice([0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13], 6, replace=False)
    problem = problem_of(value, two_way_relations(3, 4), levels={int(i): int(value[i] // 5) for i in single}, norm=norm)
    deviation = cheapest(problem, np.where(problem.sensitive, rng.choice([-1, 1], problem.size), 0), seconds=60)
    assert deviation is not None
    story = all_single(value, *single.tolist(), near=Fraction(1, 4))
    found = found_of(problem, deviation)
    apart = keep_apart(problem, found, story, seconds=120)
    assert problem.accepts(apart.deviation)
    assert story.clashes(problem.relations, apart.deviation).size == 0
    assert apart.senses.tolist() == problem.senses_of(apart.deviation).tolist()
    assert apart.objective == pytest.approx(problem.cost(apart.deviation))


# A cheapest table with given senses.


@pytest.mark.slow
def test_the_cheapest_table_has_the_senses_asked_for() -> None:
    problem = pair_story()
    deviation = cheapest(problem, np.array([1, 1, 0, 0]), seconds=60)
    assert deviation is not None
    assert deviation[:2].tolist() == [20, 20]
    assert problem.cost(deviation) == 80


@pytest.mark.slow
def test_senses_that_no_table_has_give_none() -> None:
    narrow = pair_story(lower=np.array([80, 60, 500, 680]), upper=np.array([120, 100, 500, 680]))
    assert cheapest(narrow, np.array([1, 1, 0, 0]), seconds=60) is None


def test_a_solver_that_dies_and_a_table_that_is_none_count_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, senses = pair_story(), np.array([1, -1, 0, 0])

    def dies(*_: Any, **__: Any) -> NoReturn:
        raise SolverFailed("The solver gave no answer.")

    def sends(*answers: Any) -> Any:
        return lambda _calls, *, seconds, on_message: [on_message(each) for each in answers]

    monkeypatch.setattr(singletons, "run_isolated", dies)
    assert cheapest(problem, senses, seconds=60) is None
    monkeypatch.setattr(singletons, "run_isolated", sends(None, np.array([20, -20, 0, 1]), np.array([1, -1, 0, 0])))
    assert cheapest(problem, senses, seconds=60) is None
    monkeypatch.setattr(singletons, "run_isolated", sends(None, np.array([21, -20, 0, 1])))
    assert np.array_equal(cheapest(problem, senses, seconds=60), [21, -20, 0, 1])


def test_a_child_sends_what_it_finds() -> None:
    sent: list[Any] = []
    singletons._cheapest(pair_story(), np.array([1, 1, 0, 0]), 60.0, sent.append)
    assert sent[0][:2].tolist() == [20, 20]


def test_a_search_that_finds_nothing_leaves_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, **__: Any) -> NoReturn:
        raise OutOfTime("Too late.")

    problem = pair_story()
    found = found_of(problem, [20, -20, 0, 0])
    monkeypatch.setattr(singletons, "cheapest", lambda *_, **__: None)
    monkeypatch.setattr(singletons, "adjust_problem", late)
    assert keep_apart(problem, found, SINGLES, seconds=60) is found


# What drawing costs.


@pytest.mark.slow
def test_the_cost_of_the_same_senses_at_the_rules_own_levels() -> None:
    plain = problem_of([100, 80, 500, 680], ONE_SUM, levels={0: 10, 1: 10}, weight=np.full(4, 9.0))
    drawn = pair_story(weight=np.full(4, 2.0))
    found = found_of(drawn, [20, 20, -40, 0])
    assert found.objective == 160
    assert undrawn_cost(drawn, plain, found, seconds=60) == 80  # 10, 10 and 20 at the weights of the problem itself
    assert undrawn_cost(drawn, plain, replace(found, senses=np.array([1, -1, 0, 0])), seconds=60) == 40


def test_without_time_the_cost_is_not_known() -> None:
    problem = pair_story()
    assert undrawn_cost(problem, problem, found_of(problem, [20, -20, 0, 0]), seconds=0) is None


# Pairs with caps: cells of like size cannot go opposite ways.


def capped_pair_story() -> ProtectionProblem:
    """Two single respondents of 100 that may move by 10 to 14, up or down: 14 - 10 is less than a tenth of 100."""
    problem = pair_story()
    capped = np.array([86, 86, *problem.lower[2:]]), np.array([114, 114, *problem.upper[2:]])
    level = np.array([10, 10, 0, 0])
    value = np.array([100, 100, 500, 700])
    sensitive = np.array([True, True, False, False])
    return replace(problem, value=value, rhs=np.zeros_like(problem.rhs), lower=capped[0], upper=capped[1], sensitive=sensitive,
                   lower_level=level, upper_level=level)  # fmt: skip


def test_a_pair_that_caps_leave_no_room_to_differ_is_turned_the_same_way() -> None:
    problem = capped_pair_story()
    found = found_of(problem, [10, -10, 0, 0])
    pairs = np.array([[0, 1]])
    larger = with_pairs(problem, pairs, np.array([10]))
    assert singletons._senses(problem, found, larger, pairs).tolist() in ([1, 1, 0, 0, 1], [-1, -1, 0, 0, -1])


def test_a_pair_with_room_keeps_its_senses_and_goes_where_the_room_is() -> None:
    problem = replace(capped_pair_story(), upper=np.array([130, 114, NO_LIMIT, NO_LIMIT]))
    found = found_of(problem, [10, -12, 2, 0])
    pairs = np.array([[0, 1]])
    larger = with_pairs(problem, pairs, np.array([10]))
    assert singletons._senses(problem, found, larger, pairs).tolist() == [1, -1, 0, 0, 1]  # 30 - 10 is enough; 14 - 10 down is not
