"""Tables for the front by the way of `keep`, in two processes: one from each end, then where the front has its widest hole.

A user who asks `keep` for a distance gets a table that the front must not be beaten by, so that the front asks it too: as near as can
be, and at distances between neighbours; from the plain table, at parts of its distance, and then by programs and search of the front's own.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from statveil.core.arrays import IntArray
from statveil.jobs.tradeoff.explore import Candidate, FrontPlan, FrontSearch, LeastPossible, Send, StageMessage
from statveil.jobs.tradeoff.free_programs import FreeFrontProgram
from statveil.jobs.tradeoff.front import distortion_of
from statveil.protect.keep.keeping_search import KeepingMessage, KeepingSearch, KeepingTask
from statveil.protect.keep.reach import Reach
from statveil.protect.keep.tabu.objective import moments_of
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem


class SeedTuning(NamedTuple):
    """How many distances are asked, and how long each. By judgement; work is counted, not timed, so that runs repeat."""

    most_runs: int = 8
    steps: tuple[float, ...] = (0.5, 0.2)
    """What is asked from the plain table on, as shares of its distance."""
    for_ends: float = 0.5
    """Share of the time left that the other end may take;"""
    for_holes: float = 0.4
    """and each hole, or each step from the plain table."""
    least_seconds: float = 0.5
    chunks: int = 12
    """Chunks of moves that tabu search looks at after the programs."""
    nearest: float = 1e-6
    """Distances below this are none."""
    for_proof: float = 0.05
    """Share of the time for what no table can undercut,"""
    most_for_proof: float = 2.0
    """and seconds, at the most."""


TUNING = SeedTuning()
NEXT_TO_NOTHING = Fraction(1, 10**5)
"""The smallest distance that is looked at for what no table can undercut."""


class SeedTable(NamedTuple):
    """A table, how far the worst of its statistics is from one, and its objectives."""

    deviation: IntArray
    distance: float
    change: float
    distortion: float


def explore_from_plain(
    problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plain: IntArray, plan: FrontPlan, send: Send
) -> None:
    """Send what `keep` finds at parts of the plain table's distance, where programs with free senses are too large; then fill the front
    between the plain table and the least distorted, the widest gap first."""
    seeds = _Seeds(problem, targets, keep, plan, send)
    first = seeds.weigh(plain)
    seeds.tables.append(first)
    if not FreeFrontProgram.suits(problem) and first.distance > TUNING.nearest and any(target.spread for target in targets):
        for step in TUNING.steps:
            seeds.ask(step * first.distance, seeds.tables[-1], TUNING.for_holes)
    search = FrontSearch(problem, targets, keep, plan._replace(seconds=max(seeds.seconds_left, 0.0)), send)
    for table in seeds.tables:
        search.offer(table.deviation, "keep")
    search.find_least_distortion()
    if FreeFrontProgram.suits(problem):  # what lies between is looked for by several processes
        return
    for number in range(1, plan.points + 1):
        gap = search.widest_gap()
        if gap is None or search.out_of_time:
            return
        send(StageMessage(f"gap {number} of at most {plan.points}"))
        search.fill(*gap)


def polish_front(
    problem: ProtectionProblem,
    targets: Sequence[Target],
    keep: Keep,
    tables: Sequence[IntArray],
    changes: Sequence[float],
    ways: int,
    plan: FrontPlan,
    send: Send,
) -> None:
    """Send tables with less distortion than those of a front, for each of some changes, looked for in so many ways."""
    search = FrontSearch(problem, targets, keep, plan, send)
    for table in tables:
        search.know(table)
    search.polish(changes, ways)


def seed_front(problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plain: IntArray, plan: FrontPlan, send: Send) -> None:
    """Send what `keep` finds as near as can be, and then between neighbours on what it found, the widest hole first."""
    seeds = _Seeds(problem, targets, keep, plan, send)
    first = seeds.weigh(plain)
    seeds.tables.append(first)
    if first.distance <= TUNING.nearest or not any(target.spread for target in targets):
        return
    send(LeastPossible(least_distortion(problem, targets, min(TUNING.for_proof * plan.seconds, TUNING.most_for_proof))))
    seeds.ask(None, first, TUNING.for_ends)
    for _ in range(min(plan.points, TUNING.most_runs) - 1):
        hole = seeds.widest_hole()
        if hole is None or seeds.seconds_left <= 0:
            return
        seeds.ask(math.sqrt(hole[0].distance * max(hole[1].distance, TUNING.nearest)), hole[1], TUNING.for_holes)


def least_distortion(problem: ProtectionProblem, targets: Sequence[Target], seconds: float) -> float:
    """No table distorts less: each set of cells has a statistic that is at least as far from one as is out of reach there, proved."""
    until = time.monotonic() + seconds
    spread = [dataclasses.replace(target, mean=False) for target in targets if target.spread]
    shown = (Reach(problem, target).least_within(NEXT_TO_NOTHING, lambda: until - time.monotonic()) for target in spread)
    return float(sum((each for each in shown if each is not None), Fraction(0)))


class _Seeds:
    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plan: FrontPlan, send: Send) -> None:
        self.problem, self.targets, self.keep, self.plan, self._send = problem, targets, keep, plan, send
        self._deadline = time.monotonic() + plan.seconds
        self.tables: list[SeedTable] = []
        self._asked: list[float] = []

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def weigh(self, deviation: IntArray) -> SeedTable:
        distance = max((_distance(target, deviation) for target in self.targets if target.spread), default=0.0)
        return SeedTable(deviation, distance, self.problem.cost(deviation), distortion_of(self.targets, deviation))

    def ask(self, within: float | None, start: SeedTable, share: float) -> None:
        """One run of the search that `keep` makes, within a distance or as near as can be; every table it finds is sent."""
        self._send(StageMessage("as near as can be" if within is None else f"within {within:.3g}"))
        self._asked.append(0.0 if within is None else within)
        wished = dataclasses.replace(self.keep, within=None if within is None else min(within, 0.99))
        seconds, cost = max(share * self.seconds_left, TUNING.least_seconds), self.tables[0].change
        task = KeepingTask(self.problem, self.targets, wished, start.deviation, cost, seconds, self.plan.seed)
        search = KeepingSearch(task, self._hear)
        search.programs()
        if search.left() > 0:
            search.tabu(chunks=TUNING.chunks)
        self.tables.append(self.weigh(search.best))

    def _hear(self, message: KeepingMessage) -> None:
        if message.table is not None:
            self._send(Candidate(message.table, f"keep, {message.stage}"))

    def widest_hole(self) -> tuple[SeedTable, SeedTable] | None:
        """Two neighbours that lie farthest apart, between whose distances none was asked yet."""
        best: list[SeedTable] = []
        for table in sorted(self.tables, key=lambda each: (each.change, each.distortion)):
            if not best or table.distortion < best[-1].distortion:
                best.append(table)
        width = max(best[-1].change - best[0].change, 1e-12), max(best[0].distortion - best[-1].distortion, 1e-12)
        holes = [
            (max((other.change - one.change) / width[0], (one.distortion - other.distortion) / width[1]), one, other)
            for one, other in pairwise(best)
            if one.distance > 1.05 * other.distance and not any(other.distance < asked < one.distance * 0.999 for asked in self._asked)
        ]
        return max(holes, key=lambda hole: hole[0])[1:] if holes else None


def _distance(target: Target, deviation: IntArray) -> float:
    """How far the worst statistic asked of a target is from one."""
    now = moments_of(target, deviation[target.cells].astype(float))
    asked = ((target.slope, abs(now.slope - 1)), (target.variance, abs(now.variance_ratio - 1)), (target.correlation, 1 - now.correlation))
    return max((distance for wanted, distance in asked if wanted), default=0.0)
