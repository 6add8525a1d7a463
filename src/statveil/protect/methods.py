"""The methods by name, and the function that runs one of them inside the isolated process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from statveil.arrays import IntArray
from statveil.protect.bounds import bound_by_cuts
from statveil.protect.exact import solve_exactly
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.reduce import Reduction, reduce_problem
from statveil.protect.search import Found, Search
from statveil.protect.senses import ising
from statveil.protect.senses.balance import all_up, anneal_senses
from statveil.protect.senses.flips import flip_while_better

EXACT_UP_TO = 60
"""Sensitive cells with a real choice up to which branch and bound usually proves its optimum within a minute."""


def run_method(
    problem: ProtectionProblem, method: str, senses: IntArray | None, limits: Limits, seed: int, send: Callable[[Found], None]
) -> None:
    """Run one method to its end or to the limit on the reduced problem, sending each improvement in the original's terms."""
    reduction = reduce_problem(problem)
    search = Search(reduction.problem, limits, seed, lambda found: send(_translated(reduction, found)))
    if not reduction.feasible:
        search.prove_infeasible()
    elif (
        not reduction.problem.sensitive.any()
        and not reduction.problem.residual.any()
        and reduction.problem.accepts(rest := _at_rest(reduction))
    ):
        search.offer(rest)
    elif senses is not None:
        adjust_fixed(search, reduction.restrict(senses))
    else:
        METHODS[method](search)


def _translated(reduction: Reduction, found: Found) -> Found:
    deviation = None if found.deviation is None else reduction.expand(found.deviation)
    return found._replace(deviation=deviation, bound=found.bound + reduction.fixed_cost)


def _at_rest(reduction: Reduction) -> IntArray:
    return np.zeros(reduction.problem.size, dtype=np.int64)


def adjust_fixed(search: Search, senses: IntArray) -> None:
    """The best table with the senses given; the bound still holds for all senses."""
    search.enter("fixed senses")
    search.try_senses(senses)
    bound_by_cuts(search)


def exact(search: Search) -> None:
    start(search)
    search.enter("lower bound")
    bound_by_cuts(search)
    if not search.done:
        solve_exactly(search)


def auto(search: Search) -> None:
    """A balanced start and the bound; Ising polish where it fits, dual-priced flips; branch and bound when few cells have a choice."""
    start(search)
    search.enter("lower bound")
    bound_by_cuts(search)
    problem = search.problem
    if search.done or problem.norm != "l1":
        return
    choices = int((problem.can_go_up & problem.can_go_down).sum())
    if choices <= EXACT_UP_TO:
        solve_exactly(search)
        return
    if ising.fits(problem):
        search.enter("polishing senses")
        ising.polish(search)
    if search.best is not None and not search.done:
        search.enter("flipping senses")
        flip_while_better(search, problem.senses_of(search.best))
    if search.best is None:
        solve_exactly(search)


def start(search: Search) -> None:
    """First tables: annealed senses, and all cells up, which is feasible wherever upper bounds are free."""
    search.enter("balancing senses")
    search.try_senses(anneal_senses(search))
    if search.best is None:
        search.enter("all up")
        search.try_senses(all_up(search.problem))


METHODS: dict[str, Callable[[Search], None]] = {"auto": auto, "exact": exact, "fixed": lambda search: None}
