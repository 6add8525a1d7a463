"""The search for points of the front, in a process of its own: whatever table it finds is sent at once, for the parent to judge.

A front is filled where it has its widest gap. There, tabu search (S1 section 4) with the weights of the straight line across the gap
looks for other senses, and linear programs find the least change within a distortion between the two ends.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.jobs.tradeoff.front import distortion_of, non_dominated
from statveil.jobs.tradeoff.programs import FrontProgram, Point
from statveil.protect.keep.means import means_off
from statveil.protect.keep.tabu.objective import Objective
from statveil.protect.keep.tabu.search import TabuSearch
from statveil.protect.keep.wishes import Coefficients, Keep, Target
from statveil.protect.problem import ProtectionProblem

ROUNDS = 2
"""Programs in a row for one point, each with what is not linear taken at the last."""
SETTLED = 0.03
"""Share of the distortion within which two rounds say the same."""
LOOKS_TIMES_CELLS, FEWEST_LOOKS, MOST_LOOKS = 10_000_000, 1_000, 12_000
"""Moves that one tabu search looks at: fewer on larger tables, where a look costs more. Counted, not timed: runs must repeat."""
SLICES = 10
"""Looks at the clock during one tabu search."""
SMALL = 3_000
"""Cells up to which programs are so quick that the least distortion is looked for in more than one way."""
STEEP = 30.0
"""How much dearer than along the front distortion is in the search for the least of it."""
MOST_CHANGE = 3.0
"""Multiples of the plain table's change beyond which less distortion is not looked for."""
NARROW = 0.02
"""Gaps narrower than this share of the front are left as they are."""
MOST_FOR_CAPS = 20_000
"""Cells up to which the percentages are columns of a program; the rows they need double it."""
MOST_PROGRAMS = 6
"""Choices of senses whose programs are kept."""


MOST_WITHIN = 0.99
"""What a search may be asked to leave of a statistic at the most."""


class Candidate(NamedTuple):
    """A table, and the way it was found."""

    deviation: IntArray
    by: str


class Said(NamedTuple):
    """A stage of the search."""

    words: str


Send = Callable[[Candidate | Said], None]


class Plan(NamedTuple):
    """How to look: at so many gaps, for so long, from this seed."""

    points: int
    seconds: float
    seed: int


class Found(NamedTuple):
    """A table with its objectives."""

    deviation: IntArray
    change: float
    distortion: float


class Gap(NamedTuple):
    """Two neighbours on a front, the second with more change and less distortion."""

    one: Found
    other: Found

    @property
    def size(self) -> tuple[float, float]:
        return self.other.change - self.one.change, self.one.distortion - self.other.distortion

    def share_of(self, width: tuple[float, float]) -> float:
        return max(part / whole if whole > 0 else 0.0 for part, whole in zip(self.size, width, strict=True))

    def like(self, gap: Gap, width: tuple[float, float]) -> bool:
        """Whether both ends lie next to those of another gap: what was found there did not divide it."""
        ends = ((self.one, gap.one), (self.other, gap.other))
        moved = [(abs(mine.change - its.change), abs(mine.distortion - its.distortion)) for mine, its in ends]
        return all(part <= NARROW * whole for both in moved for part, whole in zip(both, width, strict=True))


def explore(problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plain: IntArray, plan: Plan, send: Send) -> None:
    """Send tables from the plain one to the least distorted, filling the front between them."""
    explorer = Explorer(problem, targets, keep, plan, send)
    explorer.offer(plain, "plain")
    explorer.reach_down()
    for number in range(1, plan.points + 1):
        gap = explorer.widest_gap()
        if gap is None or explorer.out_of_time:
            return
        send(Said(f"gap {number} of at most {plan.points}"))
        explorer.fill(*gap)


