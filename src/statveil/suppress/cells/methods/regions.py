"""A pattern made cheaper region by region: the cheapest point of all known cuts there, asked for cuts that it breaks until it breaks none.

What lies outside the region stays as it is, so that the needs to be asked about are those whose witness moved a class that is given up.
A region that costs the same may look otherwise afterwards: the next attempt begins somewhere else (Shaw's large neighbourhood search).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.suppress.cells.classes import ClassSystem, Need
from statveil.suppress.cells.heuristic import Cover, in_order
from statveil.suppress.cells.lower_bound import CapacityCut, FlowAnswer, FlowPart, PartFlows, in_proportion, parts_of
from statveil.suppress.cells.methods.covering import CutRows, cheap_cover, cut_rows
from statveil.suppress.cells.problem import COST_UNITS


class RegionTuning(NamedTuple):
    """By judgement."""

    sizes: tuple[int, ...] = (100, 200)
    """Classes of a region."""
    hops: int = 8
    attempts: int = 6
    """Points of one region that are asked for cuts, one after the other."""
    steps: int = 6
    """Of one search, for each class of the region,"""
    least_steps: int = 300
    """and of any."""
    dearest: float = 0.5
    """How often a region begins at a class drawn by its cost."""
    spread: float = 0.02
    """How far prices vary, so that of points that cost the same another one is found each time."""
    sideways: float = 0.3
    """How often prices vary: else only what is cheaper is looked for, which is quicker."""
    fresh: int = 400
    """New cuts that are kept beside the matrix of all others before it is built anew."""
    nothing: float = 1e-9
    fruitless: int = 30
    rounds: int = 3
    """How many regions in a row may bring nothing before the search ends: so many at least, and so many for each secondary class."""


TUNING = RegionTuning()


class CutPool:
    """All cuts known so far, by class."""

    def __init__(self, cuts: Iterable[CapacityCut], size: int) -> None:
        self.size, self.fresh = size, list(cuts)
        self.old = csr_matrix((0, size))
        self.least = np.zeros(0)
        self._join()

    def _join(self) -> None:
        self.old = csr_matrix(vstack([self.old, in_proportion(self.fresh, self.size)], format="csr"))
        self.least = np.append(self.least, [float(cut.least > 0) for cut in self.fresh])
        self.columns = self.old.tocsc()
        self.fresh = []

    def add(self, cuts: list[CapacityCut]) -> None:
        self.fresh += cuts
        if len(self.fresh) > TUNING.fresh:
            self._join()

    def within(self, region: IntArray, outside: FloatArray) -> CutRows:
        """Cuts that classes of the region can break, less what those outside it are good for."""
        touched = np.unique(self.columns[:, region].indices)
        rows = csr_matrix(vstack([self.old[touched], in_proportion(self.fresh, self.size)], format="csr"))
        least = np.append(self.least[touched], [float(cut.least > 0) for cut in self.fresh]) - rows @ outside
        inside = csr_matrix(rows[:, region])
        open_ = least > np.asarray(inside.minimum(0).sum(axis=1)).ravel() + TUNING.nothing
        return cut_rows(csr_matrix(inside[open_]), least[open_])


class RegionSearch:
    """A cover and the cuts that say what is worth a look. guide: the price of a class when a region is chosen."""

    def __init__(self, cover: Cover, pool: CutPool, guide: FloatArray, seed: int) -> None:
        self.cover, self.pool, self.guide = cover, pool, guide
        self.rng = np.random.default_rng(seed)
        self.cost = cover.system.cost / COST_UNITS
        self.fruitless = 0
        """Regions since the pattern became cheaper."""

    def run(self, needs: tuple[Need, ...], until: float) -> bool:
        """Region after region until then; whether the search is worth going on with."""
        cover, wanted = self.cover, set(needs)
        while time.monotonic() < until and not cover.late:
            secondary = np.flatnonzero(cover.suppressed & ~cover.system.free)
            if self.fruitless >= max(TUNING.fruitless, TUNING.rounds * secondary.size) or not secondary.size:
                return False
            region, cost = cover.neighbours(self._start(secondary), self.guide, TUNING.hops, int(self.rng.choice(TUNING.sizes))), cover.cost
            self.renew(region[~cover.system.free[region]], wanted)
            self.fruitless = 0 if cover.cost < cost else self.fruitless + 1
        return not cover.late

    def _start(self, secondary: IntArray) -> int:
        """Any of them, or one of the dearer ones: where costs are values a few classes are most of what there is to save."""
        share = self.cost[secondary] / self.cost[secondary].sum() if self.rng.random() < TUNING.dearest else None
        return int(self.rng.choice(secondary, p=share))

    def renew(self, region: IntArray, wanted: set[Need]) -> bool:
        """Look for a point of this region that costs no more; whether one was taken."""
        cover, spread = self.cover, TUNING.spread * (self.rng.random() < TUNING.sideways)
        price = self.cost[region] * (1 + spread * self.rng.random(region.size))
        outside = cover.suppressed.astype(np.float64)
        outside[region] = 0.0
        now, none = cover.suppressed[region], np.zeros(region.size, dtype=np.bool_)
        found, worth = now, float(self.cost[region] @ now)
        for _ in range(TUNING.attempts):
            steps, seed = max(TUNING.steps * region.size, TUNING.least_steps), int(self.rng.integers(2**31))
            found = cheap_cover(self.pool.within(region, outside), price, found, none, steps=steps, seed=seed)
            if cover.late or np.array_equal(found, now) or float(self.cost[region] @ found) > worth + TUNING.nothing:
                return False
            chosen = cover.suppressed.copy()
            chosen[region] = found
            lost = self._lost(chosen, wanted)
            broken = cuts_broken(cover.system, chosen, lost, region, self._near(region, lost))
            if not broken:
                return _taken(cover, chosen, lost)
            self.pool.add(broken)
        return False

    def _near(self, region: IntArray, lost: list[Need]) -> IntArray:
        """The classes that share a sum with the region, and those that the witnesses lost have moved."""
        system = self.cover.system
        beside = system.relations[np.unique(system.columns[:, region].indices)].indices.astype(np.int64)
        return np.unique(np.concatenate([region, beside, *(self.cover.proofs[need][0] for need in lost)]))

    def _lost(self, chosen: BoolArray, wanted: set[Need]) -> list[Need]:
        """The needs whose witness moved a class that is given up."""
        given_up = np.flatnonzero(self.cover.suppressed & ~chosen).tolist()
        return sorted({need for number in given_up for need in self.cover.users.get(number, ()) if need in wanted}, key=in_order)


def cuts_broken(system: ClassSystem, chosen: BoolArray, needs: list[Need], region: IntArray, near: IntArray) -> list[CapacityCut]:
    """Cuts for those of these needs that the chosen classes do not meet, of few classes of the region; asked of the classes near first."""
    inside, found = chosen.astype(np.float64), list[CapacityCut]()
    for part in parts_of(system, np.flatnonzero(chosen), needs):
        whole, frame = _Frame(system, part, region, inside), part.among(system, near)
        frames = [whole] if frame.classes.size == part.classes.size else [_Frame(system, frame, region, inside), whole]
        shown = set[Need]()
        for need in part.needs:
            if need not in shown:
                answer = _answered(frames, need)
                found += answer.cuts
                shown |= answer.shown
    return found


@dataclass
class _Frame:
    """The flows of a part: of its own classes, and with those of the region beside it; each program is made when it is asked."""

    system: ClassSystem
    part: FlowPart
    region: IntArray
    inside: FloatArray

    @cached_property
    def strict(self) -> PartFlows:
        return PartFlows(self.system, self.part, self.inside)

    @cached_property
    def wide(self) -> PartFlows:
        return PartFlows(self.system, self.part.with_neighbours(self.system, self.region), self.inside)


def _answered(frames: list[_Frame], need: Need) -> FlowAnswer:
    """What the first frame that can tell says of a need: a flow within a few classes is one of the whole, and so is a broken cut."""
    for frame in frames:
        flow = frame.strict.met(need)
        if flow is not None:
            return FlowAnswer([], {need} | frame.strict.shown_too(flow))
        cuts = frame.wide.ask(need).cuts or frame.strict.ask(need).cuts
        if cuts:
            return FlowAnswer(cuts, set())
    return FlowAnswer([], set())


def _taken(cover: Cover, chosen: BoolArray, lost: list[Need]) -> bool:
    """Take the point, with new witnesses for these needs, if there are any in whole numbers; whether it was taken."""
    before, kept = cover.suppressed, [(need, cover.proofs[need]) for need in lost]
    for need in lost:
        cover.forget(need)
    cover.suppressed = chosen
    cover.meet_within(tuple(lost))
    if all(need in cover.proofs for need in lost):
        cover.drop_unused()
        return True
    cover.take_back(kept)
    cover.suppressed = before
    return False
