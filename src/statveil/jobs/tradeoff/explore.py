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

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.jobs.tradeoff.free_programs import FreeFrontProgram
from statveil.jobs.tradeoff.front import distortion_of, non_dominated
from statveil.jobs.tradeoff.programs import FrontProgram, ProgramPoint
from statveil.protect.keep.problems import means_off
from statveil.protect.keep.tabu.objective import Objective
from statveil.protect.keep.tabu.search import TabuSearch
from statveil.protect.keep.wishes import Coefficients, Keep, Target
from statveil.protect.problem import ProtectionProblem


class FrontSearchTuning(NamedTuple):
    """How far and how long points are looked for. All by judgement; work is counted, not timed, so that runs repeat."""

    rounds: int = 2
    """Programs in a row for one point, each with what is not linear taken at the last."""
    settled: float = 0.03
    """Share of the distortion within which two rounds say the same."""
    looks_times_cells: int = 10_000_000
    """Moves that one tabu search looks at, times cells: fewer on larger tables, where a look costs more,"""
    fewest_looks: int = 1_000
    """but not fewer than this,"""
    most_looks: int = 12_000
    """nor more than that."""
    slices: int = 10
    """Looks at the clock during one tabu search."""
    small: int = 3_000
    """Cells up to which programs are so quick that the least distortion is looked for in more than one way."""
    steep: float = 30.0
    """How much dearer than along the front distortion is in the search for the least of it."""
    most_change: float = 3.0
    """Multiples of the plain table's change beyond which less distortion is not looked for."""
    narrow: float = 0.02
    """Gaps narrower than this share of the front are left as they are."""
    most_for_caps: int = 20_000
    """Cells up to which the percentages are columns of a program; the rows they need double it."""
    most_programs: int = 6
    """Choices of senses whose programs are kept."""
    free_share: float = 0.25
    """Share of the time left that one program with free senses may take at the ends,"""
    one_share: float = 0.5
    """and between them;"""
    deep_rounds: int = 4
    """how many of these there are in a row, each with what is not linear taken at the last,"""
    worth: float = 1e-3
    """and the share of the distortion that a round must save for another."""
    most_within: float = 0.99
    """What a search may be asked to leave of a statistic at the most."""


TUNING = FrontSearchTuning()


class Candidate(NamedTuple):
    """A table, and the way it was found."""

    deviation: IntArray
    by: str


class StageMessage(NamedTuple):
    """A stage of the search."""

    words: str


class LeastPossible(NamedTuple):
    """A distortion that no table goes below, proved."""

    distortion: float


class Polished(NamedTuple):
    """A change for which less distortion was looked for to the end."""

    change: float


Send = Callable[[Candidate | StageMessage | LeastPossible | Polished], None]


class FrontPlan(NamedTuple):
    """How to look: at so many gaps, for so long, from this seed."""

    points: int
    seconds: float
    seed: int


class FrontTable(NamedTuple):
    """A table with its objectives."""

    deviation: IntArray
    change: float
    distortion: float


class Gap(NamedTuple):
    """Two neighbours on a front, the second with more change and less distortion."""

    one: FrontTable
    other: FrontTable

    @property
    def size(self) -> tuple[float, float]:
        return self.other.change - self.one.change, self.one.distortion - self.other.distortion

    def share_of(self, width: tuple[float, float]) -> float:
        return max(part / whole if whole > 0 else 0.0 for part, whole in zip(self.size, width, strict=True))

    def like(self, gap: Gap, width: tuple[float, float]) -> bool:
        """Whether both ends lie next to those of another gap: what was found there did not divide it."""
        ends = ((self.one, gap.one), (self.other, gap.other))
        moved = [(abs(mine.change - its.change), abs(mine.distortion - its.distortion)) for mine, its in ends]
        return all(part <= TUNING.narrow * whole for both in moved for part, whole in zip(both, width, strict=True))