class Explorer:
    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plan: Plan, send: Send) -> None:
        self.problem, self.targets, self.keep, self.plan, self._send = problem, targets, keep, plan, send
        self.deadline = time.monotonic() + plan.seconds
        self.found: list[Found] = []
        self._programs: dict[bytes, FrontProgram] = {}
        self._filled: list[Gap] = []
        self._searches = 0
        self._looks = min(max(LOOKS_TIMES_CELLS // max(problem.size, 1), FEWEST_LOOKS), MOST_LOOKS)
        self._terms = sum(target.variance + target.correlation + target.slope for target in targets) or 1

    @property
    def seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.01)

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() >= self.deadline

    def offer(self, deviation: IntArray | None, by: str) -> Found | None:
        """Keep a table and send it, if it is one."""
        if deviation is None or not self.problem.accepts(deviation):
            return None
        found = Found(deviation, self.problem.cost(deviation), distortion_of(self.targets, deviation))
        self.found.append(found)
        self._send(Candidate(deviation, by))
        return found

    def front(self) -> list[Found]:
        places = non_dominated([each.change for each in self.found], [each.distortion for each in self.found])
        return [self.found[place] for place in places]

    def reach_down(self) -> None:
        """The least distortion: with the plain table's senses, then with those that tabu search finds, then with these by programs."""
        self._send(Said("least distortion"))
        plain = self.found[0]
        least = self._least_distortion(plain) or plain
        saved = max(plain.distortion - least.distortion, NARROW * plain.distortion)
        steep = STEEP * max(least.change - plain.change, NARROW * plain.change) / max(saved, 1e-12)
        for means in (True, False) if self.problem.size <= SMALL else (True,):
            other = self._tabu(least, steep, means=means)
            if other is not None and not self.out_of_time:
                self._least_distortion(other)

    def widest_gap(self) -> Gap | None:
        """Two neighbours on the front that lie farthest apart, of those not looked between yet."""
        front = self.front()
        width = Gap(front[0], front[-1]).size
        gaps = [Gap(one, other) for one, other in pairwise(front)]
        open_ones = [gap for gap in gaps if gap.share_of(width) >= NARROW and not any(gap.like(other, width) for other in self._filled)]
        return max(open_ones, key=lambda gap: gap.share_of(width)) if open_ones else None

    def fill(self, one: Found, other: Found) -> None:
        """Look for tables between two neighbours, the second with more change and less distortion.

        By programs with the senses of each, then with those that tabu search finds from one of them.
        """
        self._filled.append(Gap(one, other))
        middle = (one.distortion + other.distortion) / 2
        slope = (other.change - one.change) / max(one.distortion - other.distortion, 1e-12)
        start = (one, other)[len(self._filled) % 2]
        kept = not any(means_off(start.deviation, self.targets))
        tried: set[bytes] = set()
        self._least_change(other, middle, tried, caps=True)
        self._least_change(one, middle, tried)
        for found in (self._tabu(one, STEEP * slope, means=False, within=middle), self._tabu(start, slope, means=kept)):
            if found is not None and found.distortion < one.distortion:
                self._least_change(found, max(middle, found.distortion), tried)

    def _tabu(self, start: Found, slope: float, *, means: bool, within: float | None = None) -> Found | None:
        """Tabu search for change + slope * distortion, of which `within` costs nothing, in equal parts for each statistic.

        With `means`, these come first of all; else they are left to the programs.
        """
        if self.out_of_time:
            return None
        self._searches += 1
        targets = self.targets if means else [dataclasses.replace(target, mean=False) for target in self.targets]
        prices = Coefficients(change=1.0, correlation=slope, slope=slope, variance=slope)
        spare = None if within is None else min(within / self._terms, MOST_WITHIN)
        objective = Objective(self.problem, targets, dataclasses.replace(self.keep, coefficients=prices, within=spare), cost=1.0)
        search = TabuSearch(objective, start.deviation, seed=self.plan.seed + self._searches)
        for _ in range(SLICES):
            if self.out_of_time or search.done:
                break
            search.run(self._looks // SLICES)
        return self.offer(search.table, "tabu")

    def _least_distortion(self, start: Found) -> Found | None:
        program, near, best = self._program(start), start.deviation.astype(np.float64), start.distortion
        found: Point | None = None
        for _ in range(ROUNDS):
            better = program.least_distortion(near, max(MOST_CHANGE * self.found[0].change, start.change), seconds=self.seconds_left)
            if better is None or better.distortion >= best * (1 - SETTLED):
                break
            found, near, best = better, better.deviation, better.distortion
        if found is None:
            return None
        return self._offer_point(program, self._settled(program, found.deviation, found.distortion) or found, "program")

    def _least_change(self, start: Found, distortion: float, tried: set[bytes], *, caps: bool = False) -> None:
        """The least change within the distortion with the senses of a table, unless they were tried; and the smallest `caps` near it."""
        senses = self.problem.senses_of(start.deviation).tobytes()
        if senses in tried or self.out_of_time:
            return
        tried.add(senses)
        program = self._program(start)
        point = self._settled(program, start.deviation.astype(np.float64), distortion)
        if point is None:
            return
        self._offer_point(program, point, "program")
        if caps and self.problem.size <= MOST_FOR_CAPS and not self.out_of_time:
            tighter = program.smallest_caps(point, seconds=self.seconds_left)
            if tighter is not None:
                self._offer_point(program, tighter, "program, small caps")

    def _settled(self, program: FrontProgram, near: FloatArray, distortion: float) -> Point | None:
        """The least change within the distortion, again and again until the distortion is as the program thinks."""
        found: Point | None = None
        for _ in range(ROUNDS):
            if self.out_of_time:
                break
            point = program.least_change(near, distortion, seconds=self.seconds_left)
            if point is None:
                break
            found, near = point, point.deviation
            if found.distortion <= distortion * (1 + SETTLED):
                break
        return found

    def _program(self, start: Found) -> FrontProgram:
        senses = self.problem.senses_of(start.deviation)
        key = senses.tobytes()
        if key not in self._programs:
            while len(self._programs) >= MOST_PROGRAMS:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = FrontProgram(self.problem, self.targets, senses)
        return self._programs[key]

    def _offer_point(self, program: FrontProgram, point: Point, by: str) -> Found | None:
        return self.offer(program.whole(point, seconds=self.seconds_left), by)
