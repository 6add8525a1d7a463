"""Deviations in whole numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.sparse import csc_matrix

from statveil.suppress.cells.classes import Need, classes_of
from statveil.suppress.cells.witnesses import holds, in_whole_numbers, shown_by
from tests.suppress.cells.stories import grid

SYSTEM = classes_of(grid([[20, 50], [8, 19]], {0: 4}))
SQUARE = np.array([0, 1, 3, 4]), np.array([1, -1, -1, 1], dtype=object)
ALL = np.ones(9, dtype=bool)


def test_a_square_can_go_as_far_as_its_smallest_corner():
    reach = shown_by(SYSTEM, *SQUARE)
    assert reach[0].tolist() == [8, 19, 19, 8]  # up: the square turned either way
    assert reach[1].tolist() == [19, 8, 8, 19]


def test_a_witness_holds_only_where_all_it_moves_is_suppressed_and_unknown():
    assert holds(SYSTEM, ALL, Need(0, 1, 8), *SQUARE)
    assert not holds(SYSTEM, ALL, Need(0, 1, 9), *SQUARE)
    assert not holds(SYSTEM, ALL & (np.arange(9) != 4), Need(0, 1, 8), *SQUARE)
    assert not holds(SYSTEM, ALL, Need(0, 1, 8, (4,)), *SQUARE)
    assert not holds(SYSTEM, ALL, Need(2, 1, 1), *SQUARE)
    assert not holds(SYSTEM, ALL, Need(0, 1, 8), SQUARE[0], np.array([1, -1, -1, 2], dtype=object))


def test_fractions_become_whole_numbers_that_add_up():
    relations = csc_matrix(np.array([[2, -3, 0], [0, 7, -11]]))
    support, move = in_whole_numbers(relations, np.array([1.5, 1.0, 7 / 11]))
    assert support.tolist() == [0, 1, 2]
    assert not (relations.toarray().astype(object) @ move).any()
    assert move[0] * 2 == move[1] * 3


def test_how_far_a_vector_goes_is_the_least_of_all_rooms_by_its_moves_in_fractions():
    """Rooms that doubles cannot tell apart among them."""
    rng = np.random.default_rng(2)
    system = classes_of(grid([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {4: 4}))
    for trial in range(30):
        support = np.arange(5)
        move = rng.integers(-9, 10, size=5).astype(object)
        down, up = (rng.integers(0, 40, size=system.size) + (2**53 if trial % 2 else 0) for _ in range(2))
        own = replace(system, down=down, up=up)
        found = shown_by(own, support, move)
        for sense in (1, -1):
            rooms = [Fraction(int((up if m * sense > 0 else down)[at]), abs(m)) for at, m in enumerate(move) if m]
            least = min(rooms, default=Fraction(0))
            for at, m in enumerate(move):
                if m:
                    assert found[0 if m * sense > 0 else 1, at] == int(least * abs(m))
