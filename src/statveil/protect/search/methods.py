"""The register of methods by name, and the function that runs one of them inside an isolated process.

A method is a function of a `Search` and of settings of its own. Whatever the method, the lower bound is worked out first, so
that every answer carries one.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, get_origin, get_type_hints

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.core.limits import Limits, known
from statveil.protect.presolve.components import Components
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search, SearchNews

Method = Callable[..., None]


class RoundTuning(NamedTuple):
    """How a process divides its time among components; all by judgement."""

    first_try: float = 0.1  # part of its time that a component gets in the first round
    latest: float = 5.0  # seconds that a process can be late; a larger difference is a clock set anew
    least: float = 1.0  # seconds that a component may take, however small its share
    shortest: float = 0.1  # seconds that are given even where none are left


TUNING = RoundTuning()


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


HOMES = {
    "auto": "search.choose:run",
    "exact": "search.exact:solve_exactly",
    "random": "search.papers.best_of_random:run",
    "alternate": "search.papers.alternate:run",
    "hybrid": "search.papers.hybrid:run",
    "hybrid-swaps": "search.papers.hybrid_swaps:run",
    "scatter": "search.papers.scatter:run",
    "learn": "search.papers.learn:run",
    "fixed": "search.methods:keep_start",
    "anneal": "search.local.anneal:run",
    "messages": "search.local.messages:run",
    "ising": "search.local.ising:run",
    "flips": "search.local.flips:run",
    "tabu": "search.local.tabu:run",
    "dive": "search.local.dive:run",
    "nearby": "search.local.nearby:run",
    "walk": "search.local.walk:run",
    "sat": "search.papers.sat:run",
    "bcd": "search.papers.bcd:run",
    "tree-bcd": "search.papers.tree_bcd:run",
    "fix-and-relax": "search.papers.fix_and_relax:run",
    "network": "network.engine:run",
    "dense": "dense.engine:run",
}
"""Every method's module, below `statveil.protect`, and function: it is imported when the method runs, or has settings to check."""
BOUND_OF_THEIR_OWN = ("network", "auto", "dense")
"""Methods that work out the lower bound themselves, `auto` after its first table."""
ZERO_TOO = ("gap", "free", "share", "rebuilds", "seeds")
"""Settings that may be zero: nothing but the optimum, no share, not once, as many as suit the table."""


def _home(method: str) -> tuple[ModuleType, Method]:
    module, function = HOMES[method].split(":")
    home = import_module(f"statveil.protect.{module}")
    return home, getattr(home, function)


def check_method(method: str, settings: dict[str, Any], start: IntArray | None) -> None:
    """Check a method's name and settings at the door."""
    known("method", method, tuple(HOMES))
    if method == "fixed" and start is None:
        raise InputError("Method 'fixed' needs the senses to keep: give them as the start.")
    if settings:
        _check_settings(method, settings)


def _check_settings(method: str, settings: dict[str, Any]) -> None:
    home, run = _home(method)
    allowed = list(inspect.signature(run).parameters)[1:]
    unknown = sorted(set(settings) - set(allowed))
    if unknown:
        raise InputError(f"Method {method!r} has no setting {unknown[0]!r}.", hint=f"Known: {', '.join(allowed) or 'none'}.")
    kinds = get_type_hints(run)
    for name, value in settings.items():
        if kinds[name] is str:
            known(name, str(value), getattr(home, f"{name.upper()}S"))
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
    if method != "auto" or settings:
        return [Team(method, settings)]
    from statveil.protect.search import choose

    return [Team(*each) for each in choose.teams_for(problem)]


class TeamJob(NamedTuple):
    """A component to be worked on by a team; `rank` numbers the teams that work on the same one.

    `bounded`: whether the team works out the bound by cuts; one of those that work on a component is enough.
    """

    component: int
    rank: int
    team: Team
    task: Task
    bounded: bool = True


TeamNews = tuple[int, int, SearchNews]
"""Component, rank of the team, and what it found, in the component's own terms."""


