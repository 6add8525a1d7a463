"""Bounds on networks never pass the optimum, whatever the multipliers; shortages are what enumeration finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds.cover_bound import cover_multipliers, dual_bound, shortages
from statveil.protect.network.bounds.polygon_bound import PolygonBlocks
from statveil.protect.network.detect import Network, detect
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers
from tests.protect.network.tables import small_hierarchies, small_hierarchy
from tests.protect.problems import problem_of, small_problems
from tests.reference.cta import cheapest_cost

RELAXED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def network_of(problem: ProtectionProblem) -> Network:
    network = detect(problem)
    assert isinstance(network, Network), network
    return network


def open_somewhere(problem: ProtectionProblem) -> bool:
    return not (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any()


def test_one_leaf_cell_needs_its_level_again_in_its_row_and_in_its_column():
    """Level 5 alone in row and column: cover brings 5 in each, the polygons 5 more where these cross: the optimum, 20."""
    problem = small_hierarchy(levels={9: 5})
    shortage = shortages(problem)
    multipliers = cover_multipliers(problem, network_of(problem), shortage)
    assert dual_bound(problem, multipliers, shortage) == pytest.approx(15)
    blocks = PolygonBlocks(problem, shortage, multipliers, worth=np.inf)
    blocks.raise_block(np.arange(problem.rhs.size), np.ones(problem.size, dtype=np.bool_), seconds=60)
    assert dual_bound(problem, blocks.multipliers, shortage) == pytest.approx(20, rel=1e-3)


def test_a_relation_whose_levels_balance_lacks_nothing():
    problem = problem_of([10, 20, 30], [[1, 1, -1]], levels={0: 3, 2: 3})
    assert shortages(problem).amount.tolist() == [0]


@RELAXED
@given(problem=small_problems())
def test_shortages_are_the_least_imbalance_over_all_senses(problem):
    if not open_somewhere(problem):
        return
    shortage, least = shortages(problem), least_sizes(problem)
    for row in range(problem.rhs.size):
        part = slice(problem.relations.indptr[row], problem.relations.indptr[row + 1])
        cells, factors = problem.relations.indices[part], problem.relations.data[part]
        choices = [
            [f * z for z, fits in ((problem.up.low[c], problem.can_go_up[c]), (problem.down.high[c], problem.can_go_down[c])) if fits]
            if problem.sensitive[c]
            else [0]
            for c, f in zip(cells, factors, strict=True)
        ]
        expected = min(abs(problem.residual[row] - sum(choice)) for choice in itertools.product(*choices))
        longest = shortage.longest[row]
        if longest == COVER:
            assert shortage.amount[row] == expected
        else:
            assert shortage.amount[row] == 2 * least[longest] - least[cells].sum() - abs(problem.residual[row])


@pytest.mark.parametrize("source", [small_problems(), small_hierarchies(), small_problems(additive=False)])
def test_cover_and_polygons_stay_below_the_optimum(source):
    @RELAXED
    @given(problem=source)
    def check(problem):
        if not open_somewhere(problem):
            return
        best, shortage = cheapest_cost(problem), shortages(problem)
        multipliers = cover_multipliers(problem, network_of(problem), shortage)
        first = dual_bound(problem, multipliers, shortage)
        assert problem.cost(least_sizes(problem)) - 1e-6 <= first <= best + 1e-6
        blocks = PolygonBlocks(problem, shortage, multipliers, worth=np.inf)
        gain = blocks.raise_block(np.arange(problem.rhs.size), problem.sensitive, seconds=60)
        second = dual_bound(problem, blocks.multipliers, shortage)
        assert first + gain - 1e-6 <= second <= best + 1e-6

    check()


@RELAXED
@given(problem=small_hierarchies(), seed=st.integers(0, 99))
def test_any_multipliers_give_a_valid_bound(problem, seed):
    if not open_somewhere(problem):
        return
    rng = np.random.default_rng(seed)
    count = 5
    relation = rng.integers(problem.rhs.size, size=count)
    starts = problem.relations.indptr
    cell = np.array([rng.choice([COVER, *problem.relations.indices[starts[r] : starts[r + 1]]]) for r in relation])
    shortage = shortages(problem)
    cover = (cell == COVER) & (shortage.longest[relation] != COVER)  # there the shortage is the polygon's
    multipliers = DualMultipliers(rng.normal(size=problem.rhs.size), relation[~cover], cell[~cover], rng.random(count)[~cover])
    assert dual_bound(problem, multipliers, shortage) <= cheapest_cost(problem) + 1e-6
