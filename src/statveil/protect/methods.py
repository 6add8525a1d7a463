"""The methods by name, and the function that runs one of them inside an isolated process.

A method is a function of a `Search` and of settings of its own. Whatever the method, the lower bound is worked out first, so
that every answer carries one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from statveil.arrays import IntArray
from statveil.errors import InputError
from statveil.protect.bounds import bound_by_cuts
from statveil.protect.exact import solve_exactly
from statveil.protect.options import Limits, known
from statveil.protect.problem import ProtectionProblem
from statveil.protect.reduce import Reduction
from statveil.protect.search import Found, Search
from statveil.protect.senses import (
    alternate,
    balance,
    best_of_random,
    blocks,
    dive,
    flips,
    hybrid,
    hybrid_swaps,
    ising,
    learn,
    portfolio,
    sat,
    scatter,
    tree_blocks,
)

Method = Callable[..., None]


class Team(NamedTuple):
    """A method with its settings, to be run in one process."""

    method: str
    settings: dict[str, Any]


class Task(NamedTuple):
    """What a method is asked: senses to start from, when to stop, and the seed."""

    start: IntArray | None
    limits: Limits
    seed: int


def keep_start(search: Search) -> None:
    """The best table with the senses given."""
    search.enter("fixed senses")
    if search.start is not None:
        search.try_senses(search.start)


METHODS: dict[str, Method] = {
    "auto": portfolio.run,
    "exact": solve_exactly,
    "random": best_of_random.run,
    "alternate": alternate.run,
    "hybrid": hybrid.run,
    "hybrid-swaps": hybrid_swaps.run,
    "scatter": scatter.run,
    "learn": learn.run,
    "fixed": keep_start,
    "anneal": balance.run,
    "ising": ising.run,
    "flips": flips.run,
    "dive": dive.run,
    "sat": sat.run,
    "bcd": blocks.run,
    "tree-bcd": tree_blocks.run,
}


def teams_of(problem: ProtectionProblem, method: str, settings: dict[str, Any], start: IntArray | None) -> list[Team]:
    """Check a method's name and settings at the door, and tell what to run side by side."""
    known("method", method, tuple(METHODS))
    if method == "fixed" and start is None:
        raise InputError("Method 'fixed' needs the senses to keep: give them as the start.")
    allowed = list(inspect.signature(METHODS[method]).parameters)[1:]
    unknown = sorted(set(settings) - set(allowed))
    if unknown:
        raise InputError(f"Method {method!r} has no setting {unknown[0]!r}.", hint=f"Known: {', '.join(allowed) or 'none'}.")
    if method == "auto" and not settings:
        return [Team(method, {"role": role}) for role in portfolio.teams_for(problem)]
    return [Team(method, settings)]


def run_team(number: int, reduction: Reduction, team: Team, task: Task, send: Callable[[tuple[int, Found]], None]) -> None:
    """`run_method` for one of several teams: its news bears its number."""
    run_method(reduction, team, task, lambda found: send((number, found)))


def run_method(reduction: Reduction, team: Team, task: Task, send: Callable[[Found], None]) -> None:
    """Run one method to its end or to the limit on the reduced problem, sending each improvement in the original's terms."""
    search = Search(reduction.problem, task.limits, task.seed, lambda found: send(_translated(reduction, found)))
    search.start = None if task.start is None else reduction.restrict(task.start)
    rest = np.zeros(reduction.problem.size, dtype=np.int64)
    problem = reduction.problem
    if not reduction.feasible or (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        search.prove_infeasible()
    elif reduction.problem.accepts(rest):
        search.offer(rest)
    else:
        search.enter("lower bound")
        bound_by_cuts(search)
        METHODS[team.method](search, **team.settings)


def _translated(reduction: Reduction, found: Found) -> Found:
    deviation = None if found.deviation is None else reduction.expand(found.deviation)
    return found._replace(deviation=deviation, bound=found.bound + reduction.fixed_cost)
