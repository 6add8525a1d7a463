"""Polygons and covers together stay below the optimum, whatever the multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds.cover_bound import cover_multipliers, dual_bound, shortages
from statveil.protect.network.bounds.polygon_bound import PolygonBlocks
from statveil.protect.search_state import DualMultipliers
from tests.protect.network.bounds.covered import RELAXED, network_of, open_somewhere
from tests.protect.network.tables import small_hierarchies
from tests.protect.problems import small_problems
from tests.reference.cta import cheapest_cost


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
