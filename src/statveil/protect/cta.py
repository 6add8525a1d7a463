"""The verb: adjust a problem to a close safe table within limits (controlled tabular adjustment)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from statveil.arrays import IntArray
from statveil.errors import InfeasibleProblem, InputError, OutOfTime
from statveil.protect.adjustment import Adjustment, TracePoint
from statveil.protect.methods import Task, run_team, teams_of
from statveil.protect.options import Limits, OnProgress, Progress, check_kind, check_seed
from statveil.protect.problem import ProtectionProblem
from statveil.protect.reduce import reduce_problem
from statveil.protect.search import Found
from statveil.solve.isolate import Halt, run_isolated
from statveil.solve.outcome import Ending

PROVED = 1e-6
"""Relative distance between objective and bound at which a table counts as optimal."""
GRACE = 1.0
"""Seconds a child may overrun before it is killed."""


def adjust(
    problem: ProtectionProblem,
    *,
    method: str = "auto",
    start: IntArray | None = None,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Adjustment:
    """The best safe table that the method finds within the limits, with a lower bound on the best possible.

    The work is done in processes of its own, killed at the limit. Ctrl-C ends it early; the best table so far is returned.
    `start` holds senses to begin with (+1 up, -1 down, 0 not sensitive); method "fixed" keeps them. `settings` are the
    method's own, such as the number of groups or blocks.
    """
    limits = Limits() if limits is None else limits
    check_kind("limits", limits, Limits)
    _check(problem, start, seed)
    watch = _Watch(problem, limits, on_progress)
    reduction = reduce_problem(problem)
    teams = teams_of(reduction.problem, method, dict(settings or {}), start)
    left = dataclasses.replace(limits, seconds=max(limits.seconds - watch.seconds, 0.1))
    calls = [(run_team, (number, reduction, team, Task(start, left, seed + number))) for number, team in enumerate(teams)]
    halt = run_isolated(calls, seconds=limits.seconds + GRACE, on_message=watch.hear)
    if watch.best is None:
        raise _no_table(watch, halt, limits)
    return Adjustment(
        deviation=watch.best,
        senses=problem.senses_of(watch.best),
        objective=watch.objective,
        bound=watch.bound,
        ending=Ending.OPTIMAL if watch.objective <= watch.bound * (1 + PROVED) else Ending.FEASIBLE,
        trace=tuple(watch.trace),
        method=method,
        seed=seed,
        seconds=watch.seconds,
    )


def _check(problem: ProtectionProblem, start: IntArray | None, seed: int) -> None:
    check_seed(seed)
    if start is not None and not np.array_equal(np.abs(start), problem.sensitive.astype(np.int64)):
        raise InputError("The start must hold +1 or -1 for each sensitive cell and 0 for the others.")


def _no_table(watch: _Watch, halt: Halt, limits: Limits) -> Exception:
    if halt is Halt.INTERRUPTED:
        return OutOfTime("Stopped before any safe table was found.", hint="Nothing was released.")
    if watch.infeasible:
        return InfeasibleProblem("No safe table exists within the bounds given.", hint="Widen the bounds or the cap, or free frozen cells.")
    if halt is Halt.FINISHED:
        return InfeasibleProblem(
            "No safe table was found within the bounds given.",
            hint="Widen the bounds or the cap, free frozen cells, or try method 'exact'.",
        )
    return OutOfTime(f"No safe table was found within {limits.seconds:g} seconds.", hint="Give more time, or wider bounds.")


class _Watch:
    """The parent's record of a run. It verifies every table itself: the child's word is a claim."""

    def __init__(self, problem: ProtectionProblem, limits: Limits, on_progress: OnProgress | None) -> None:
        self.problem, self.limits = problem, limits
        self.best: IntArray | None = None
        self.objective, self.bound = float("inf"), 0.0
        self.infeasible = False
        self._team = 0
        self.trace: list[TracePoint] = []
        self._tell: Callable[[Progress], None] = on_progress or (lambda _: None)
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def hear(self, news: tuple[int, Found]) -> bool:
        """Take in a team's news; tell whether the best possible table is known, so that nobody need go on."""
        team, found = news
        self.infeasible |= found.infeasible
        self.bound = max(self.bound, found.bound)
        if found.deviation is not None and self.problem.accepts(found.deviation):
            self._compare(team, found.deviation)
        point = TracePoint(self.seconds, self.objective, self.bound)
        if not self.trace or self.trace[-1][1:] != point[1:]:
            self.trace.append(point)
        self._tell(Progress(found.stage, point.seconds, self.objective, self.bound, max(0.0, self.limits.seconds - point.seconds)))
        return self.objective <= self.bound * (1 + PROVED) and team == self._team

    def _compare(self, team: int, deviation: IntArray) -> None:
        """Between tables of equal cost the first team's counts, so that the answer does not depend on who was quicker."""
        objective = self.problem.cost(deviation)
        if (objective, team) < (self.objective, self._team):
            self.best, self.objective, self._team = deviation, objective, team
