"""Method `learn`: resistances worked out by hand, and what is fixed because of them."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.core.limits import Ending
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.papers import learn
from statveil.protect.search.papers.learn import ImageSolution, ParametricImage
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of


def two_against_each_other() -> ProtectionProblem:
    """Two cells of level 4 under a fixed total: one goes up, the other down (x1 + x2 = 1)."""
    return problem_of(
        [20, 30, 50], [[1, 1, -1]], levels={0: 4, 1: 4}, variant="exact", lower=np.array([0, 0, 50]), upper=np.array([99, 99, 50])
    )


def one_and_its_neighbour(lower_level: int = 4, upper_level: int = 4) -> ProtectionProblem:
    """One sensitive cell under a fixed total; the neighbour makes up for whatever it does, at 1 a unit."""
    return problem_of(
        [20, 30, 50],
        [[1, 1, -1]],
        levels={0: (lower_level, upper_level)},
        variant="exact",
        lower=np.array([0, 0, 50]),
        upper=np.array([99, 99, 50]),
    )


def answer_of(problem: ProtectionProblem, *goals: int) -> tuple[ImageSolution, float]:
    made = ParametricImage(search_of(problem), penalty=10.0)
    answer = made.answer(np.array(goals), seconds=60)
    assert answer is not None
    return answer, made.large


def test_a_goal_that_cannot_be_met_is_resisted_overtly() -> None:
    """Both are asked up, one unit of the two goals is missed (eq. 10); asked down, the same (eq. 11)."""
    answer, _ = answer_of(two_against_each_other(), 1, 1)
    up, down = learn.overt(np.array([1, 1]), answer.x)
    assert up.sum() == pytest.approx(1)
    assert not down.any()
    answer, _ = answer_of(two_against_each_other(), -1, -1)
    up, down = learn.overt(np.array([-1, -1]), answer.x)
    assert down.sum() == pytest.approx(1)
    assert not up.any()


def test_a_binary_without_a_goal_resists_by_where_it_is() -> None:
    """The first is asked up, so the free second is down: it resists UP by 1 and DN by 0 (eqs 14, 15)."""
    goals = np.array([1, 0])
    answer, large = answer_of(two_against_each_other(), 1, 0)
    assert answer.x == pytest.approx([1, 0])
    found = learn.resistance(goals, answer, large)
    assert (found.up[1], found.down[1]) == pytest.approx((1, 0))


def test_potential_resistance_is_the_price_of_the_direction() -> None:
    """The neighbour moves by |8x - 4|: one unit of x costs 8 more at UP, and 8 less at DN, where leaving is what it wants."""
    answer, large = answer_of(one_and_its_neighbour(), 1)
    assert learn.potential(np.array([1]), answer, large).up == pytest.approx([8])
    answer, large = answer_of(one_and_its_neighbour(), -1)
    assert learn.potential(np.array([-1]), answer, large).down == pytest.approx([8])


def test_potential_resistance_counts_the_dearer_level() -> None:
    """2 down or 6 up: the cell itself costs 6 - 2 = 4 more up, its neighbour 8 more a unit of x. At DN, leaving gains 8 - 4."""
    answer, large = answer_of(one_and_its_neighbour(2, 6), 1)
    assert learn.potential(np.array([1]), answer, large).up == pytest.approx([12])
    answer, large = answer_of(one_and_its_neighbour(2, 6), -1)
    assert learn.potential(np.array([-1]), answer, large).down == pytest.approx([4])


def test_a_binary_that_missed_its_goal_has_no_potential_resistance() -> None:
    answer = ImageSolution(x=np.array([0.25]), cost=np.zeros(1), reduced=np.zeros(1))
    assert learn.potential(np.array([1]), answer, 100.0).up.tolist() == [0]
    assert learn.overt(np.array([1]), answer.x).up.tolist() == [0.75]


def test_goals_follow_the_anchor_but_for_some() -> None:
    goals = learn.draw_goals(np.ones(10_000, dtype=np.int64), 0.5, np.random.default_rng(0))
    assert np.mean(goals == 0) == pytest.approx(0.5, abs=0.02)
    assert np.mean(goals[goals != 0] < 0) == pytest.approx(learn.TUNING.reversed, abs=0.02)


def test_the_most_resisting_are_left_open() -> None:
    assert learn.most_resisting(np.array([0.5, -0.1, 0.3, -0.7]), 2).tolist() == [False, True, False, True]


def test_at_first_at_most_half_of_the_cells_are_open() -> None:
    assert learn.Memory(search_of(five_in_a_row()), 40).opened == 3


def test_the_rest_is_solved_around_what_is_fixed() -> None:
    """9 up and 7 down are kept; with 5 down, 3 and 1 up the total takes 9 - 7 - 5 + 3 + 1 = 1: cost 25 + 1."""
    search = search_of(five_in_a_row())
    left_open = np.array([True, False, True, False, True])
    assert learn.solve_open(search, left_open, np.array([1, 1, 1, -1, 1]), seconds=60) is Ending.OPTIMAL
    assert search.objective == 26
    assert search.best is not None
    assert search.best[1] > 0 > search.best[3]


def test_learn_finds_the_best_senses_of_five_cells_and_proves_them() -> None:
    search = search_of(five_in_a_row())
    learn.run(search)
    assert search.objective == 26 == pytest.approx(search.bound)


def test_where_the_first_rest_has_no_table_all_up_is_tried() -> None:
    """Ten parts that must all go the way of their total by exactly its share: nearly any senses but all up or down have no table."""
    total = np.r_[np.ones(10, dtype=np.int64), -1]
    problem = problem_of([20] * 10 + [200], [total], levels={**dict.fromkeys(range(10), 4), 10: 40}, variant="exact")
    search = search_of(problem)
    learn.run(search, rounds=1, opened=1)
    assert search.objective == 80


def test_free_is_a_share() -> None:
    with pytest.raises(InputError, match="free"):
        learn.run(search_of(five_in_a_row()), free=1.0)
