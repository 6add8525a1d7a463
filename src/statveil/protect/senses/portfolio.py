"""Method `auto`: members chosen by structure and size, until the time, the gap or the ideas run out."""

from __future__ import annotations

from statveil.protect.exact import solve_exactly
from statveil.protect.search import Search
from statveil.protect.senses import balance, flips, ising

EXACT_UP_TO = 60
"""Sensitive cells with a real choice up to which branch and bound usually proves its optimum within a minute."""


def run(search: Search) -> None:
    """A balanced start; branch and bound when few cells have a choice; else Ising polish where it fits, and dual-priced flips."""
    problem = search.problem
    balance.run(search)
    if search.done or problem.norm != "l1":
        return
    if int((problem.can_go_up & problem.can_go_down).sum()) <= EXACT_UP_TO or search.best is None:
        solve_exactly(search)
        return
    if ising.fits(problem):
        search.enter("polishing senses")
        ising.polish(search)
    if not search.done:
        search.enter("flipping senses")
        flips.flip_while_better(search, problem.senses_of(search.best))
