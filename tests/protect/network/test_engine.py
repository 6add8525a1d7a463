"""Method `network` end to end: safe, never below its bound, close to the best there is, the same for the same seed."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy.sparse import csr_matrix

from statveil.core.errors import InputError
from statveil.core.limits import Limits
from statveil.protect.network import engine
from statveil.protect.network.detect import detect
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose
from statveil.protect.search_state import Search
from statveil.protect.system import problem_of as system_problem
from statveil_lab.generators.one_hierarchy import Filling, Shape, one_hierarchy_system
from tests.protect.network.tables import hierarchy_relations, hierarchy_values, small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost

RELAXED = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def searched(problem: ProtectionProblem, *, seed: int = 0, seconds: float = 20.0) -> Search:
    search = Search(problem, Limits(seconds=seconds), seed, lambda _: None)
    engine.run(search)
    return search


def medium_table(*, norm: str = "l1", transposed: bool = False) -> ProtectionProblem:
    """40 rows in four groups by 8 columns, a tenth of the leaf cells sensitive, levels of a tenth."""
    rng = np.random.default_rng(5)
    parent = [-1, 0, 0, 0, 0, *np.repeat([1, 2, 3, 4], 10).tolist()]
    value = hierarchy_values(parent, rng.integers(1, 1000, size=(40, 8))).ravel()
    inner = np.arange(5 * 9, value.size)
    sensitive = rng.choice(inner[inner % 9 != 8], 32, replace=False)
    levels = {int(cell): -(-int(value[cell]) // 10) for cell in sensitive}
    problem = problem_of(value, hierarchy_relations(parent, 8), levels=levels, lower=np.zeros_like(value), norm=norm)
    if transposed:  # the same cells in another order
        order = np.arange(value.size).reshape(len(parent), 9).T.ravel()
        each = {
            name: getattr(problem, name)[order] for name in ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")
        }
        problem = dataclasses.replace(problem, relations=csr_matrix(problem.relations[:, order]), **each)
    return problem


@pytest.mark.slow
@pytest.mark.parametrize("source", [small_problems(), small_hierarchies()])
def test_answers_are_safe_and_between_bound_and_optimum(source):
    @RELAXED
    @given(problem=source)
    def check(problem):
        if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any() or not problem.sensitive.any():
            return
        best, search = cheapest_cost(problem), searched(problem)
        assert search.bound <= best + 1e-6
        if search.best is not None:
            assert problem.accepts(search.best)
            assert search.objective >= best - 1e-6

    check()


@pytest.mark.slow
@pytest.mark.parametrize("source", [small_problems(), small_hierarchies()])
def test_answers_are_close_to_the_optimum(source):
    """Always the same tables: how close a heuristic comes is no promise about every table there is."""

    @settings(RELAXED, derandomize=True)
    @given(problem=source)
    def check(problem):
        if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any() or not problem.sensitive.any():
            return
        search = searched(problem)
        if search.best is not None:
            assert search.objective <= 1.6 * cheapest_cost(problem) + 1e-6

    check()


@pytest.mark.slow
def test_a_medium_table_is_nearly_solved():
    search = searched(medium_table())
    assert search.objective <= 1.02 * search.bound


def test_the_order_of_the_cells_hardly_matters():
    assert searched(medium_table()).objective == pytest.approx(searched(medium_table(transposed=True)).objective, rel=0.01)


def test_the_same_seed_gives_the_same_table():
    one, two = searched(medium_table(), seed=3), searched(medium_table(), seed=3)
    assert one.best is not None
    assert np.array_equal(one.best, two.best)
    assert one.bound == two.bound


def test_scaled_values_scale_the_objective():
    problem = medium_table()
    tenfold = dataclasses.replace(
        problem,
        value=10 * problem.value,
        lower_level=10 * problem.lower_level,
        upper_level=10 * problem.upper_level,
        upper=np.full(problem.size, NO_LIMIT),
    )
    one, ten = searched(problem), searched(tenfold)
    assert ten.objective == pytest.approx(10 * one.objective, rel=0.01)


def test_everything_sensitive_still_ends_with_a_table():
    search = searched(small_hierarchy(levels={cell: 1 + cell % 4 for cell in range(24)}))
    assert search.best is not None


def test_one_cell_alone():
    search = searched(problem_of([10], np.zeros((0, 1)), levels={0: (3, 2)}))
    assert search.objective == 2
    assert search.bound == pytest.approx(2)


def test_a_start_is_taken():
    problem = medium_table()
    start = np.where(problem.sensitive, -1, 0)
    search = Search(problem, Limits(seconds=20), 0, lambda _: None)
    search.start = start
    engine.run(search)
    assert search.best is not None


def test_no_network_no_method():
    problem = problem_of([1, 2], [[2, -1]], levels={0: 1})
    assert isinstance(detect(problem), str)
    with pytest.raises(InputError, match="factor other than one"):
        searched(problem)


def test_auto_comes_here_for_large_networks_only():
    problem = medium_table()
    assert choose.teams_for(problem)[0][0] == "auto"  # 32 choices: branch and bound may end
    many = dataclasses.replace(problem, sensitive=problem.value > 0, lower_level=problem.value // 20, upper_level=1 + problem.value // 20)
    assert choose.teams_for(many)[0][0] == "network"
    assert not engine.fits(dataclasses.replace(many, weight=np.where(np.arange(many.size) == 3, 1e-15, 1.0)))


@pytest.mark.slow
def test_least_squares_are_served_too():
    problem = medium_table(norm="l2")
    search = Search(problem, Limits(seconds=300, gap=0.5), 0, lambda _: None)
    engine.run(search)
    assert search.best is not None
    assert search.bound <= search.objective


def test_every_subtable_keeps_the_cheaper_senses_when_seeds_are_recombined():
    """Two seeds, each good in one half of the table only: their mixture is cheaper than both."""
    problem = medium_table()
    network = detect(problem)
    assert not isinstance(network, str)
    search = Search(problem, Limits(seconds=20), 0, lambda _: None)
    work = engine.NetworkSearch(search, network)
    good, spoilt = work.annealed(work.kinds[0], 100), [work.senses.copy(), work.senses.copy()]
    halves = work.table_of % 2 == 0
    for half, senses in zip((halves, ~halves), spoilt, strict=True):
        senses[:] = np.where(half & problem.sensitive, good, 1 * problem.sensitive)
    assert work.price(spoilt[0])
    first = search.objective
    work.price(spoilt[1])
    second = problem.cost(work.program.flow.flow)
    work = engine.NetworkSearch(Search(problem, Limits(seconds=20), 0, lambda _: None), network)
    work.price(spoilt[0])
    work.recombine(spoilt[1])
    assert work.search.objective < min(first, second)


def test_uneven_weights_are_searched_beyond_the_first_table():
    """Here the first tree is often optimal for its senses, so that pricing them again brings nothing new."""
    problem = medium_table()
    problem = dataclasses.replace(problem, weight=1.0 / np.maximum(problem.value, 1))
    search = searched(problem)
    assert search.objective <= 1.05 * search.bound


def test_a_sensitive_total_that_can_only_rise():
    """The first inner row's first cell may not fall: nothing is left to choose on the coarse table."""
    value = small_hierarchy(levels={}).value
    lower = np.where(np.arange(value.size) == 3, value, 0)
    problem = small_hierarchy(levels={3: 7}, lower=lower)
    assert searched(problem).objective == cheapest_cost(problem) == 42


