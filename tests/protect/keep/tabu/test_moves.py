"""Moves along relations keep a table safe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.protect.keep.tabu.moves import ranges_of, relations_of, scratch_for, walk, wipe
from statveil.protect.keep.tabu.search import descend
from statveil_lab.generators.cox_kelly import three_way_problem
from statveil_lab.generators.random_tables import random_problem
from tests.protect.keep.tables import small_table
from tests.protect.keep.tabu.walks import S, search_for, some_table


@pytest.mark.parametrize(
    "problem",
    [small_table(), random_problem((4, 5, 3), seed=1), three_way_problem(seed=1)],
    ids=["two-way", "three-way", "overlapping codes"],
)
def test_a_walk_ends_in_a_change_that_keeps_every_relation(problem: sv.ProtectionProblem) -> None:
    relations, ranges = relations_of(problem), ranges_of(problem)
    scratch = scratch_for(relations)
    movable = np.flatnonzero(ranges.low < ranges.high)
    ended = 0
    for cell in movable[:: max(movable.size // 60, 1)].tolist():
        count, touched = walk(cell, 1, np.zeros(problem.size, dtype=np.int64), relations, ranges, scratch, 3.0)
        ended += count > 0
        if count > 0:
            assert not (problem.relations @ scratch.step).any()
            assert scratch.step[cell] != 0
        wipe(count, touched, scratch)
        assert not scratch.step.any()
        assert not scratch.off.any()
    assert ended > 10


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([{"slope": S}, {"variance": "all", "correlation": S}, {"mean": S, "variance": S}]))
def test_every_table_on_the_way_is_safe_and_the_gain_is_what_was_said(seed: int, wish: dict[str, str]) -> None:
    problem = random_problem((4, 4, 3), seed=seed % 7, sensitive=0.2)
    keep = sv.keep.Keep(**wish)  # type: ignore[arg-type]
    start = some_table(problem, seed)
    search = search_for(problem, keep, start, seed=seed)
    z = np.concatenate([start, np.zeros(search._joined.more, dtype=np.int64)])
    state = search._state(search._plain, z, search._wishes)
    before = search.objective.score(z[: problem.size]).objective
    gained, _, _ = descend(300, 10**6, 0.0, seed, state, search._seeds, 0)
    assert problem.accepts(z[: problem.size])
    after = search.objective.score(z[: problem.size]).objective
    assert after - before == pytest.approx(gained, rel=1e-6, abs=1e-6)
