"""A hierarchy of rows by columns is a network, found from its relations alone; a three-way table is none, and the reason is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, vstack

from statveil.core.limits import Limits
from statveil.protect.adjust import adjust_problem
from statveil.protect.network import detect as module
from statveil.protect.network.detect import Network, detect, lowest_terms
from statveil.protect.presolve.redundancy import independent_rows
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import problem_of as problem_of_system
from statveil_lab.generators.one_hierarchy import SHAPES, one_hierarchy_system
from tests.protect.network.tables import THREE_LEVELS, hierarchy_relations, small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of, small_problems, two_way_relations


def found(problem: ProtectionProblem) -> Network:
    network = detect(problem)
    assert isinstance(network, Network), network
    return network


def assert_same_rows(problem: ProtectionProblem, network: Network) -> None:
    """Each node's arcs are the cells of its relation, out where the turned factor is one, in where it is minus one."""
    nodes, cells = network.nodes, np.arange(problem.size)
    arcs = csr_matrix(
        (np.repeat([1, -1], problem.size), (np.concatenate([network.tail, network.head]), np.tile(cells, 2))), shape=(nodes, problem.size)
    )
    inner = network.relation >= 0
    lowest = lowest_terms(problem).problem
    turned = lowest.relations[network.relation[inner]].toarray() * network.sign[inner][:, None]
    assert (arcs.toarray()[inner] == turned).all()
    assert (network.supply[inner] == network.sign[inner] * lowest.residual[network.relation[inner]]).all()


def test_a_two_way_table_is_one_subtable_with_rows_and_columns_on_two_sides():
    problem = problem_of(np.zeros(12), two_way_relations(2, 3), levels={})
    network = found(problem)
    assert_same_rows(problem, network)
    assert set(network.subtable[:-1]) == {0}
    assert (network.side[network.tail] != network.side[network.head]).all()


def test_the_row_relations_of_inner_rows_follow_from_the_others_and_are_dropped():
    problem = small_hierarchy(levels={})
    network = found(problem)
    assert_same_rows(problem, network)
    assert set(range(problem.rhs.size)) - set(network.relation) == {1, 2}  # the two inner rows; the root's own row stays
    assert len(set(network.subtable[:-1])) == 3


def test_a_relation_that_only_seems_to_follow_is_not_dropped():
    """An inner row's relation says 1 where the leaves' relations say 0: it does not follow, so there is no network."""
    rhs = np.zeros(17, dtype=np.int64)
    rhs[1] = 1
    assert isinstance(detect(small_hierarchy(levels={}, rhs=rhs)), str)


def three_way(*shape: int) -> np.ndarray:
    """The relations of a three-way table of cells without totals: every line adds up to what is given."""
    lines = []
    for axis in range(3):
        for at in np.ndindex(*shape[:axis], *shape[axis + 1 :]):
            line = np.zeros(shape, dtype=np.int64)
            line[(*at[:axis], slice(None), *at[axis:])] = 1
            lines.append(line.ravel())
    return np.array(lines)


def test_a_three_way_table_is_no_network():
    reason = detect(problem_of(np.ones(8), three_way(2, 2, 2), levels={}, rhs=np.full(12, 2)))
    assert reason == "A cell is in three relations, also when those that follow from the others are left out."


def test_other_factors_are_refused():
    assert detect(problem_of([1, 2], [[2, -1]], levels={})) == "A relation counts a cell with a factor other than one."


def test_signs_that_cannot_be_turned_are_refused():
    """x + y = 0, y + z = 0, x + z = 0: a triangle of sums has no orientation."""
    reason = detect(problem_of([0, 0, 0], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], levels={}))
    assert isinstance(reason, str)
    assert "signs" in reason


def test_cells_in_one_or_no_relation_are_closed_by_the_ground():
    network = found(problem_of([1, 2, 3, 9], [[1, 1, -1, 0]], levels={}))
    assert network.nodes == 2
    assert network.tail.tolist() == [0, 0, 1, 1]
    assert network.head.tolist() == [1, 1, 0, 1]


def test_no_cells_make_an_empty_network():
    assert found(problem_of([], np.zeros((0, 0)), levels={})).nodes == 1


@given(small_hierarchies())
@settings(max_examples=60, deadline=None)
def test_every_hierarchy_of_rows_is_a_network(problem):
    assert_same_rows(problem, found(problem))


@given(small_problems(additive=False))
@settings(max_examples=60, deadline=None)
def test_two_way_tables_are_networks_also_in_any_order_and_with_any_signs(problem):
    """A table that does not add up contradicts itself where one relation follows from others; else it is a network."""
    matrix = problem.relations.toarray()
    order = np.random.default_rng(1).permutation(matrix.shape[0])
    signs = np.random.default_rng(2).choice([-1, 1], matrix.shape[0])
    mixed = problem_of(
        problem.value,
        (matrix * signs[:, None])[order],
        levels={},
        rhs=(problem.rhs * signs)[order],
        lower=problem.lower,
        upper=problem.upper,
    )
    assert_same_rows(mixed, found(mixed))


def test_the_relations_may_come_in_any_order():
    relations = hierarchy_relations(THREE_LEVELS, 2)[::-1]
    problem = problem_of(np.zeros(24), relations, levels={})
    assert found(problem).nodes == relations.shape[0] - 2 + 1


def hierarchy_and(*more) -> ProtectionProblem:
    """The small hierarchy (8 rows by 3 columns, rows 0 to 2 inner) with more relations that follow from its own."""
    relations = np.vstack([hierarchy_relations(THREE_LEVELS, 2), *[np.atleast_2d(each) for each in more]])
    return problem_of(np.zeros(24), relations, levels={})


def cells(*numbers, total):
    row = np.zeros(24, dtype=np.int64)
    row[list(numbers)], row[total] = 1, -1
    return row


