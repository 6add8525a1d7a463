"""Components are solved apart: the sum of their answers is the answer."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_matrix

from statveil.core.errors import InfeasibleProblem
from statveil.core.limits import Ending, Limits, Progress
from statveil.formats.certificate import COVER
from statveil.protect.adjust import adjust_problem
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve import components as module
from statveil.protect.presolve.components import components_of
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import methods
from statveil.protect.search.methods import Task, Team, TeamJob, plan_jobs, run_jobs
from statveil.protect.search_state import DualMultipliers, SearchNews
from tests.protect.problems import problem_of, small_problems, two_way_relations, with_margins
from tests.reference.cta import cheapest_cost


def beside(*problems: ProtectionProblem) -> ProtectionProblem:
    """Several problems as one, with nothing between them."""
    columns = ("rhs", "value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    joined = {name: np.concatenate([getattr(each, name) for each in problems]) for name in columns}
    relations = csr_matrix(block_diag([each.relations for each in problems], format="csr"), dtype=np.int64)
    return dataclasses.replace(problems[0], relations=relations, **joined)


def row(first: int = 4, second: int | None = None) -> ProtectionProblem:
    """10 + 20 + 30 = 60, with one or two sensitive cells."""
    return problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: first} | ({} if second is None else {1: second}))


def square(seed: int, level: int = 7) -> ProtectionProblem:
    value = with_margins(np.random.default_rng(seed).integers(20, 99, (3, 3))).ravel()
    return problem_of(value, two_way_relations(3, 3), levels={0: level, 5: 3, 6: 5})


# -- the split ----------------------------------------------------------------------------------------------------------


def test_two_rows_are_two_components() -> None:
    parts = components_of(beside(row(), row(5)))
    assert len(parts) == 2
    assert [parts.cells_of(number).tolist() for number in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [parts.rows_of(number).tolist() for number in range(2)] == [[0], [1]]
    assert parts.problem(1).lower_level.tolist() == [5, 0, 0, 0]
    assert parts.problem(1).relations.toarray().tolist() == [[1, 1, 1, -1]]


def test_interlaced_cells_and_relations_are_sorted_out() -> None:
    problem = problem_of([1, 10, 2, 20, 3, 30], [[0, 1, 0, 1, 0, -1], [1, 0, 1, 0, -1, 0]], levels={0: 1, 1: 4})
    parts = components_of(problem)
    assert [parts.cells_of(number).tolist() for number in range(2)] == [[0, 2, 4], [1, 3, 5]]
    assert [parts.rows_of(number).tolist() for number in range(2)] == [[1], [0]]
    joined = parts.joined([np.array([1, 0, 1]), np.array([4, -4, 0])])
    assert joined.tolist() == [1, 4, 0, -4, 1, 0]
    assert problem.accepts(joined)


def test_one_component_is_the_problem_itself() -> None:
    problem = square(1)
    parts = components_of(problem)
    assert parts.is_whole
    assert parts.problem(0) is problem


def test_a_component_that_may_rest_needs_no_work() -> None:
    parts = components_of(beside(row(), problem_of([1, 2, 3], [[1, 1, -1]], levels={})))
    assert len(parts) == 1
    assert parts.joined([np.array([4, -4, 0, 0])]).tolist() == [4, -4, 0, 0, 0, 0, 0]


def test_a_component_that_does_not_add_up_does() -> None:
    assert len(components_of(problem_of([1, 2, 4], [[1, 1, -1]], levels={}))) == 1


def test_cells_without_relations_take_the_cheaper_way() -> None:
    problem = problem_of([50, 50, 3, 9], np.zeros((0, 4)), levels={0: (4, 6), 1: (6, 4), 2: (5, 7)})
    parts = components_of(problem)
    assert len(parts) == 0
    assert parts.settled.tolist() == [-4, 4, 7, 0]


@pytest.mark.slow
def test_a_stuck_cell_is_left_to_the_method_which_says_so() -> None:
    problem = beside(row(), problem_of([3], np.zeros((0, 1)), levels={0: 5}, upper=np.array([4])))
    with pytest.raises(InfeasibleProblem):
        adjust_problem(problem)


def test_multipliers_keep_their_cells_and_relations() -> None:
    parts = components_of(beside(row(), square(1)))
    one = DualMultipliers(np.array([0.5]), np.array([0]), np.array([2]), np.array([1.5]))
    two = DualMultipliers(np.zeros(0), np.array([3, 0]), np.array([COVER, 15]), np.array([2.0, 3.0]))
    together = parts.added_up([one, two])
    assert together.relations.tolist() == [0.5] + [0.0] * 8
    assert together.cut_relation.tolist() == [0, 4, 1]
    assert together.cut_cell.tolist() == [2, COVER, 19]
    assert together.cut.tolist() == [1.5, 2, 3]


# -- solving ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "exact", "bcd"])
def test_objective_and_bound_are_sums(method: str) -> None:
    problems = [square(1), row(), square(2), problem_of([50], np.zeros((0, 1)), levels={0: 9})]
    together = adjust_problem(beside(*problems), method=method, limits=Limits(seconds=30))
    apart = [adjust_problem(each, method=method, limits=Limits(seconds=30)) for each in problems]
    assert together.objective == sum(each.objective for each in apart)
    assert together.bound == pytest.approx(sum(each.bound for each in apart))
    assert np.array_equal(together.deviation, np.concatenate([each.deviation for each in apart]))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table_whoever_is_quicker() -> None:
    problem = beside(*(square(seed) for seed in range(6)))
    tables = [adjust_problem(problem, seed=3, limits=Limits(seconds=30)).deviation for _ in range(2)]
    assert np.array_equal(*tables)


@pytest.mark.slow
def test_a_start_reaches_every_component() -> None:
    start = np.array([-1, 0, 0, 0, 1, 0, 0, 0])
    adjustment = adjust_problem(beside(row(), row(5)), method="fixed", start=start)
    assert adjustment.senses.tolist() == start.tolist()
    assert adjustment.objective == 18


def test_nothing_to_do_is_done_without_a_process() -> None:
    told: list[Progress] = []
    adjustment = adjust_problem(problem_of([1, 2, 3], [[1, 1, -1]], levels={}), on_progress=told.append)
    assert adjustment.ending is Ending.OPTIMAL
    assert (adjustment.objective, adjustment.bound) == (0, 0)
    assert told[-1].objective == 0


def test_an_unknown_method_is_refused_even_where_there_is_nothing_to_do() -> None:
    with pytest.raises(Exception, match="Unknown method 'luck'"):
        adjust_problem(problem_of([1, 2, 3], [[1, 1, -1]], levels={}), method="luck")


@pytest.mark.slow
def test_one_infeasible_component_makes_the_whole_infeasible() -> None:
    clash = problem_of([3, 3, 6], [[1, 1, -1]], levels={0: 5, 1: 5}, lower=np.array([0, 0, 6]), upper=np.array([99, 99, 6]))
    with pytest.raises(InfeasibleProblem, match="No safe table exists"):
        adjust_problem(beside(square(1), clash), limits=Limits(seconds=300))


@pytest.mark.slow
def test_what_preprocessing_found_is_told() -> None:
    told: list[Progress] = []
    small = problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5})
    adjust_problem(beside(square(1), small), on_progress=told.append)
    assert "19 cells reduced to 19, 2 components, 1 sense forced" in [each.stage for each in told]


def many_rows(count: int, seed: int = 1) -> ProtectionProblem:
    rng = np.random.default_rng(seed)
    return beside(*(row(int(rng.integers(1, 9)), int(rng.integers(1, 9))) for _ in range(count)))


def test_five_thousand_rows_are_solved_on_the_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "run_jobs", lambda *given: pytest.fail("no search is needed"))
    problem = many_rows(5000)
    assert len(components_of(problem)) == 0
    adjustment = adjust_problem(problem, limits=Limits(seconds=300))
    assert adjustment.ending is Ending.OPTIMAL
    levels = problem.upper_level.reshape(-1, 4)[:, :2]
    assert adjustment.objective == 2 * levels.max(axis=1).sum()  # the two go opposite ways, a third cell takes the rest


@settings(deadline=None, max_examples=60)
@given(problem=small_problems(), data=st.data())
def test_a_lone_relation_is_solved_like_the_reference(problem: ProtectionProblem, data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, max(problem.rhs.size - 1, 0)))
    if problem.rhs.size == 0 or problem.relations[kept].nnz == 0:
        return
    cells = problem.relations[kept].indices
    columns = ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
    lone = dataclasses.replace(
        problem,
        relations=csr_matrix(problem.relations[kept][:, cells]),
        rhs=problem.rhs[[kept]],
        norm="l1",
        **{name: getattr(problem, name)[cells] for name in columns},
    )
    solved, deviation = module.solve_single_relations(lone, np.array([0]))
    best = cheapest_cost(lone)
    if solved[0]:
        assert lone.accepts(deviation)
        assert lone.cost(deviation) == pytest.approx(best)
    elif np.ptp(np.abs(lone.relations.data)) == 0:
        assert best == np.inf


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(problems=st.lists(small_problems(), min_size=2, max_size=3))
def test_apart_is_as_good_as_together(problems: list[ProtectionProblem]) -> None:
    """The exact method, component by component, in this process: the sum is the reference's optimum of each."""
    problems = [dataclasses.replace(each, norm="l1", variant=problems[0].variant) for each in problems]
    best = [cheapest_cost(each) for each in problems]
    if not np.isfinite(best).all():
        return
    whole = beside(*problems)
    parts = components_of(whole)
    tables: dict[int, np.ndarray] = {}

    def hear(news: tuple[int, int, SearchNews]) -> None:
        if news[2].deviation is not None:
            tables[news[0]] = news[2].deviation

    jobs = [TeamJob(number, 0, Team("exact", {}), Task(None, Limits(seconds=300), 0)) for number in range(len(parts))]
    run_jobs(parts, jobs, Limits(seconds=300), time.time(), hear)
    deviation = parts.joined([tables[number] for number in range(len(parts))])
    assert whole.accepts(deviation)
    assert whole.cost(deviation) >= sum(best) - 1e-6
    if all(np.abs(each.relations.data).max(initial=1) == 1 for each in problems):
        assert whole.cost(deviation) <= sum(best) + len(parts)  # whole amounts may cost a little more than fractions


