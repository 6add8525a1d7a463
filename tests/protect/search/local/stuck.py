"""Tables on which flips are stuck."""

from __future__ import annotations

from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search
from tests.protect.search.stories import search_of


def from_all_up(problem: ProtectionProblem) -> Search:
    search = search_of(problem)
    search.start = problem.all_up()
    return search
