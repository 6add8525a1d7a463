"""The methods by name, and the function that runs one of them inside an isolated process.

A method is a function of a `Search` and of settings of its own. Whatever the method, the lower bound is worked out first, so
that every answer carries one.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_origin, get_type_hints

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits, known
from statveil.protect.bounds.cuts import bound_by_cuts
from statveil.protect.network import engine
from statveil.protect.presolve.components import Components
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import choose
from statveil.protect.search.exact import solve_exactly
from statveil.protect.search.local import anneal, dive, flips, ising, messages, nearby, tabu, walk
from statveil.protect.search.papers import alternate, bcd, best_of_random, hybrid, hybrid_swaps, learn, sat, scatter, tree_bcd
from statveil.protect.search.state import Found, Search

Method = Callable[..., None]

FIRST_TRY = 0.1
"""Part of its time that a component gets in the first round."""
LATEST = 5.0
"""Seconds that a process can be late; a larger difference is a clock set anew."""
LEAST, SHORTEST = 1.0, 0.1
"""Seconds that a component may take, however small its share; and seconds that are given even where none are left."""


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
    "auto": choose.run,
    "exact": solve_exactly,
    "random": best_of_random.run,
    "alternate": alternate.run,
    "hybrid": hybrid.run,
    "hybrid-swaps": hybrid_swaps.run,
    "scatter": scatter.run,
    "learn": learn.run,
    "fixed": keep_start,
    "anneal": anneal.run,
    "messages": messages.run,
    "ising": ising.run,
    "flips": flips.run,
    "tabu": tabu.run,
    "dive": dive.run,
    "nearby": nearby.run,
    "walk": walk.run,
    "sat": sat.run,
    "bcd": bcd.run,
    "tree-bcd": tree_bcd.run,
    "network": engine.run,
}
BOUND_OF_THEIR_OWN = ("network",)
"""Methods that work out the lower bound themselves."""
ROLES = {"auto": ("proof", "search", "blocks"), "network": engine.ROLES}
"""What methods can be asked to do alone."""
ZERO_TOO = ("gap", "free", "share", "rebuilds", "seeds")
"""Settings that may be zero: nothing but the optimum, no share, not once, as many as suit the table."""
SEARCHED_AS_WELL = 20_000
"""Cells of a network up to which `auto` has a second team reopen neighbourhoods: small networks are often as well served that way."""


def check_method(method: str, settings: dict[str, Any], start: IntArray | None) -> None:
    """Check a method's name and settings at the door."""
    known("method", method, tuple(METHODS))
    if method == "fixed" and start is None:
        raise InputError("Method 'fixed' needs the senses to keep: give them as the start.")
    allowed = list(inspect.signature(METHODS[method]).parameters)[1:]
    unknown = sorted(set(settings) - set(allowed))
    if unknown:
        raise InputError(f"Method {method!r} has no setting {unknown[0]!r}.", hint=f"Known: {', '.join(allowed) or 'none'}.")
    kinds = get_type_hints(METHODS[method])
    for name, value in settings.items():
        if name == "role":
            known("role", str(value), ROLES[method])
        else:
            _check_setting(name, value, kinds[name])


def _check_setting(name: str, value: object, kind: type) -> None:
    """Refuse what is not of the setting's type, and amounts below zero or, unless it means something, of zero."""
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"Setting {name!r} must be true or false.")
    elif get_origin(kind) is tuple:
        if not (isinstance(value, list | tuple) and value and all(_is_amount(each, whole=True, zero=False) for each in value)):
            raise InputError(f"Setting {name!r} must be a list of whole numbers above zero.", hint=f"For example: {name}=[30, 15].")
    elif not _is_amount(value, whole=kind is int, zero=name in ZERO_TOO):
        number = "a whole number" if kind is int else "a number"
        raise InputError(f"Setting {name!r} must be {number}, {'zero or more' if name in ZERO_TOO else 'above zero'}.")


def _is_amount(value: object, *, whole: bool, zero: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | np.integer | (np.integer if whole else float)):
        return False
    return math.isfinite(value) and bool(value >= 0 if zero else value > 0)


def teams_of(problem: ProtectionProblem, method: str, settings: dict[str, Any]) -> list[Team]:
    """What to run on a problem side by side."""
    if method == "auto" and not settings and engine.fits(problem):
        if problem.size <= SEARCHED_AS_WELL:
            return [Team("network", {}), Team(method, {"role": "blocks"})]
        apart = engine.bound_takes_long(problem)
        return [Team("network", {"role": role}) for role in ("tables", "bound")] if apart else [Team("network", {})]
    if method == "auto" and not settings:
        return [Team(method, {"role": role}) for role in choose.teams_for(problem)]
    return [Team(method, settings)]


