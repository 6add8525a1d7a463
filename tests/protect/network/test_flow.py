"""The flow finds the closest table for given senses, in exact integers, warm or cold; its potentials price every change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.errors import InputError
from statveil.protect.network import simplex
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
    pull = program.pull(program.duals)
    terms = [
        min(w * abs(z) - p * z for z in (a, b, min(max(0, a), b)) if abs(z) < 2**59)
        for w, p, a, b in zip(problem.weight, pull, low.tolist(), high.tolist(), strict=True)
    ]
    assert sum(terms) + program.duals @ problem.residual == pytest.approx(problem.cost(deviation), abs=1e-6)


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
    simplex.solve_queue(program.flow.tree, 2**60)
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
