"""Dives: the rest of the table leans the right way, and a table without choices has nothing to dive into."""

from __future__ import annotations

from statveil.protect.search.local import dive
from tests.protect.problems import problem_of
from tests.protect.search.stories import search_of, two_by_two
from tests.reference.cta import cheapest_cost


def test_dives_lead_to_the_optimum_of_a_small_table() -> None:
    search = search_of(two_by_two())
    dive.run(search)
    assert search.objective == cheapest_cost(search.problem)


def test_a_table_whose_only_sensitive_cell_must_rise_is_not_reopened() -> None:
    """3 cannot fall by 5; it rises to 8, and the total or the other cell with it."""
    search = search_of(problem_of([3, 20, 23], [[1, 1, -1]], levels={0: 5}))
    dive.run(search)
    assert search.objective == 10
    dive.reopen(search)
    assert search.objective == 10
