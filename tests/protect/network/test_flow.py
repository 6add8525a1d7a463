"""The flow finds the closest table for given senses, in exact integers, warm or cold; its potentials price every change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.core.errors import InputError
from tests.protect.network.programs import RELAXED, open_somewhere, program_of, some_senses
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cost_with


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


def test_weights_too_far_apart_are_refused():
    problem = problem_of([1, 2, 3], [[1, 1, -1]], levels={}, weight=np.array([1.0, 1.0, 1e-15]))
    with pytest.raises(InputError, match="differ too much"):
        program_of(problem)


def test_scaling_the_weights_changes_nothing_but_the_cost():
    problem = small_hierarchy(levels={9: 5, 13: 7, 21: 9})
    senses = some_senses(problem, 3)
    plain = program_of(problem).solve(senses)
    scaled = program_of(dataclasses.replace(problem, weight=7.3 * problem.weight)).solve(senses)
    assert plain is not None
    assert scaled is not None
    assert problem.cost(plain) == problem.cost(scaled)


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


def test_others_fall_where_the_total_may_not_rise():
    """The grand total is at its bound: what the sensitive part rises by, the other parts lose, no pivot needed."""
    value = small_hierarchy(levels={}).value
    problem = small_hierarchy(levels={9: 4}, lower=np.zeros(24, dtype=np.int64), upper=np.full(24, value.max()))
    program = program_of(problem)
    table = program.grown(np.where(problem.sensitive, 1, 0))
    assert table is not None
    assert problem.accepts(table)
    assert table[9] == 4
    assert table[value.argmax()] <= 0
    assert program.flow.tree.counter[0] == 0


@RELAXED
@given(problem=small_hierarchies())
def test_what_has_grown_is_safe(problem):
    if open_somewhere(problem):
        table = program_of(problem).grown(np.where(problem.can_go_up, 1, np.where(problem.sensitive, -1, 0)))
        assert table is None or problem.accepts(table)
