"""Neighbourhoods reopened (docs/science.md, section 4, "structured LNS"): the senses of cells near one another chosen anew by branch and
bound.

A block is small enough for the solver to finish, and its cells share relations, so that what one takes another can give.
"""

from __future__ import annotations

from typing import NamedTuple

from statveil.protect.search.exact import improve_block, nearest_choices
from statveil.protect.search.local import anneal
from statveil.protect.search_state import Search


class NearbyTuning(NamedTuple):
    """Limits of one block."""

    longest_block: float = 10.0  # seconds; the nodes end it sooner as a rule, so that runs repeat; by judgement


TUNING = NearbyTuning()


def run(search: Search, *, sizes: tuple[int, ...] = (30, 15, 60), nodes: int = 200, patience: int = 60) -> None:
    """Method `nearby`: blocks around random cells, sizes in turn, until `patience` of them in a row bring nothing."""
    anneal.begin(search)
    search.enter("reopening neighbourhoods")
    choices = search.problem.choices.size
    idle = turn = 0
    while search.best is not None and choices and idle < patience and not search.done:
        block = nearest_choices(search, min(sizes[turn % len(sizes)], choices))
        better = improve_block(search, block, seconds=TUNING.longest_block, nodes=nodes)
        idle, turn = 0 if better else idle + 1, turn + 1
