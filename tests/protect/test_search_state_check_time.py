"""What is kept of a run's time for checking its proof grows with the table, with the proof's leaves and with their copies."""

from __future__ import annotations

import numpy as np

from statveil.core.limits import Limits
from statveil.formats.certificate import Alike, Cases
from statveil.protect.search_state import CHECK_TIME, NO_MULTIPLIERS, LiftedMultipliers, Proof, seconds_kept, seconds_to_check
from tests.protect.problems import problem_of

ROW = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})
UNEVEN = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4}, weight=np.array([1.0, 0.5, 0.25, 0.125]))


def lifted(copies: int) -> LiftedMultipliers:
    none = np.zeros(0, dtype=np.int64)
    return LiftedMultipliers(NO_MULTIPLIERS, none, np.zeros((1, copies), dtype=np.int16), none, none, none, np.zeros(0))


def test_each_leaf_counts() -> None:
    two: Proof = Cases(0, NO_MULTIPLIERS, NO_MULTIPLIERS)
    assert seconds_to_check(ROW, Alike(0, 1, two, two)) == 4 * seconds_to_check(ROW, NO_MULTIPLIERS) > 0


def test_each_copy_counts() -> None:
    assert seconds_to_check(ROW, lifted(7)) - seconds_to_check(ROW, lifted(3)) > 3.9 * CHECK_TIME.leaf_per_factor


def test_uneven_weights_take_longer_and_nothing_takes_all() -> None:
    ample, tight = Limits(seconds=100), Limits(seconds=1e-9)
    assert seconds_kept(ROW, ample) < seconds_kept(UNEVEN, ample) < 0.04 * 100
    assert seconds_kept(UNEVEN, tight) == CHECK_TIME.most_of_the_time * 1e-9
