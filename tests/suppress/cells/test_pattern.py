"""Witnesses in cells: believed only if they keep every sum, move nothing published, and stay within what is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statveil.suppress.cells.pattern import LevelWitness, witness_holds
from tests.suppress.cells.stories import grid

PROBLEM = grid([[20, 50], [8, 19]], {0: 4})
SUPPRESSED = np.isin(np.arange(9), [0, 1, 3, 4])
SQUARE = LevelWitness(cell=0, sense=1, level=4, cells=np.array([0, 1, 3, 4]), move=np.array([1, -1, -1, 1], dtype=object))


def test_a_square_shows_its_level_as_far_as_its_corners_go():
    assert witness_holds(PROBLEM, SUPPRESSED, SQUARE)
    assert witness_holds(PROBLEM, SUPPRESSED, SQUARE._replace(level=8))
    assert not witness_holds(PROBLEM, SUPPRESSED, SQUARE._replace(level=9))
    known = replace(PROBLEM, upper=PROBLEM.value + 3, upper_level=np.minimum(PROBLEM.upper_level, 3))
    assert not witness_holds(known, SUPPRESSED, SQUARE)


def test_what_is_no_witness_is_none():
    assert not witness_holds(PROBLEM, SUPPRESSED & (np.arange(9) != 4), SQUARE)
    assert not witness_holds(PROBLEM, SUPPRESSED, SQUARE._replace(sense=-1))
    assert not witness_holds(PROBLEM, SUPPRESSED, SQUARE._replace(cell=2))
    assert not witness_holds(PROBLEM, SUPPRESSED, SQUARE._replace(move=np.array([1, -1, -1, 2], dtype=object)))
    twice = SQUARE._replace(cells=np.array([0, 1, 3, 4, 0]), move=np.array([1, -1, -1, 1, 1], dtype=object))
    assert not witness_holds(PROBLEM, SUPPRESSED, twice)
