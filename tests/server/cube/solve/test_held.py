"""Groups of leaf cells that the public totals cannot tell apart."""

from __future__ import annotations

import numpy as np

from statveil.server.cube.lattice import Members
from statveil.server.cube.solve.held import NO_LIMIT, held_of

ROWS_OF = Members(np.array([0, 2, 4, 6, 7]), np.array([0, 1, 0, 1, 0, 2, 2], np.int32))
"""Four leaf cells: two in rows 0 and 1, one in rows 0 and 2, one in row 2 alone."""


def test_leaf_cells_in_the_same_public_totals_are_a_group_the_cheapest_first() -> None:
    held = held_of(ROWS_OF, np.array([5, 0, NO_LIMIT]), NO_LIMIT, np.array([3.0, 1.0, 2.0, 4.0]))  # rows 0 and 1 are public
    assert (held.rows.tolist(), held.most.tolist()) == ([0, 1], [5, 0])
    first, second, third, fourth = held.number.tolist()
    assert first == second
    assert len({first, third, fourth}) == 3
    assert fourth == 0  # in no public total
    group = held.leaves.item[held.leaves.start[first] : held.leaves.start[first + 1]]
    assert group.tolist() == [1, 0]


def test_a_group_knows_the_public_totals_it_is_in() -> None:
    held = held_of(ROWS_OF, np.array([5, 0, NO_LIMIT]), NO_LIMIT, np.ones(4))
    inside = {int(number): held.within.item[held.within.start[number] : held.within.start[number + 1]].tolist() for number in held.number}
    assert sorted(inside.values()) == [[], [0], [0, 1]]


def test_without_public_totals_all_are_one_group() -> None:
    held = held_of(ROWS_OF, np.full(3, NO_LIMIT), NO_LIMIT, np.ones(4))
    assert (held.rows.size, held.number.tolist()) == (0, [0, 0, 0, 0])