class FrontSearch:
    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, plan: FrontPlan, send: Send) -> None:
        self.problem, self.targets, self.keep, self.plan, self._send = problem, targets, keep, plan, send
        self.deadline = time.monotonic() + plan.seconds
        self.found: list[FrontTable] = []
        self._programs: dict[bytes, FrontProgram] = {}
        self._free = FreeFrontProgram(problem, targets) if FreeFrontProgram.suits(problem) else None
        self._filled: list[Gap] = []
        self._searches = 0
        self._looks = min(max(TUNING.looks_times_cells // max(problem.size, 1), TUNING.fewest_looks), TUNING.most_looks)
        self._terms = sum(target.variance + target.correlation + target.slope for target in targets) or 1

    @property
    def seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.01)

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() >= self.deadline

    def offer(self, deviation: IntArray | None, by: str) -> FrontTable | None:
        """Keep a table and send it, if it is one."""
        if deviation is None or not self.problem.accepts(deviation):
            return None
        self._send(Candidate(deviation, by))
        return self.know(deviation)

    def know(self, deviation: IntArray) -> FrontTable:
        found = FrontTable(deviation, self.problem.cost(deviation), distortion_of(self.targets, deviation))
        self.found.append(found)
        return found

    def front(self) -> list[FrontTable]:
        places = non_dominated([each.change for each in self.found], [each.distortion for each in self.found])
        return [self.found[place] for place in places]

    def find_least_distortion(self) -> None:
        """The least distortion for the plain table's change, and for any change: by programs, and by tabu search and programs."""
        self._send(StageMessage("least distortion"))
        plain = self.found[0]
        for change in (plain.change, *[TUNING.most_change * plain.change] * TUNING.deep_rounds):
            before = self._least_distorted().distortion
            self.deepen(change, self._least_distorted(), seconds=TUNING.free_share * self.seconds_left)
            if self.out_of_time:
                return
            if change == plain.change:
                self._send(Polished(change))
            elif self._least_distorted().distortion >= before * (1 - TUNING.worth):
                self._send(Polished(self._least_distorted().change))
                break
        if self._free is not None:  # what tabu search looks for is found by then
            return
        least = self._least_distorted()
        saved = max(plain.distortion - least.distortion, TUNING.narrow * plain.distortion)
        steep = TUNING.steep * max(least.change - plain.change, TUNING.narrow * plain.change) / max(saved, 1e-12)
        for means in (True, False) if self.problem.size <= TUNING.small else (True,):
            other = self._tabu(least, steep, means=means)
            if other is not None:
                self.deepen(max(TUNING.most_change * plain.change, other.change), other, seconds=TUNING.free_share * self.seconds_left)

    def _least_distorted(self) -> FrontTable:
        return min(self.found, key=lambda each: each.distortion)

    def widest_gap(self) -> Gap | None:
        """Two neighbours on the front that lie farthest apart, of those not looked between yet."""
        front = self.front()
        width = Gap(front[0], front[-1]).size
        gaps = [Gap(one, other) for one, other in pairwise(front)]
        open_ones = [
            gap for gap in gaps if gap.share_of(width) >= TUNING.narrow and not any(gap.like(other, width) for other in self._filled)
        ]
        return max(open_ones, key=lambda gap: gap.share_of(width)) if open_ones else None

    def fill(self, one: FrontTable, other: FrontTable) -> None:
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
        for found in (self._tabu(one, TUNING.steep * slope, means=False, within=middle), self._tabu(start, slope, means=kept)):
            if found is not None and found.distortion < one.distortion:
                self._least_change(found, max(middle, found.distortion), tried)

    def polish(self, changes: Sequence[float], ways: int) -> None:
        """Less distortion for each change, in so many ways: from its dearer neighbour, the best table for it, and the one before it.

        Where senses are fixed, by tabu search along the front as well. Each takes what it needs; those that are done are told.
        """
        for change in changes:
            front = self.front()
            place = sum(each.change <= change for each in front) - 1
            around = [*front[place + 1 : place + 2], front[place], *front[max(place - 1, 0) : place]]
            for near in around[:ways]:
                self.deepen(change, near, seconds=TUNING.one_share * self.seconds_left)
            if self._free is None and not self.out_of_time and len(around) == 3:
                dearer, here, cheaper = around
                slope = (dearer.change - cheaper.change) / max(cheaper.distortion - dearer.distortion, 1e-12)
                found = self._tabu(here, slope, means=not any(means_off(here.deviation, self.targets)))
                if found is not None:
                    self.deepen(change, found, seconds=TUNING.one_share * self.seconds_left)
            if self.out_of_time:
                return
            self._send(Polished(change))

    def _tabu(self, start: FrontTable, slope: float, *, means: bool, within: float | None = None) -> FrontTable | None:
        """Tabu search for change + slope * distortion, of which `within` costs nothing, in equal parts for each statistic.

        With `means`, these come first of all; else they are left to the programs.
        """
        if self.out_of_time:
            return None
        self._searches += 1
        targets = self.targets if means else [dataclasses.replace(target, mean=False) for target in self.targets]
        prices = Coefficients(change=1.0, correlation=slope, slope=slope, variance=slope)
        spare = None if within is None else min(within / self._terms, TUNING.most_within)
        objective = Objective(self.problem, targets, dataclasses.replace(self.keep, coefficients=prices, within=spare), cost=1.0)
        search = TabuSearch(objective, start.deviation, seed=self.plan.seed + self._searches)
        for _ in range(TUNING.slices):
            if self.out_of_time or search.done:
                break
            search.run(self._looks // TUNING.slices)
        return self.offer(search.table, "tabu")

    def deepen(self, change: float, near: FrontTable, *, seconds: float) -> None:
        """The least distortion with no more change, again and again from what was found, while that helps.

        With free senses where a program finds these; else, and for what it is worth once it is whole, with those of the table.
        """
        if self.out_of_time:
            return
        until = time.monotonic() + seconds
        found = None if self._free is None else self._deepened(self._free.start_at(near.deviation), near.deviation, change, until)
        senses = self.problem.senses_of(near.deviation if found is None else np.rint(found.deviation).astype(np.int64))
        program = self._program_with(senses)
        settled = self._deepened(program, near.deviation if found is None else found.deviation, change, until)
        for point in (found, settled):
            table = None if point is None else self._offer_point(program, point, "program")
            if table is not None and table.change > change:  # made whole, it costs a little more: so much less is asked
                less = program.least_distortion(table.deviation.astype(np.float64), 2 * change - table.change, seconds=self.seconds_left)
                if less is not None:
                    self._offer_point(program, less, "program")

    def _deepened(self, program: FrontProgram, near: AnyArray, change: float, until: float) -> ProgramPoint | None:
        found: ProgramPoint | None = None
        for _ in range(1 if program is self._free else TUNING.deep_rounds):
            left = until - time.monotonic()
            if left <= 0:
                break
            better = program.least_distortion(near.astype(np.float64), change, seconds=left)
            if better is None or (found is not None and better.distortion >= found.distortion * (1 - TUNING.worth)):
                break
            found, near = better, better.deviation
        return found

    def _least_change(self, start: FrontTable, distortion: float, tried: set[bytes], *, caps: bool = False) -> None:
        """The least change within the distortion with the senses of a table, unless they were tried; and the smallest `caps` near it."""
        senses = self.problem.senses_of(start.deviation)
        if senses.tobytes() in tried or self.out_of_time:
            return
        tried.add(senses.tobytes())
        program = self._program_with(senses)
        point = self._settled(program, start.deviation.astype(np.float64), distortion)
        if point is None:
            return
        self._offer_point(program, point, "program")
        if caps and self.problem.size <= TUNING.most_for_caps and not self.out_of_time:
            tighter = program.smallest_caps(point, seconds=self.seconds_left)
            if tighter is not None:
                self._offer_point(program, tighter, "program, small caps")

    def _settled(self, program: FrontProgram, near: FloatArray, distortion: float) -> ProgramPoint | None:
        """The least change within the distortion, again and again until the distortion is as the program thinks."""
        found: ProgramPoint | None = None
        for _ in range(TUNING.rounds):
            if self.out_of_time:
                break
            point = program.least_change(near, distortion, seconds=self.seconds_left)
            if point is None:
                break
            found, near = point, point.deviation
            if found.distortion <= distortion * (1 + TUNING.settled):
                break
        return found

    def _program_with(self, senses: IntArray) -> FrontProgram:
        key = senses.tobytes()
        if key not in self._programs:
            while len(self._programs) >= TUNING.most_programs:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = FrontProgram(self.problem, self.targets, senses)
        return self._programs[key]

    def _offer_point(self, program: FrontProgram, point: ProgramPoint, by: str) -> FrontTable | None:
        return self.offer(program.whole(point, seconds=self.seconds_left), by)
