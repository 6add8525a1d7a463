"""The compiled loops behind every table: the largest of a cell, who gave it, and sums of positions."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.data.largest import (
    REQUESTED,
    UNWAIVED,
    ContributionRows,
    Ranks,
    RecordRows,
    add_into,
    add_records,
    insert_at,
    place_among,
    raise_ranks,
    rank_records,
    rank_respondents,
    xor_into,
)

NOTHING = np.zeros(0, np.int64)
NO_FLAGS = np.zeros(0, np.uint8)


@pytest.mark.parametrize(
    ("amount", "place", "after"),
    [(7, 1, [9, 7, 5]), (3, 2, [9, 5, 3]), (10, 0, [10, 9, 5]), (5, 2, [9, 5, 5])],
)
def test_an_amount_takes_its_place_behind_equal_ones(amount: int, place: int, after: list[int]) -> None:
    largest = np.array([9, 5, -1])
    assert place_among(largest, amount) == place
    assert largest.tolist() == after


def test_an_amount_that_is_none_of_the_largest_changes_nothing() -> None:
    largest, copies = np.array([9, 5]), np.array([2, 1])
    place = place_among(largest, 5)
    insert_at(copies, place, 8)
    assert (place, largest.tolist(), copies.tolist()) == (-1, [9, 5], [2, 1])


def test_copies_move_down_with_their_amounts() -> None:
    copies = np.array([4, 2, 1])
    insert_at(copies, 1, 8)
    assert copies.tolist() == [4, 8, 2]


def test_leaves_go_to_their_positions_and_those_at_minus_one_nowhere() -> None:
    position, sums, marks = np.array([0, 1, 0, -1], np.int32), np.zeros(2, np.int64), np.zeros(2, np.int64)
    add_into(sums, position, np.array([5, 6, 7, 100]))
    xor_into(marks, position, np.array([0b110, 0b1, 0b011, 0b111]))
    assert (sums.tolist(), marks.tolist()) == ([12, 6], [0b101, 0b1])


def test_a_record_without_a_weight_weighs_one_and_its_mass_is_its_size() -> None:
    plain, weighted = np.zeros((1, 4), np.int64), np.zeros((1, 4), np.int64)
    key, value = np.array([0, 0]), np.array([5, -3])
    add_records(RecordRows(key, value, NOTHING, NOTHING), plain)
    add_records(RecordRows(key, value, np.array([10, 20]), np.array([50, 60])), weighted)
    assert (plain.tolist(), weighted.tolist()) == ([[2, 2, 2, 8]], [[2, 2, 30, 110]])


def test_a_holding_gives_a_margin_what_its_gains_and_losses_leave() -> None:
    """The first gives 10 to one leaf and loses 4 in the other; the second gives 5: margins of 6 and 5."""
    rows = ContributionRows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([10, -4, 5]), NOTHING, NO_FLAGS, np.array([1, 9], np.uint64))
    ranks = Ranks.none(1, 2, copies=False, flags=False, names=True)
    rank_respondents(rows, np.zeros(2, np.int32), ranks)
    assert ranks.largest.tolist() == [[6, 5]]
    assert ranks.state[0, 2:].tolist() == [2, 11]  # respondents, and what they give in all
    assert ranks.leader.tolist() == [1]


def test_of_two_that_give_the_same_the_larger_name_leads_whoever_comes_first() -> None:
    for names in ([1, 9], [9, 1]):
        rows = ContributionRows(np.array([0, 1, 2]), np.zeros(2, int), np.array([5, 5]), NOTHING, NO_FLAGS, np.array(names, np.uint64))
        ranks = Ranks.none(1, 2, copies=False, flags=False, names=True)
        rank_respondents(rows, np.zeros(1, np.int32), ranks)
        assert ranks.leader.tolist() == [9]


def test_flags_name_the_largest_who_has_not_waived_and_the_largest_who_asked() -> None:
    flags = np.array([0, UNWAIVED, UNWAIVED | REQUESTED], np.uint8)
    rows = ContributionRows(NOTHING, np.zeros(3, int), np.array([50, -20, 7]), NOTHING, flags, NOTHING)
    ranks = Ranks.none(1, 3, copies=False, flags=True, names=False)
    rank_records(rows, np.zeros(1, np.int32), ranks)
    assert (ranks.largest.tolist(), ranks.flagged.tolist()) == ([[50, 20, 7]], [[20, 7]])


def test_the_largest_of_a_total_are_among_the_largest_of_its_parts() -> None:
    lower, upper = (Ranks.none(size, 2, copies=True, flags=False, names=False) for size in (2, 1))
    lower.largest[:], lower.copies[:] = [[9, 4], [7, -1]], [[1, 2], [3, 0]]
    raise_ranks(lower, np.zeros(2, np.int32), upper)
    assert (upper.largest.tolist(), upper.copies.tolist()) == ([[9, 7]], [[1, 3]])