# -- the plan -----------------------------------------------------------------------------------------------------------


def test_small_components_are_dealt_to_both_processes() -> None:
    plan = plan_jobs(components_of(beside(*(square(seed) for seed in range(6)))), "auto", {}, Task(None, Limits(), 5))
    assert [len(jobs) for jobs in plan] == [3, 3]
    assert {job.task.seed for jobs in plan for job in jobs} == {5}


def test_a_named_method_keeps_to_one_process() -> None:
    plan = plan_jobs(components_of(beside(square(1), square(2))), "bcd", {"blocks": 2}, Task(None, Limits(), 0))
    assert [[job.component for job in jobs] for jobs in plan] == [[0, 1]]


def seconds_given(monkeypatch: pytest.MonkeyPatch, *, late: float = 0.0) -> list[tuple[int, float]]:
    """Component and seconds of each run of a search that never ends by itself, with 300 seconds for two components of one size."""
    given: list[tuple[int, float]] = []
    parts = components_of(beside(square(1), square(2)))
    first = parts.problem(0).value[0]

    def run(problem: ProtectionProblem, team: Team, task: Task, *_: object, **__: object) -> bool:
        given.append((int(problem.value[0] != first), task.limits.seconds))
        return False

    monkeypatch.setattr(methods, "run_method", run)
    jobs = [TeamJob(number, 0, Team("random", {}), Task(None, Limits(seconds=300), 0)) for number in range(2)]
    run_jobs(parts, jobs, Limits(seconds=300), time.time() - late, lambda news: None)
    return given


def test_every_component_has_its_turn_though_one_would_take_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given = seconds_given(monkeypatch)
    assert [component for component, _ in given] == [0, 1, 0, 1]  # a short while each, then anew
    assert given[0][1] < given[2][1] <= 150


def test_endless_bounds_survive_the_split() -> None:
    assert (components_of(beside(row(), row(5))).problem(0).upper == NO_LIMIT).all()


def test_a_process_that_started_late_has_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(seconds <= 298 for _, seconds in seconds_given(monkeypatch, late=2))
