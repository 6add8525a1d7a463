"""What renewing keeps: every need met, nothing dearer, and the same from the same seed."""

from __future__ import annotations

import time

import numpy as np

from statveil.suppress.cells.classes import classes_of
from statveil.suppress.cells.heuristic import construct
from statveil.suppress.cells.methods.renew import renew
from statveil.suppress.cells.witnesses import holds
from tests.suppress.cells.stories import grid

LATER = 3600.0


def cover_of(seed: int):
    rng = np.random.default_rng(seed)
    problem = grid(rng.integers(3, 60, size=(5, 6)), {int(cell): 3 for cell in rng.choice(30, 5, replace=False)})
    return construct(classes_of(problem), time.monotonic() + LATER)


def test_every_need_is_met_and_nothing_is_dearer():
    for seed in range(5):
        cover = cover_of(seed)
        cost = cover.cost
        cheaper = renew(cover, cover.system.needs, np.random.default_rng(1), guide=np.ones(cover.system.size))
        assert cheaper == (cover.cost < cost)
        assert cover.cost <= cost
        assert all(holds(cover.system, cover.suppressed, need, *cover.proofs[need]) for need in cover.system.needs)
        assert (cover.discount == 1).all()


def test_the_same_seed_finds_the_same_pattern():
    found = [cover_of(3) for _ in range(2)]
    for cover in found:
        renew(cover, cover.system.needs, np.random.default_rng(7))
    assert np.array_equal(found[0].suppressed, found[1].suppressed)


def test_nothing_is_tried_without_time_or_without_secondary_cells():
    late = cover_of(1)
    late.deadline = 0.0
    assert not renew(late, late.system.needs, np.random.default_rng(1))
    bare = cover_of(2)
    bare.suppressed = bare.system.free.copy()
    assert not renew(bare, bare.system.needs, np.random.default_rng(1))
