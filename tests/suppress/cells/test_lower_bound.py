"""Cuts hold for every safe pattern, whatever multipliers they were made from."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.core.errors import InfeasibleProblem, NoTableFound
from statveil.suppress.cells import lower_bound
from statveil.suppress.cells.classes import classes_of
from statveil.suppress.cells.heuristic import construct
from statveil.suppress.cells.lower_bound import CapacityCut, CutLoop, bound_of, cut_of, partner_cuts, parts_of, rounded_up, without_taken
from tests.suppress.cells.stories import grid, random_grid


def test_the_partners_of_one_cell_in_a_square_are_counted():
    system = classes_of(grid([[20, 50], [8, 19]], {0: 4}))
    bound, _ = CutLoop(system, time.monotonic() + 60).root()
    assert bound == 3000


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_a_safe_pattern_meets_every_cut(seed):
    rng = np.random.default_rng(seed)
    problem = random_grid(rng)
    try:
        system = classes_of(problem)
        cover = construct(system, time.monotonic() + 60)
    except (InfeasibleProblem, NoTableFound):
        return
    x = cover.suppressed.astype(np.float64)
    for need in system.needs:
        cut = cut_of(system, need, rng.integers(-3, 4, size=system.relations.shape[0]) / rng.integers(1, 4))
        if cut is None:
            continue
        assert cut.short(x) <= 0
        assert not system.free[cut.classes].any()  # they are suppressed anyway: what they add is taken off
        for tighter in (rounded_up, without_taken):
            made = tighter(cut, rng.random(system.size))
            assert made is None or made.short(x) <= 0
    bound, _ = CutLoop(system, time.monotonic() + 60).root()
    assert bound <= cover.cost


def test_a_cut_that_two_of_three_must_meet_is_rounded_up_to_two():
    cut = CapacityCut(np.arange(4), np.array([5, 5, 5, 3], dtype=object), 8)
    found = rounded_up(cut, np.array([0.8, 0.8, 0.0, 0.0]))
    assert found is not None
    assert (found.factor.tolist(), found.least) == ([1, 1, 1, 1], 2)
    assert rounded_up(cut, np.ones(4)) is None
    assert rounded_up(CapacityCut(np.arange(2), np.array([1, -1], dtype=object), 0), np.ones(2)) is None


def test_what_one_class_is_counted_for_is_at_most_what_the_others_leave():
    cut = CapacityCut(np.arange(4), np.array([5, 5, 5, 3], dtype=object), 8)
    point = np.array([1.0, 0.6, 0.0, 0.0])  # 5 and 3: enough for the cut, but half a class is none
    found = without_taken(cut, point)
    assert cut.short(point) <= 0
    assert found is not None
    assert (found.classes.tolist(), found.factor.tolist(), found.least) == ([1, 2, 3], [1, 1, 1], 1)
    assert without_taken(cut, np.array([1.0, 1.0, 0.0, 0.0])) is None
    assert without_taken(CapacityCut(np.arange(2), np.array([1, -1], dtype=object), 0), np.ones(2)) is None


def test_multipliers_below_zero_prove_nothing():
    system = classes_of(grid([[20, 50], [8, 19]], {0: 4}))
    cuts = partner_cuts(system)
    assert bound_of(system, cuts, np.full(len(cuts), -1.0)) == 0


@pytest.mark.parametrize("amount", [1, 8, 20])
def test_bounds_do_not_fall_with_the_need(amount):
    system = classes_of(grid([[20, 50, 9], [8, 19, 30], [5, 5, 40]], {0: amount}))
    bound, _ = CutLoop(system, time.monotonic() + 60).root()
    assert bound >= 3000


def test_a_part_among_few_classes_keeps_the_cells_of_its_needs():
    system = classes_of(grid([[20, 50, 9], [8, 19, 30], [5, 5, 40]], {0: 4}))
    (part,) = parts_of(system, np.arange(system.size), system.needs)
    frame = part.among(system, np.arange(0))
    assert frame.classes.tolist() == [system.needs[0].target]
    assert frame.rows.tolist() == sorted(system.columns[:, frame.classes].indices)
    assert frame.needs == part.needs


def test_clearing_out_cuts_that_are_met_with_much_to_spare_changes_no_bound(monkeypatch):
    rng = np.random.default_rng(5)
    system = classes_of(grid(rng.integers(3, 60, size=(9, 10)), {int(cell): 25 for cell in rng.choice(90, 12, replace=False)}))
    bounds, sizes = [], []
    for keeping in (1, 10_000):
        monkeypatch.setattr(lower_bound, "TUNING", lower_bound.TUNING._replace(keeping=keeping))
        loop = CutLoop(system, time.monotonic() + 60)
        bounds.append(loop.root()[0])
        sizes.append(len(loop.cuts))
    assert bounds[0] == bounds[1]
    assert sizes[0] < sizes[1]