LEAF_ROWS = range(3, 8)
OWN = hierarchy_relations(THREE_LEVELS, 2)


@pytest.mark.parametrize(
    "more",
    [
        [cells(*[3 * row for row in LEAF_ROWS], total=0)],
        [cells(*[3 * row + column for row in LEAF_ROWS], total=column) for column in range(3)],
        [cells(*[3 * row + column for row in LEAF_ROWS for column in (0, 1)], total=2)],
        [OWN[5] - OWN[6]],
        [OWN[5] + OWN[6]],
        [2 * OWN[0], 3 * OWN[9], -OWN[4]],
    ],
    ids=["root of leaves, totals", "root of leaves, all columns", "grand total of leaf cells", "difference", "sum", "multiples"],
)
def test_relations_that_follow_in_any_way_are_left_out(more):
    problem = hierarchy_and(*more)
    assert_same_rows(problem, found(problem))
    assert found(problem).nodes == OWN.shape[0] - 2 + 1


def test_a_threefold_relation_whose_right_hand_side_is_no_multiple_has_a_factor():
    assert detect(problem_of([0, 0], [[3, -3]], levels={}, rhs=np.array([1]))) == "A relation counts a cell with a factor other than one."
    assert isinstance(detect(problem_of([0, 0], [[3, -3]], levels={}, rhs=np.array([6]))), Network)


def test_a_three_way_table_is_refused_by_a_count_after_one_elimination(monkeypatch):
    """64 cells in 48 relations of four, of which 4^3 - 3^3 = 37 are independent: 148 places, more than two for each cell."""
    calls = []
    monkeypatch.setattr(module, "independent_rows", lambda *given: calls.append(given) or independent_rows(*given))
    relations = three_way(4, 4, 4)
    reason = detect(problem_of(np.ones(64), relations, levels={}, rhs=relations.sum(axis=1)))
    assert reason == "A cell is in three relations, also when those that follow from the others are left out."
    assert len(calls) == 1


FEW_RELATIONS = st.lists(st.lists(st.sampled_from([0, 0, 1, 1, -1]), min_size=6, max_size=6), min_size=3, max_size=9)
BASES = [hierarchy_relations([-1, 0, 0, 1, 1], 2), two_way_relations(2, 2), three_way(2, 2, 2), three_way(2, 3, 2)]


@given(st.one_of(FEW_RELATIONS.map(np.array), st.sampled_from(BASES)), st.data())
@settings(max_examples=150, deadline=None)
def test_what_the_count_refuses_would_have_been_refused_anyway(relations, data):
    """With relations added that follow, as sums and differences of any two: the count never turns a network away."""
    for _ in range(data.draw(st.integers(0, 4))):
        one, other = data.draw(st.integers(0, len(relations) - 1)), data.draw(st.integers(0, len(relations) - 1))
        relations = np.vstack([relations, relations[one] + data.draw(st.sampled_from([1, -1])) * relations[other]])
    problem = problem_of(np.zeros(relations.shape[1]), relations, levels={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module._JoinedRelations, "_stays_crowded", lambda self, crowding: False)
        without_count = detect(problem)
    assert isinstance(detect(problem), Network) == isinstance(without_count, Network)


def test_where_elimination_would_take_too_long_the_reason_says_so(monkeypatch):
    monkeypatch.setattr(module, "TUNING", module.TUNING._replace(most_steps=10))
    reason = detect(hierarchy_and(OWN[5] - OWN[6]))
    assert reason == "A cell is in three relations, and they are too many to find out which follow from others."


def test_a_large_table_whose_root_is_also_the_sum_of_all_leaves_is_a_network():
    shape = SHAPES["table14"]
    system = one_hierarchy_system(shape, seed=0)
    leaves = np.arange(shape.inner, shape.rows) * shape.columns
    row = csr_matrix((np.append(np.ones(leaves.size, dtype=np.int64), -1), np.append(leaves, 0), [0, leaves.size + 1]), (1, shape.cells))
    relations = vstack([system.relations, row]).tocsr()
    longer = dataclasses.replace(system, relations=relations, rhs=np.append(system.rhs, 0))
    assert found(problem_of_system(longer, weights="unit")).nodes == found(problem_of_system(system, weights="unit")).nodes


def multiplied(problem, factor):
    relations = csr_matrix(problem.relations.multiply(factor[:, None]))
    return dataclasses.replace(problem, relations=relations, rhs=problem.rhs * factor)


def test_each_relation_is_divided_by_what_it_has_in_common_with_its_right_hand_side():
    problem = problem_of([0, 0, 0], [[2, 2, -2], [3, -3, 0], [0, 2, 4], [0, 0, 0]], levels={}, rhs=np.array([4, 1, 6, 0]))
    lowest, factor = lowest_terms(problem)
    assert factor.tolist() == [2, 1, 2, 1]
    assert lowest.relations.toarray().tolist() == [[1, 1, -1], [3, -3, 0], [0, 1, 2], [0, 0, 0]]
    assert lowest.rhs.tolist() == [2, 1, 3, 0]


@pytest.mark.slow
def test_a_table_in_multiplied_relations_costs_the_same_and_its_certificate_proves_the_same():
    problem = small_hierarchy(levels={9: 5, 13: 7, 21: 9})
    factor = np.arange(problem.rhs.size) % 3 + 1
    answers = [
        adjust_problem(each, method="network", limits=Limits(seconds=300), seed=1) for each in (problem, multiplied(problem, factor))
    ]
    assert answers[1].objective == answers[0].objective
    assert answers[1].certified_bound == pytest.approx(answers[0].certified_bound, rel=1e-6)
    assert answers[1].certified_bound > 0.9 * answers[1].objective
