"""The run of a front: what the parent hears of its children's tables, and what it asks them for next."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from statveil.audit.systems import audit_system
from statveil.core.arrays import IntArray
from statveil.core.limits import Limits, OnProgress, Progress
from statveil.jobs.tradeoff.explore import Candidate, FrontPlan, LeastPossible, Polished, StageMessage
from statveil.jobs.tradeoff.free_programs import FreeFrontProgram
from statveil.jobs.tradeoff.front import distortion_of, knee, non_dominated, spread_out
from statveil.jobs.tradeoff.programs import largest_moves
from statveil.jobs.tradeoff.seeds import explore_from_plain, polish_front, seed_front
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import system_of
from statveil.solve.processes import Call, Halt, run_isolated


class FrontRunTuning(NamedTuple):
    """How the time of a front is shared out, by judgement."""

    grace: float = 0.5
    """Seconds a child may overrun before it is killed."""
    most_for_audits: float = 0.2
    """Part of the time that is kept for the audits of all points, at the most."""
    fewest: int = 4
    """Points below which none is recommended: the bend of so short a front says nothing."""
    for_keep: float = 0.2
    """Part of the time for the way of `keep`, where programs with free senses do the rest."""
    for_polish: float = 0.4
    """Part of the time that is kept for polishing the points to be shown,"""
    ways: int = 3
    """in so many ways each."""
    narrow: float = 0.02
    """Gaps narrower than this share of the front are left as they are."""


TUNING = FrontRunTuning()


def search_front(monitor: FrontMonitor, keep: Keep, plain: IntArray, plan: FrontPlan) -> bool:
    """Look for both ends side by side, then between neighbours, then polish what is to be shown. Tells whether all that ended by itself."""
    problem, targets, free = monitor.problem, monitor.targets, FreeFrontProgram.suits(monitor.problem)
    whole = max(monitor.seconds_left - monitor.for_audits(plan.points), 0.0)
    until = time.monotonic() + whole
    kept = TUNING.for_polish * whole
    first = plan._replace(seconds=whole - kept)
    other = first._replace(seconds=TUNING.for_keep * whole) if free else first
    ends: list[Call] = [
        (search, (problem, targets, keep, plain, its)) for search, its in ((explore_from_plain, first), (seed_front, other))
    ]
    halt = run_isolated(ends, seconds=first.seconds + TUNING.grace, on_message=monitor.hear)
    complete, settled = halt is Halt.FINISHED, False
    while halt is not Halt.INTERRUPTED and (left := until - time.monotonic()) > 0:
        between = monitor.between(plan.points) if free and (settled or left > kept) else []
        if settled and not between:
            break
        monitor.say("between neighbours" if between else "polishing the front")
        before = objectives(monitor.front())
        calls = _polishers(monitor, keep, plan._replace(seconds=max(left - kept, left / 2) if between else left), between)
        halt = run_isolated(calls, seconds=left + TUNING.grace, on_message=monitor.hear)
        settled = not between and objectives(monitor.front()) == before
    return complete and halt is Halt.FINISHED and monitor.seconds_left > 0


def _polishers(monitor: FrontMonitor, keep: Keep, plan: FrontPlan, between: list[float]) -> list[Call]:
    """Every other change for each of two children: those between neighbours or, where there are none, those of the points to be shown."""
    front = monitor.front()
    changes = between or [each.change for each in thinned(front, plan.points)]
    if between:
        monitor.asked |= {*between}
    else:
        bend, (*inner, last) = knee(*objectives(front)), changes
        changes = [*dict.fromkeys([front[bend].change, last, *inner])]
    tables, ways = [each.candidate.deviation for each in front], 1 if between else TUNING.ways
    parts = [changes[start::2] for start in range(min(len(changes), 2))]
    return [(polish_front, (monitor.problem, monitor.targets, keep, tables, part, ways, plan)) for part in parts]


class AcceptedTable(NamedTuple):
    """A table that the problem accepts, with its objectives."""

    candidate: Candidate
    change: float
    distortion: float
    cap: float
    percent: float


class FrontMonitor:
    """What the parent knows: the clock, and the tables accepted of. It believes nothing: a table counts only if the problem accepts it."""

    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], limits: Limits, on_progress: OnProgress | None) -> None:
        self.problem, self.targets, self.limits, self._tell = problem, targets, limits, on_progress
        self.began = time.monotonic()
        self.found: list[AcceptedTable] = []
        self.bound, self.least_possible = 0.0, 0.0
        self.asked: set[float] = set()
        """The changes between neighbours for which less distortion was looked for,"""
        self.polished: set[float] = set()
        """and those for which this was done to the end."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float:
        return max(self.limits.seconds - self.seconds, 0.0)

    def say(self, stage: str) -> None:
        if self._tell is not None:
            least = min((each.change for each in self.found), default=math.inf)
            self._tell(Progress(stage, self.seconds, least, self.bound, self.seconds_left))

    def pass_on(self, progress: Progress) -> None:
        """Progress of the plain adjustment, with the clock of the whole."""
        if self._tell is not None:
            self._tell(progress._replace(stage=f"plain: {progress.stage}", seconds=self.seconds, seconds_left=self.seconds_left))

    def for_audits(self, points: int) -> float:
        """Seconds that the audits of the points will take, by that of the plain table; a front has others beside it."""
        began = time.monotonic()
        audit_system(system_of(self.problem), self.problem.value + self.found[0].candidate.deviation, variant=self.problem.variant)
        return min(2 * points * (time.monotonic() - began), TUNING.most_for_audits * self.limits.seconds)

    def hear(self, news: Candidate | StageMessage | LeastPossible | Polished) -> None:
        if isinstance(news, StageMessage):
            self.say(news.words)
        elif isinstance(news, LeastPossible):
            self.least_possible = news.distortion
        elif isinstance(news, Polished):
            self.polished.add(news.change)
        elif self.problem.accepts(news.deviation):
            senses = self.problem.senses_of(news.deviation)
            cap, share = largest_moves(self.problem, senses, news.deviation).tolist()
            change, distortion = self.problem.cost(news.deviation), distortion_of(self.targets, news.deviation)
            self.found.append(AcceptedTable(news, change, distortion, cap, 100 * share))

    def front(self) -> list[AcceptedTable]:
        """The tables that no other beats. Two children find them, in whatever order: of equal tables one is taken by its numbers."""
        self.found.sort(key=lambda each: (each.change, each.distortion, each.candidate.deviation.tobytes(), each.candidate.by))
        return [self.found[place] for place in non_dominated(*objectives(self.found)).tolist()]

    def shown(self, points: int) -> list[AcceptedTable]:
        """At most so many tables of the front: the best for each change that was looked at to the end.

        Others beside them had less care, and would look as if more change brought less.
        """
        front = self.front()
        changes = [change for change in sorted(self.polished) if change >= front[0].change]
        best = [max((each for each in front if each.change <= change), key=lambda each: each.change) for change in changes]
        return thinned(list({each.change: each for each in best}.values()) or front, points)

    def between(self, points: int) -> list[float]:
        """Changes between neighbours of the front, or between the last one asked for there and the dearer one; the widest gaps first."""
        change = [each.change for each in self.front()]
        gaps = [(max([one, *[each for each in self.asked if each < other]]), other) for one, other in pairwise(change)]
        wide = [(other - one, (one + other) / 2) for one, other in gaps if other - one >= TUNING.narrow * (change[-1] - change[0])]
        return [middle for _, middle in sorted(wide, reverse=True)[: max(points - len(change), 0)]]


def objectives(tables: Sequence[AcceptedTable]) -> tuple[list[float], list[float]]:
    return [each.change for each in tables], [each.distortion for each in tables]


def thinned(front: Sequence[AcceptedTable], most: int) -> list[AcceptedTable]:
    return [front[number] for number in spread_out(*objectives(front), most).tolist()] if front else []
