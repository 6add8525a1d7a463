"""Tables that a reader cannot tell from the truth: believed only where whole numbers show them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from statveil.audit.patterns.witnesses import WitnessBook

SUM = csr_matrix([[1, 1, -1]])


def book(down: list[int], up: list[int], need: int = 5) -> WitnessBook:
    wanted = np.full(len(down), need)
    return WitnessBook(SUM, np.array(down), np.array(up), (wanted, wanted))


def test_a_table_counts_both_ways_as_far_as_there_is_room() -> None:
    """First cell up by 4, second down by 4; turned round the first can fall by 6, for the second may rise by 6."""
    kept = book([10, 4, 0], [4, 6, 0])
    assert kept.keep(np.array([4.0, -4.0, 0.0]))
    assert (kept.up.tolist(), kept.down.tolist()) == ([4, 6, 0], [6, 4, 0])
    assert kept.still_open()[0].tolist() == [False, True, True]


@given(deviation=st.lists(st.floats(-20, 20), min_size=3, max_size=3), asked=st.integers(0, 12))
def test_whatever_is_shown_to_it_the_book_claims_no_more_than_there_is(deviation: list[float], asked: int) -> None:
    """The total is fixed, so that the second cell falls as the first rises: that reaches from 10 below to 3 above."""
    kept = book([10, 3, 0], [10, 10, 0], need=asked)
    kept.keep(np.array(deviation))
    assert (kept.up <= [3, 10, 0]).all()
    assert (kept.down <= [10, 3, 0]).all()


def test_thirds_are_checked_in_thirds_and_told_in_whole_units() -> None:
    kept = WitnessBook(csr_matrix([[3, -1]]), np.array([2, 9]), np.array([2, 9]), (np.full(2, 9), np.full(2, 9)))
    assert kept.keep(np.array([5 / 3, 5.0]))
    assert (kept.up.tolist(), kept.down.tolist()) == ([1, 5], [2, 6])


def test_a_table_that_moves_nothing_shows_nothing() -> None:
    kept = book([1, 1, 0], [5, 5, 0])
    assert kept.keep(np.zeros(3))
    assert not kept.up.any()
    assert not kept.down.any()
