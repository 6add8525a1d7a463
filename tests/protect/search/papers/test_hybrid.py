"""Methods `hybrid` and `hybrid-swaps`: how cells are dealt and swapped, and what tying them means."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.protect.search.papers import hybrid
from statveil_lab.generators.random_tables import random_problem
from tests.protect.search.stories import five_in_a_row, search_of


def test_cells_are_dealt_from_the_largest_to_the_groups_in_turn() -> None:
    """Levels 9, 7, 5, 3, 1 go to groups 0, 1, 0, 1, 0."""
    assert hybrid.deal(five_in_a_row(), 2).tolist() == [0, 0, 0, 1, 1]
    assert hybrid.deal(five_in_a_row(), 5).tolist() == [2, 0, 4, 1, 3]


def test_the_groups_for_three_are_unions_of_those_for_six() -> None:
    problem = random_problem((6, 6), seed=3)
    assert np.array_equal(hybrid.deal(problem, 6) % 3, hybrid.deal(problem, 3))


def test_there_are_no_more_groups_than_cells_and_each_number_comes_once() -> None:
    assert [count for count, _ in hybrid.group_counts(search_of(five_in_a_row()), 16, 8)] == [5]
    assert [count for count, _ in hybrid.group_counts(search_of(five_in_a_row()), 4, 3)] == [4, 3, 2]
    with pytest.raises(InputError, match="1 or more"):
        next(hybrid.group_counts(search_of(five_in_a_row()), 0, 1))


def test_one_group_moves_all_cells_the_same_way() -> None:
    """All five up or down by 25 in all; the total follows: 50."""
    search = search_of(five_in_a_row())
    hybrid.run(search, groups=1, runs=1)
    assert search.objective == 50


def test_two_groups_offset_each_other() -> None:
    """9 + 5 + 1 = 15 against 7 + 3 = 10: the total takes 5."""
    search = search_of(five_in_a_row())
    hybrid.run(search, groups=2, runs=1)
    assert search.objective == 30


def test_a_group_for_each_cell_is_the_whole_problem() -> None:
    """9 + 3 + 1 against 7 + 5: the total takes 1."""
    search = search_of(five_in_a_row())
    hybrid.run(search, groups=5, runs=1)
    assert search.objective == 26
