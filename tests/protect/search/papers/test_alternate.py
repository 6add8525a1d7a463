"""The largest goes up, the next one down."""

from __future__ import annotations

import numpy as np

from statveil.protect.search.papers import alternate, best_of_random
from tests.protect.problems import problem_of
from tests.protect.search.stories import five_in_a_row, search_of


def test_the_largest_goes_up_the_next_down() -> None:
    assert alternate.largest_first(five_in_a_row()).tolist() == [1, 3, 0, 4, 2]
    assert alternate.alternate_senses(five_in_a_row()).tolist() == [1, 1, 1, -1, -1, 0]


def test_a_cell_that_can_only_go_up_does_not_take_a_turn() -> None:
    """The first cell is smaller than its level; of the others the larger one goes up."""
    problem = problem_of([3, 50, 50, 103], [[1, 1, 1, -1]], levels={0: 9, 1: 4, 2: 6})
    assert alternate.alternate_senses(problem).tolist() == [1, -1, 1, 0]
    for _ in range(10):
        assert best_of_random.draw_senses(search_of(problem))[0] == 1


def test_alternate_has_no_table_where_its_senses_have_none() -> None:
    """Two parts and a fixed total: 4 up and 3 down do not meet when both must move by exactly their levels."""
    problem = problem_of(
        [50, 50, 100], [[1, 1, -1]], levels={0: 4, 1: 3}, variant="exact", lower=np.array([0, 0, 100]), upper=np.array([99, 99, 100])
    )
    search = search_of(problem)
    alternate.run(search)
    assert search.best is None
