"""Every method's every answer is safe; the exact one is the best there is; no bound is ever too high."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.methods import HOMES, Task, Team, check_method, run_method
from statveil.protect.search_state import SearchNews
from tests.protect.problems import problem_of, small_problems, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost

SENSE_METHODS = sorted(set(HOMES) - {"fixed"})


class Heard:
    """Runs a method in this process and remembers the last table and bound, as the parent does."""

    def __init__(self, problem: ProtectionProblem, method: str, *, seed: int = 0, senses: np.ndarray | None = None) -> None:
        self.best: np.ndarray | None = None
        self.reduction = reduce_problem(problem)
        self.bound, self.infeasible = 0.0, not self.reduction.feasible
        if self.reduction.feasible:
            start = None if senses is None else self.reduction.restrict(senses)
            run_method(self.reduction.problem, Team(method, {}), Task(start, Limits(seconds=120), seed), self.hear)

    def hear(self, found: SearchNews) -> None:
        self.best = self.best if found.deviation is None else self.reduction.expand(found.deviation)
        self.bound, self.infeasible = max(self.bound, found.bound + self.reduction.fixed_cost), self.infeasible or found.infeasible


def one_row() -> ProtectionProblem:
    """10 + 20 + 30 = 60; the first cell must move by 4, so one neighbour or the total must give 4: cost 8."""
    return problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(set(SENSE_METHODS) - {"dense"}))
def test_one_sensitive_cell_costs_its_level_twice(method: str) -> None:
    heard = Heard(one_row(), method)
    assert heard.best is not None
    assert one_row().cost(heard.best) == 8
    assert heard.bound == pytest.approx(8)


def test_two_equal_levels_cancel_each_other() -> None:
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4, 1: 4})
    heard = Heard(problem, "exact")
    assert heard.best is not None
    assert sorted(heard.best[:2]) == [-4, 4]
    assert problem.cost(heard.best) == 8


def test_a_cell_smaller_than_its_level_can_only_go_up() -> None:
    problem = problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5})
    heard = Heard(problem, "auto")
    assert heard.best is not None
    assert heard.best[0] == 5


@pytest.mark.parametrize("method", SENSE_METHODS)
def test_a_cell_that_can_move_nowhere_is_infeasible(method: str) -> None:
    problem = problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5}, upper=np.array([4, 99, 99]))
    heard = Heard(problem, method)
    assert heard.best is None
    assert heard.infeasible


def test_clashing_cells_are_proved_infeasible() -> None:
    """Both parts must rise (they are too small to fall) and the total is fixed."""
    problem = problem_of([3, 3, 6], [[1, 1, -1]], levels={0: 5, 1: 5}, lower=np.array([0, 0, 6]), upper=np.array([99, 99, 6]))
    heard = Heard(problem, "exact")
    assert heard.best is None
    assert heard.infeasible


def test_nothing_sensitive_changes_nothing() -> None:
    heard = Heard(problem_of([1, 2, 3], [[1, 1, -1]], levels={}), "auto")
    assert heard.best is not None
    assert not heard.best.any()


def test_a_table_that_does_not_add_up_is_made_to() -> None:
    problem = problem_of([1, 2, 4], [[1, 1, -1]], levels={})
    heard = Heard(problem, "auto")
    assert heard.best is not None
    assert problem.cost(heard.best) == 1


def test_an_empty_table_has_an_empty_answer() -> None:
    heard = Heard(problem_of([], np.zeros((0, 0)), levels={}), "auto")
    assert heard.best is not None
    assert heard.best.size == 0


def test_everything_sensitive_is_moved() -> None:
    problem = problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 1, 1: 2, 2: 3})
    heard = Heard(problem, "auto")
    assert heard.best is not None
    assert problem.cost(heard.best) == 6


def test_given_senses_are_kept() -> None:
    problem = one_row()
    heard = Heard(problem, "fixed", senses=np.array([-1, 0, 0, 0]))
    assert heard.best is not None
    assert heard.best[0] == -4


def test_least_squares_spreads_the_change() -> None:
    """The level of 6 is taken in equal parts by the two neighbours and the total."""
    problem = problem_of([50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 6}, norm="l2")
    heard = Heard(problem, "fixed", senses=np.array([1, 0, 0, 0]))
    assert heard.best is not None
    assert heard.best.tolist() == [6, -2, -2, 2]


def test_fractional_vertices_are_made_whole() -> None:
    """x + y = t and x - y = d, d sensitive with an odd level, t fixed at an even value: no whole table keeps d at its level."""
    problem = problem_of(
        [6, 4, 10, 2], [[1, 1, -1, 0], [1, -1, 0, -1]], levels={3: 3}, lower=np.array([0, 0, 10, -99]), upper=np.array([99, 99, 10, 99])
    )
    heard = Heard(problem, "auto")
    assert heard.best is not None
    assert problem.cost(heard.best) == 2 + 2 + 4  # moved by 4, the next even amount


@given(small_problems())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_exact_agrees_with_trying_all_senses(problem: ProtectionProblem) -> None:
    best = cheapest_cost(problem)
    heard = Heard(problem, "exact")
    if math.isinf(best):
        assert heard.best is None
    else:
        assert heard.best is not None
        assert problem.accepts(heard.best)
        assert problem.cost(heard.best) == pytest.approx(best)
        assert heard.bound <= best * (1 + 1e-9) + 1e-9


@given(small_problems(additive=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_bounds_hold_for_tables_that_do_not_add_up(problem: ProtectionProblem) -> None:
    best = cheapest_cost(problem)
    heard = Heard(problem, "auto")
    assert heard.bound <= best * (1 + 1e-9) + 1e-9
    assert heard.best is None or problem.accepts(heard.best)


@given(small_problems())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_cells_does_not_change_the_optimum(problem: ProtectionProblem) -> None:
    order = np.random.default_rng(1).permutation(problem.size)
    names = ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    shuffled = ProtectionProblem(
        relations=problem.relations[:, order],
        rhs=problem.rhs,
        variant=problem.variant,
        **{name: getattr(problem, name)[order] for name in names},
    )
    first, second = Heard(problem, "exact"), Heard(shuffled, "exact")
    assert (first.best is None) == (second.best is None)
    if first.best is not None and second.best is not None:
        assert problem.cost(first.best) == pytest.approx(shuffled.cost(second.best))


def test_the_bound_for_least_squares_is_valid_and_close() -> None:
    """The level of 6 must be absorbed by three others: 6^2 + 3 * 2^2 = 48."""
    problem = problem_of([50, 50, 50, 150], [[1, 1, 1, -1]], levels={0: 6}, norm="l2")
    heard = Heard(problem, "auto")
    assert heard.bound == pytest.approx(48, rel=1e-4)
    assert heard.bound <= 48


@pytest.mark.parametrize("method", SENSE_METHODS)
def test_exact_moves_that_cannot_add_up_are_infeasible(method: str) -> None:
    """Two zeros and their total must each rise by exactly one: 1 + 1 is not 1."""
    nothing = np.zeros(3, dtype=np.int64)
    problem = problem_of([0, 0, 0], [[1, 1, -1]], levels={0: 1, 1: 1, 2: 1}, lower=nothing, variant="exact")
    heard = Heard(problem, method)
    assert heard.best is None
    assert heard.infeasible


def test_forced_cells_are_not_counted_twice_in_the_bound() -> None:
    """A zero in a table of zeros must rise by one; its row total, column total and grand total rise with it: cost 4 quarters."""
    value = with_margins(np.zeros((2, 3), dtype=np.int64)).ravel()
    nothing = np.zeros(value.size, dtype=np.int64)
    problem = problem_of(value, two_way_relations(2, 3), levels={0: 1}, lower=nothing, weight=np.full(value.size, 0.25))
    heard = Heard(problem, "exact")
    assert heard.best is not None
    assert problem.cost(heard.best) == 1.0
    assert heard.bound == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("network", "seeds", "abc"),
        ("network", "sweeps", -5),
        ("network", "sweeps", 0),
        ("network", "sweeps", True),
        ("network", "sweeps", 2.5),
        ("anneal", "sweeps", float("nan")),
        ("bcd", "seconds", float("inf")),
        ("bcd", "gap", -0.1),
        ("nearby", "sizes", 30),
        ("nearby", "sizes", []),
        ("nearby", "sizes", [30, 0]),
        ("sat", "annealed", 1),
        ("auto", "role", "magic"),
        ("dense", "device", "moon"),
        ("dense", "tries", 0),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_at_the_door(method: str, name: str, value: object) -> None:
    with pytest.raises(InputError, match=r"Setting|role|device"):
        check_method(method, {name: value}, None)


def test_settings_of_the_right_kind_pass() -> None:
    check_method("network", {"seeds": 3, "sweeps": np.int64(10)}, None)
    check_method("bcd", {"gap": 0, "seconds": 2, "blocks": 4}, None)
    check_method("nearby", {"sizes": [30, 15]}, None)
    check_method("sat", {"annealed": True}, None)
    check_method("auto", {"role": "blocks"}, None)
    check_method("dense", {"device": "cpu", "tries": 2}, None)


def test_each_method_has_roles_of_its_own():
    check_method("network", {"role": "bound"}, None)
    check_method("auto", {"role": "blocks"}, None)
    for method, role in (("auto", "bound"), ("network", "blocks")):
        with pytest.raises(InputError, match="role"):
            check_method(method, {"role": role}, None)
