"""The flow finds the closest table for given senses, in exact integers, warm or cold; its potentials price every change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.core.errors import InputError
from statveil.protect.network import flow, simplex
from statveil.protect.network.detect import Network, detect
from statveil.protect.network.flow import FlowProgram
from statveil.protect.problem import ProtectionProblem
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cost_with

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def program_of(problem: ProtectionProblem) -> FlowProgram:
    network = detect(problem)
    assert isinstance(network, Network), network
    return FlowProgram(problem, network)


def some_senses(problem: ProtectionProblem, seed: int) -> np.ndarray:
    coin = np.random.default_rng(seed).choice([-1, 1], problem.size)
    either = problem.can_go_up & problem.can_go_down
    return np.where(problem.sensitive, np.where(either, coin, np.where(problem.can_go_up, 1, -1)), 0)


def open_somewhere(problem: ProtectionProblem) -> bool:
    return not (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any()


def test_one_leaf_cell_up_takes_a_cycle_of_four_cells():
    """A leaf moves up by 5; the cheapest way round is three more cells by 5 each: cost 20."""
    problem = small_hierarchy(levels={9: 5})
    senses = np.zeros(24, dtype=np.int64)
    senses[9] = 1
    deviation = program_of(problem).solve(senses)
    assert deviation is not None
    assert problem.accepts(deviation)
    assert problem.cost(deviation) == 20


@pytest.mark.parametrize("source", [small_problems(), small_hierarchies(), small_problems(additive=False)])
def test_the_flow_costs_what_the_linear_program_costs(source):
    @RELAXED
    @given(problem=source, seed=st.integers(0, 9))
    def check(problem, seed):
        if not open_somewhere(problem):
            return
        program = program_of(problem)
        for each in (seed, seed + 1):  # the second from the first's tree
            senses = some_senses(problem, each)
            deviation, expected = program.solve(senses), cost_with(problem, senses)
            if deviation is None:
                assert expected == float("inf")
            else:
                assert problem.accepts(deviation)
                assert problem.cost(deviation) == pytest.approx(expected, abs=1e-6)
                assert program.value == pytest.approx(expected, abs=1e-6)

    check()


@RELAXED
@given(problem=small_hierarchies(), seed=st.integers(0, 9))
def test_duals_prove_the_flow_optimal(problem, seed):
    """For each cell the least of w|z| - pull z over its bounds, and the right-hand sides at their duals, add up to the cost."""
    senses = some_senses(problem, seed)
    program = program_of(problem)
    deviation = program.solve(senses) if open_somewhere(problem) else None
    if deviation is None:
        return
    low, high = program.bounds(senses)
    pull = problem.relations.T @ program.duals
    terms = [
        min(w * abs(z) - p * z for z in (a, b, min(max(0, a), b)) if abs(z) < 2**59)
        for w, p, a, b in zip(problem.weight, pull, low.tolist(), high.tolist(), strict=True)
    ]
    assert sum(terms) + program.duals @ problem.residual == pytest.approx(problem.cost(deviation), abs=1e-6)


@pytest.mark.slow
@RELAXED
@given(problem=small_hierarchies(), seed=st.integers(0, 9))
def test_a_flip_from_the_last_tree_ends_where_a_fresh_start_does(problem, seed):
    senses = some_senses(problem, seed)
    either = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    if either.size == 0 or not open_somewhere(problem):
        return
    program = program_of(problem)
    program.solve(senses)
    senses[either[seed % either.size]] *= -1
    low, high = program.bounds(senses)
    cell = either[seed % either.size]
    simplex.set_bounds(program.flow.tree, cell, low[cell], high[cell])
    simplex.solve_queue(program.flow.tree)
    fresh = program_of(problem)
    deviation = fresh.solve(senses)
    assert (program.flow.outside == 0) == (deviation is not None)
    if deviation is not None:
        assert program.value == pytest.approx(problem.cost(deviation), abs=1e-6)


def test_weights_too_far_apart_are_refused():
    problem = problem_of([1, 2, 3], [[1, 1, -1]], levels={}, weight=np.array([1.0, 1.0, 1e-15]))
    with pytest.raises(InputError, match="differ too much"):
        program_of(problem)


def test_bounds_beyond_exact_arithmetic_are_refused():
    problem = problem_of([1, 2, 3], [[1, 1, -1]], levels={}, upper=np.array([2**54, 5, 5]))
    with pytest.raises(InputError, match="too large to be computed exactly"):
        program_of(problem)


def test_scaling_the_weights_changes_nothing_but_the_cost():
    problem = small_hierarchy(levels={9: 5, 13: 7, 21: 9})
    senses = some_senses(problem, 3)
    plain = program_of(problem).solve(senses)
    scaled = program_of(dataclasses.replace(problem, weight=7.3 * problem.weight)).solve(senses)
    assert plain is not None
    assert scaled is not None
    assert problem.cost(plain) == problem.cost(scaled)


def long_detour(steps: int, *, room: int = 5):
    """Two cells and their total, the first of `steps` sums in a row, x(i+1) = x(i) + y(i), in which no y may move.

    With a up by 3 and b down by 8 their total falls by 5, if its `room` allows, and with it all sums behind it.
    """
    cells, a, b = 2 * steps + 3, 2 * steps + 1, 2 * steps + 2
    row = np.concatenate([np.repeat(np.arange(steps), 3), [steps] * 3])
    chain = np.stack([np.arange(1, steps + 1), np.arange(steps), steps + 1 + np.arange(steps)], 1).ravel()
    relations = csr_matrix((np.tile([1, -1, -1], steps + 1), (row, np.concatenate([chain, [0, a, b]]))), shape=(steps + 1, cells))
    y = np.full(steps, 10)
    x = 100 + np.concatenate([[0], np.cumsum(y)])
    value = np.concatenate([x, y, [50, 50]])
    lower, upper = np.concatenate([0 * x, y, [47, 42]]), np.concatenate([2 * x, y, [53, 58]])
    lower[0] = 100 - room
    level = np.zeros(cells, dtype=np.int64)
    level[a], level[b] = 3, 8
    problem = ProtectionProblem(
        relations=relations,
        rhs=np.zeros(steps + 1, dtype=np.int64),
        value=value,
        weight=np.ones(cells),
        lower=lower,
        upper=upper,
        sensitive=level > 0,
        lower_level=level,
        upper_level=level,
    )
    senses = np.zeros(cells, dtype=np.int64)
    senses[a], senses[b] = 1, -1
    return problem, senses


def test_a_detour_of_thousands_of_cells_is_found_whatever_it_costs():
    """x0 and all 6,000 sums behind it fall by 5: dearer than any penalty of 4,096 a unit, and yet the only table."""
    problem, senses = long_detour(6000)
    program = program_of(problem)
    deviation = program.solve(senses)
    assert deviation is not None
    assert problem.accepts(deviation)
    assert problem.cost(deviation) == 5 * 6001 + 3 + 8
    assert program.value == pytest.approx(5 * 6001 + 11)


def test_where_the_detour_is_closed_there_is_no_table_and_the_next_one_is_found_again():
    problem, senses = long_detour(6000, room=4)
    program = program_of(problem)
    assert program.solve(senses) is None
    assert program.solve(np.zeros_like(senses)).tolist() == [0] * problem.size


def test_potentials_too_large_for_exact_integers_are_refused():
    """Six thousand arcs in a row, each outside its bounds: the potentials add up to 6,000 penalties."""
    program = program_of(long_detour(6000)[0])
    program.flow.tree.penalty[0] = 2**56
    outside = [np.ones(program.problem.size, dtype=np.int64)] * 2
    with pytest.raises(InputError, match="too deep"):
        program.flow.restart(*outside)


def test_more_relations_than_exact_costs_allow_are_refused(monkeypatch):
    monkeypatch.setattr(flow, "LARGEST_PENALTY", 2**38)
    with pytest.raises(InputError, match="too many relations"):
        program_of(small_hierarchy(levels={}))


def test_parts_grow_in_proportion_without_a_pivot():
    """The total of the first leaf row (cell 11, value 30) must rise by 4: growth 3/30, so 10 and 20 grow by 2 and 3; it rises by 5."""
    problem = small_hierarchy(levels={11: 4}, lower=np.zeros(24, dtype=np.int64))
    program = program_of(problem)
    table = program.grown(np.where(problem.sensitive, 1, 0))
    assert table is not None
    assert problem.accepts(table)
    assert table[[9, 10, 11]].tolist() == [2, 3, 5]
    assert program.flow.tree.counter[0] == 0
    assert not program.flow.flow.any()


def test_nothing_grows_where_bounds_are_closer():
    """Cells may rise by less than the growth of the total: no table is made up."""
    value = small_hierarchy(levels={}).value
    problem = small_hierarchy(
        levels={11: 4}, lower=np.zeros(24, dtype=np.int64), upper=np.where(np.arange(24) == 10, value + 2, value + 50)
    )
    assert program_of(problem).grown(np.where(problem.sensitive, 1, 0)) is None


@RELAXED
@given(problem=small_hierarchies())
def test_what_has_grown_is_safe(problem):
    if open_somewhere(problem):
        table = program_of(problem).grown(np.where(problem.can_go_up, 1, np.where(problem.sensitive, -1, 0)))
        assert table is None or problem.accepts(table)
