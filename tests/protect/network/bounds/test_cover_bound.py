"""Bounds on networks never pass the optimum, whatever the multipliers; shortages are what enumeration finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds.cover_bound import cover_multipliers, dual_bound, shortages
from statveil.protect.network.bounds.polygon_bound import PolygonBlocks
from tests.protect.network.bounds.covered import RELAXED, network_of, open_somewhere
from tests.protect.network.tables import small_hierarchy
from tests.protect.problems import problem_of, small_problems


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