class Job(NamedTuple):
    """A component to be worked on by a team; `rank` numbers the teams that work on the same one.

    `bounded`: whether the team works out the bound by cuts; one of those that work on a component is enough.
    """

    component: int
    rank: int
    team: Team
    task: Task
    bounded: bool = True


News = tuple[int, int, Found]
"""Component, rank of the team, and what it found, in the component's own terms."""


def plan_jobs(components: Components, method: str, settings: dict[str, Any], task: Task) -> list[list[Job]]:
    """What to run side by side, a list of jobs a process. A component with one team goes where there is least to do yet."""
    plan: list[list[Job]] = [[], []]
    loads = [0, 0]
    several = len(components) > 1 and method == "auto" and not settings
    for component in np.argsort(-components.sizes, kind="stable").tolist():
        teams = teams_of(components.problem(component), method, settings)
        lightest = loads.index(min(loads)) if several else 0
        for rank, team in enumerate(teams):
            process = rank if len(teams) > 1 else lightest
            start = None if task.start is None else task.start[components.cells_of(component)]
            bounded = rank == 0 or teams[0].method in BOUND_OF_THEIR_OWN
            plan[process].append(Job(component, rank, team, Task(start, task.limits, task.seed + rank), bounded))
            loads[process] += int(components.sizes[component])
    return [jobs for jobs in plan if jobs]


def run_jobs(components: Components, jobs: Sequence[Job], limits: Limits, asked: float, send: Callable[[News], None]) -> None:
    """One process's jobs, small components first. The time runs from when they were `asked` for: a process takes a while to start.

    Where there are several, all are tried for a short while at first, so that there soon is a table; those that did not end by
    themselves then begin anew with their full share of the time, as if that had not been: what they find must not depend on the clock.
    """
    late = min(max(time.time() - asked, 0.0), LATEST)
    deadline = time.monotonic() + limits.seconds - late
    waiting = sorted(jobs, key=lambda job: (components.sizes[job.component], job.component))
    for portion in (FIRST_TRY, 1.0) if len(jobs) > 1 else (1.0,):
        waiting = _run_round(components, waiting, portion, deadline, send)


def _run_round(components: Components, jobs: Sequence[Job], portion: float, deadline: float, send: Callable[[News], None]) -> list[Job]:
    """Each job once, with a portion of its share of the time: by its size, of what is left. Tells which the clock ended."""
    unfinished = []
    sizes = components.sizes[[job.component for job in jobs]]
    for job, share in zip(jobs, sizes / np.maximum(np.cumsum(sizes[::-1])[::-1], 1), strict=True):
        left = max(deadline - time.monotonic(), SHORTEST)
        limits = dataclasses.replace(job.task.limits, seconds=min(max(portion * share * left, LEAST), left))
        problem, task = components.problem(job.component), job.task._replace(limits=limits)
        bounded = job.bounded or limits.gap > 0
        if run_method(problem, job.team, task, _teller(job, send, quiet=len(components) > 1), bounded=bounded):
            send((job.component, job.rank, Found("ended", 0.0, ended=True)))
        else:
            unfinished.append(job)
    return unfinished


def _teller(job: Job, send: Callable[[News], None], *, quiet: bool) -> Callable[[Found], None]:
    """What a job's search tells its news to. Of many small searches only tables, bounds and endings are news, not their stages."""
    heard = 0.0

    def tell(found: Found) -> None:
        nonlocal heard
        if not quiet or found.deviation is not None or found.infeasible or found.proof is not None or found.bound > heard:
            heard = max(heard, found.bound)
            send((job.component, job.rank, found))

    return tell


def run_method(problem: ProtectionProblem, team: Team, task: Task, send: Callable[[Found], None], *, bounded: bool = True) -> bool:
    """Run one method on a reduced problem, sending each improvement. Tells whether it ended by itself, or else by the clock.

    A second team needs no bound of its own (`bounded`), unless it must tell when the gap is small enough.
    """
    search = Search(problem, task.limits, task.seed, send)
    search.start = task.start
    rest = np.zeros(problem.size, dtype=np.int64)
    if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        search.prove_infeasible()
    elif problem.accepts(rest):
        search.offer(rest)
    else:
        search.enter("lower bound")
        if bounded and team.method not in BOUND_OF_THEIR_OWN:
            bound_by_cuts(search)
        METHODS[team.method](search, **team.settings)
    return search.seconds_left > 0
