"""The simplex method on networks: exact, whole, warm from the last tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.core.errors import InputError
from statveil.protect.network import flow, simplex
from statveil.protect.problem import ProtectionProblem
from tests.protect.network.programs import RELAXED, open_somewhere, program_of, some_senses
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of


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


def test_bounds_beyond_exact_arithmetic_are_refused():
    problem = problem_of([1, 2, 3], [[1, 1, -1]], levels={}, upper=np.array([2**54, 5, 5]))
    with pytest.raises(InputError, match="too large to be computed exactly"):
        program_of(problem)


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