def hierarchy(rows: int, *, seed: int, sensitive: int, filling: Filling) -> ProtectionProblem:
    shape = Shape(rows=rows, columns=5, inner=max(2, rows // 10), depth=2, sensitive=sensitive)
    return system_problem(one_hierarchy_system(shape, seed=seed, filling=filling), weights="unit")


def test_all_up_is_priced_before_anything_is_repaired(monkeypatch):
    """Quickly annealed senses leave no table within 15% here; all up has one, at once."""
    problem = hierarchy(12, seed=0, sensitive=12, filling=Filling(values="lognormal", where="any", bound_percent=Fraction(115)))
    search = Search(problem, Limits(seconds=60), 0, lambda _: None)
    found = engine.NetworkSearch(search, detect(problem))
    assert not found.price(found.annealed(found.kinds[0], engine.TUNING.quick))
    monkeypatch.setattr(engine.NetworkSearch, "repair", lambda self, senses: pytest.fail("not needed"))
    found.first_table()
    assert search.best is not None


@pytest.mark.parametrize("where", ["leaf", "any"])
def test_a_table_is_told_before_any_flow_is_priced(monkeypatch, where):
    """So that it stands when the time ends during the first flow; also on the reduced problem, whose values are all zero."""
    problem = reduce_problem(hierarchy(60, seed=1, sensitive=60, filling=Filling(where=where))).problem
    told = []
    search = Search(problem, Limits(seconds=60), 0, told.append)
    found = engine.NetworkSearch(search, detect(problem))
    monkeypatch.setattr(engine.NetworkSearch, "price", lambda self, senses: False)
    found.first_table()
    assert problem.accepts(next(news.deviation for news in told if news.deviation is not None))


@pytest.mark.slow
def test_bounds_that_add_up_to_too_much_are_none_in_the_coarse_table():
    problem = hierarchy(60, seed=1, sensitive=60, filling=Filling(where="any"))
    problem = dataclasses.replace(problem, upper=np.full(problem.size, 10**15, dtype=np.int64))
    search = searched(problem)
    assert search.best is not None
    assert problem.accepts(search.best)


def test_capacities_bound_tables_without_sensitive_totals_too():
    """Cells may rise by 6% and must by 5% or fall by 10%: the polygons alone leave a gap three times as wide."""
    filling = Filling(lower_percent=Fraction(10), upper_percent=Fraction(5), bound_percent=Fraction(106))
    problem = hierarchy(100, seed=1, sensitive=200, filling=filling)
    search = Search(problem, Limits(seconds=60), 0, lambda _: None)
    found = engine.NetworkSearch(search, detect(problem))
    found.first_table()
    found.bound.by_cover()
    found.bound.by_polygons()
    before = search.bound
    found.bound.by_capacities()
    assert before * 1.05 < search.bound <= search.objective


def test_work_ends_exact_annealing_the_same_way_whatever_the_clock_says(monkeypatch):
    monkeypatch.setattr(engine, "TUNING", engine.TUNING._replace(work_a_second=1e3))
    problem = hierarchy(60, seed=2, sensitive=80, filling=Filling(where="any"))

    def settled(seconds: float) -> list[int]:
        search = Search(problem, Limits(seconds=seconds), 3, lambda _: None)
        found = engine.NetworkSearch(search, detect(problem))
        found.first_table()
        found.settle_totals()
        found.cool(found.open, engine.TUNING.exact_sweeps)
        return found.senses.tolist()

    assert settled(300.0) == settled(299.0)


def test_time_left_is_rounded_so_that_runs_repeat():
    assert engine.rounded_time(57.3) == engine.rounded_time(56.9)
    assert engine.rounded_time(60.0) <= 60.0 < 1.25 * engine.rounded_time(60.0)


def test_a_search_that_must_end_keeps_its_table(monkeypatch):
    def refuse(self, sweeps, seeds, *, bounded):
        raise InputError("The network is too deep for exact computing.")

    monkeypatch.setattr(engine.NetworkSearch, "improve", refuse)
    assert searched(medium_table()).best is not None


def with_sensitive_totals():
    return hierarchy(60, seed=2, sensitive=80, filling=Filling(where="any"))


def heard(problem, role, gap=0.0):
    search = Search(problem, Limits(seconds=60, gap=gap), 1, lambda _: None)
    engine.run(search, role=role)
    return search


@pytest.mark.slow
def test_one_process_can_look_for_tables_and_another_raise_the_bound(monkeypatch):
    """Beyond the cover, only the second raises the bound; only the first goes on from its first table. One that does both comes as far."""
    problem = with_sensitive_totals()
    tables, bound, both = (heard(problem, role) for role in engine.ROLES[1:] + engine.ROLES[:1])
    assert tables.objective < bound.objective
    assert tables.bound < bound.bound <= tables.objective
    assert both.bound >= bound.bound * (1 - 1e-3)


@pytest.mark.slow
def test_where_a_gap_is_asked_for_who_looks_for_tables_raises_the_bound_too():
    """When to stop must not depend on another process."""
    problem = with_sensitive_totals()
    assert heard(problem, "tables", gap=0.001).bound == heard(problem, "all", gap=0.001).bound > heard(problem, "tables").bound


def test_a_process_of_its_own_is_for_bounds_of_sensitive_totals_only():
    assert engine.bound_takes_long(with_sensitive_totals())
    assert not engine.bound_takes_long(dataclasses.replace(with_sensitive_totals(), norm="l2"))
    assert not engine.bound_takes_long(hierarchy(60, seed=2, sensitive=80, filling=Filling()))


def test_the_last_annealing_is_cut_to_the_time_left(monkeypatch):
    """At 10 us a visit 10 s hold 800 sweeps of 100 cells; 0.5 s hold 400, with time for a flow."""
    search = Search(hierarchy(60, seed=2, sensitive=80, filling=Filling()), Limits(seconds=10), 1, lambda _: None)
    found = engine.NetworkSearch(search, detect(search.problem))
    assert found.fitting(800, 100) == 800
    found.pace = 1e-5
    assert found.fitting(800, 100) == 800
    monkeypatch.setattr(Search, "seconds_left", 0.5)
    assert found.fitting(800, 100) == 400
    monkeypatch.setattr(Search, "seconds_left", 0.0)
    assert found.fitting(800, 100) == engine.TUNING.quick
