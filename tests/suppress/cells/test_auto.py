"""The team that is guided by the bound: what it tells last is the best it has."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.suppress.cells.auto import PatternNews, run_guided
from statveil.suppress.cells.classes import classes_of
from statveil.suppress.cells.witnesses import holds
from tests.reference.suppression import cheapest_pattern
from tests.suppress.cells.stories import random_grid


@pytest.mark.parametrize("seed", [42, 52])
def test_what_is_told_last_is_the_cheapest_pattern_though_the_first_one_was_dearer(seed):
    problem = random_grid(np.random.default_rng(seed))
    system, told = classes_of(problem), list[PatternNews]()
    run_guided(system, 60.0, told.append)
    costs = [int(system.cost[news.suppressed].sum()) for news in told if news.suppressed is not None]
    assert costs[0] > costs[-1] == cheapest_pattern(problem)
    last = told[-1]
    assert all(holds(system, last.suppressed, need, *last.proofs[need]) for need in system.needs)