def plan_jobs(components: Components, method: str, settings: dict[str, Any], task: Task) -> list[list[TeamJob]]:
    """What to run side by side, a list of jobs a process. A component with one team goes where there is least to do yet."""
    plan: list[list[TeamJob]] = [[], []]
    loads = [0, 0]
    several = len(components) > 1 and method == "auto" and not settings
    for component in np.argsort(-components.sizes, kind="stable").tolist():
        teams = teams_of(components.problem(component), method, settings)
        lightest = loads.index(min(loads)) if several else 0
        for rank, team in enumerate(teams):
            process = rank if len(teams) > 1 else lightest
            start = None if task.start is None else task.start[components.cells_of(component)]
            bounded = rank == 0 or teams[0].method == "network"
            plan[process].append(TeamJob(component, rank, team, Task(start, task.limits, task.seed + rank), bounded))
            loads[process] += int(components.sizes[component])
    return [jobs for jobs in plan if jobs]


def run_jobs(components: Components, jobs: Sequence[TeamJob], limits: Limits, asked: float, send: Callable[[TeamNews], None]) -> None:
    """One process's jobs, small components first. The time runs from when they were `asked` for: a process takes a while to start.

    Where there are several, all are tried for a short while at first, so that there soon is a table; those that did not end by
    themselves then begin anew with their full share of the time, as if that had not been: what they find must not depend on the clock.
    """
    late = min(max(time.time() - asked, 0.0), TUNING.latest)
    deadline = time.monotonic() + limits.seconds - late
    waiting = sorted(jobs, key=lambda job: (components.sizes[job.component], job.component))
    for portion in (TUNING.first_try, 1.0) if len(jobs) > 1 else (1.0,):
        waiting = _run_round(components, waiting, portion, deadline, send)


def _run_round(
    components: Components, jobs: Sequence[TeamJob], portion: float, deadline: float, send: Callable[[TeamNews], None]
) -> list[TeamJob]:
    """Each job once, with a portion of its share of the time: by its size, of what is left. Tells which the clock ended."""
    unfinished = []
    sizes = components.sizes[[job.component for job in jobs]]
    for job, share in zip(jobs, sizes / np.maximum(np.cumsum(sizes[::-1])[::-1], 1), strict=True):
        left = max(deadline - time.monotonic(), TUNING.shortest)
        limits = dataclasses.replace(job.task.limits, seconds=min(max(portion * share * left, TUNING.least), left))
        problem, task = components.problem(job.component), job.task._replace(limits=limits)
        bounded = job.bounded or limits.gap > 0
        if run_method(problem, job.team, task, _teller(job, send, quiet=len(components) > 1), bounded=bounded):
            send((job.component, job.rank, SearchNews("ended", 0.0, ended=True)))
        else:
            unfinished.append(job)
    return unfinished


def _teller(job: TeamJob, send: Callable[[TeamNews], None], *, quiet: bool) -> Callable[[SearchNews], None]:
    """What a job's search tells its news to. Of many small searches only tables, bounds and endings are news, not their stages."""
    heard = 0.0

    def tell(found: SearchNews) -> None:
        nonlocal heard
        if not quiet or found.deviation is not None or found.infeasible or found.proof is not None or found.bound > heard:
            heard = max(heard, found.bound)
            send((job.component, job.rank, found))

    return tell


def run_method(problem: ProtectionProblem, team: Team, task: Task, send: Callable[[SearchNews], None], *, bounded: bool = True) -> bool:
    """Run one method on a reduced problem, sending each improvement. Tells whether it ended by itself, or else by the clock.

    A second team needs no bound of its own (`bounded`), unless it must tell when the gap is small enough.
    """
    from statveil.protect.bounds.cuts import bound_by_cuts

    search = Search(problem, task.limits, task.seed, send)
    search.start, search.bounded = task.start, bounded
    rest = np.zeros(problem.size, dtype=np.int64)
    if (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        search.prove_infeasible()
    elif problem.accepts(rest):
        search.offer(rest)
    else:
        if bounded and team.method not in BOUND_OF_THEIR_OWN:
            search.enter("lower bound")
            bound_by_cuts(search)
        _home(team.method)[1](search, **team.settings)
    return search.seconds_left > 0
