"""What searching region by region keeps: every need met, nothing dearer, the same from the same seed, and the best of small tables."""

from __future__ import annotations

import time

import numpy as np

from statveil.suppress.cells.classes import classes_of
from statveil.suppress.cells.heuristic import construct
from statveil.suppress.cells.lower_bound import CutLoop
from statveil.suppress.cells.methods.regions import CutPool, RegionSearch, cuts_broken
from statveil.suppress.cells.witnesses import holds
from tests.reference.suppression import cheapest_pattern
from tests.suppress.cells.stories import grid, random_grid

LATER = 3600.0


def search_of(problem, *, deadline: float = np.inf) -> RegionSearch:
    system = classes_of(problem)
    cover = construct(system, deadline)
    return RegionSearch(cover, CutPool(CutLoop(system, np.inf).spare, system.size), np.ones(system.size), seed=1)


def larger(seed: int):
    rng = np.random.default_rng(seed)
    return grid(rng.integers(3, 60, size=(5, 6)), {int(cell): 3 for cell in rng.choice(30, 5, replace=False)})


def test_every_need_is_met_and_nothing_is_dearer():
    for seed in range(3):
        search = search_of(larger(seed))
        cover, cost = search.cover, search.cover.cost
        assert not search.run(cover.system.needs, time.monotonic() + LATER)  # ends by itself: nothing is left to try
        assert cover.cost <= cost
        assert all(holds(cover.system, cover.suppressed, need, *cover.proofs[need]) for need in cover.system.needs)
        assert not cuts_broken(cover.system, cover.suppressed, list(cover.system.needs), np.arange(3), np.arange(3))


def test_a_dear_pattern_becomes_the_cheapest_one():
    for seed in range(4):
        problem = random_grid(np.random.default_rng(seed))
        least = cheapest_pattern(problem)
        if least is None:
            continue
        search = search_of(problem)
        search.cover.suppressed[:] = True
        search.run(search.cover.system.needs, time.monotonic() + LATER)
        assert search.cover.cost == least


def test_cuts_are_broken_where_a_need_is_not_met():
    system = classes_of(larger(1))
    everywhere = np.arange(system.size)
    for near in (everywhere, everywhere[:0]):
        broken = cuts_broken(system, system.free, list(system.needs), everywhere, near)
        assert broken
        assert all(cut.short(system.free.astype(float)) > 0 for cut in broken)


def test_the_same_seed_finds_the_same_pattern():
    found = [search_of(larger(3)) for _ in range(2)]
    for search in found:
        search.run(search.cover.system.needs, time.monotonic() + LATER)
    assert np.array_equal(found[0].cover.suppressed, found[1].cover.suppressed)


def test_nothing_is_tried_without_time_or_without_secondary_cells():
    late = search_of(larger(1), deadline=0.0)
    assert not late.run(late.cover.system.needs, time.monotonic() + LATER)
    bare = search_of(larger(2))
    bare.cover.suppressed = bare.cover.system.free.copy()
    assert not bare.run(bare.cover.system.needs, time.monotonic() + LATER)
