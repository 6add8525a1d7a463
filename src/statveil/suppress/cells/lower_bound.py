"""A lower bound on the cost of any safe pattern, by capacity cuts, worked out in whole numbers (Fischetti and Salazar 2000).

For any multipliers y of the sums, d_p = r'd with r = e_p - M'y, so that a pattern x that lets class p reach its need has
sum c_i x_i >= need, c_i = min(need, what class i can add to r'd). Multipliers are rounded to fractions; the cut holds for any.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack
from scipy.sparse.csgraph import connected_components

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.solve.highs import CapacityProgram, CoveringProgram
from statveil.suppress.cells.classes import ClassSystem, Need


class BoundTuning(NamedTuple):
    """By judgement."""

    rounds: int = 400
    keeping: int = 3
    """Rounds between two clearances of cuts that are met with much to spare, in shares of what they ask for."""
    loose: float = 0.02
    violation: float = 1e-4
    divisors: int = 12
    """How many factors of a cut it is divided by."""
    nothing: float = 1e-9
    """A share of a class below this is none."""
    fine: int = 2**24
    """Multipliers of cuts are whole multiples of 1/fine."""
    denominators: tuple[int, ...] = (1, 2, 6, 60)
    """Fractions that multipliers are taken for, the first that fits."""
    price: float = 1e4
    """Of buying a cut off, beside the cost of everything."""
    creep: float = 1e-5
    """The share that classes beside a part count for at least: of cuts that are broken alike the one of fewer classes is found."""
    widest: int = 6_000
    """Classes of a part and beside it up to which that is done: programs take the longer for it."""
    seconds: float = 30.0


TUNING = BoundTuning()


class CapacityCut(NamedTuple):
    """sum of factor * x[classes] >= least, all whole numbers."""

    classes: IntArray
    factor: AnyArray
    least: int

    def short(self, x: FloatArray) -> float:
        """By how much a point falls short, as a share."""
        scale = float(self.least) if self.least else 1.0
        return (float(self.least) - float((self.factor.astype(np.float64) * x[self.classes]).sum())) / scale


def partner_cuts(system: ClassSystem) -> list[CapacityCut]:
    """A suppressed class needs a partner in each of its sums; in a cheapest pattern a secondary has one too, else it would be published."""
    cuts = []
    matrix = system.relations
    for row in range(matrix.shape[0]):
        members = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
        for member in members.tolist():
            hidden = system.free[member] and not system.sensitive[member]
            if system.free[members[members != member]].any() or hidden:
                continue  # it has a partner already; what is hidden anyway need not have one
            if system.free[member]:
                others = members[members != member]
                cuts.append(CapacityCut(others, np.ones(others.size, dtype=object), 1))
            else:
                cuts.append(CapacityCut(members, np.where(members == member, -1, 1).astype(object), 0))
    return cuts


def bound_of(
    system: ClassSystem,
    cuts: list[CapacityCut],
    multipliers: FloatArray,
    *,
    suppressed: BoolArray | None = None,
    published: BoolArray | None = None,
) -> int:
    """What these multipliers of the cuts prove, exactly: no safe pattern costs less, or none with these classes suppressed and published
    for sure. Multipliers below zero count as none."""
    taken = system.free if suppressed is None else suppressed
    left_open = ~taken if published is None else ~taken & ~published
    fine = TUNING.fine
    left = system.cost.astype(object) * fine
    total = 0
    for cut, multiplier in zip(cuts, multipliers, strict=True):
        times = int(max(0.0, float(multiplier)) * fine / max(cut.least, 1))
        if times:
            total += times * cut.least
            left[cut.classes] -= times * cut.factor
    total += sum(int(each) for each in left[taken].tolist())
    total += sum(int(each) for each in left[left_open].tolist() if each < 0)
    step = int(np.gcd.reduce(system.cost)) or 1
    return max(0, -(-total // (fine * step)) * step)


def cut_of(system: ClassSystem, need: Need, duals: FloatArray) -> CapacityCut | None:
    """The cut of these multipliers, without the classes that are suppressed anyway: what they cannot add is what the others must, and none
    of those counts for more than that. None where they add enough."""
    known = TUNING.denominators
    denominator = next((d for d in known if np.abs(duals * d - np.rint(duals * d)).max(initial=0.0) < 1e-6), known[-1])
    rows = np.flatnonzero(duals)
    whole = np.rint(duals[rows] * denominator).astype(np.int64)
    rate = -np.asarray(system.relations[rows].T @ whole, dtype=np.int64)
    rate[need.target] += denominator * need.sense
    rate[list(need.known)] = 0
    classes = np.flatnonzero(rate)
    down, up = system.down[classes].astype(object), system.up[classes].astype(object)
    own = rate[classes].astype(object)
    most = np.where(rate[classes] > 0, own * up, -own * down)
    least = denominator * need.amount
    factor = np.minimum(most, least)
    given = system.free[classes]
    least -= int(factor[given].sum())
    if least <= 0:
        return None
    factor = np.minimum(factor[~given], least)
    return _in_least_terms(classes[~given], factor, least)


def in_proportion(cuts: list[CapacityCut], size: int) -> csr_matrix:
    """Cuts as rows, in shares of what they ask for, so that every right-hand side is one or zero."""
    if not cuts:
        return csr_matrix((0, size))
    entries = [cut.factor.astype(np.float64) / max(cut.least, 1) for cut in cuts]
    ends = np.cumsum([0, *(cut.classes.size for cut in cuts)])
    rows = csr_matrix((np.concatenate(entries), np.concatenate([cut.classes for cut in cuts]), ends), shape=(len(cuts), size))
    rows.sort_indices()
    return rows


class FlowPart(NamedTuple):
    """Classes that sums join with each other, those sums, and the needs among them, the largest first."""

    classes: IntArray
    rows: IntArray
    needs: list[Need]

    def with_neighbours(self, system: ClassSystem, among: IntArray | None = None) -> FlowPart:
        """With the classes beside it (of these), unless they are too many."""
        beside = system.relations[self.rows].indices.astype(np.int64)
        wide: IntArray = np.union1d(self.classes, beside if among is None else np.intersect1d(beside, among))
        return self._replace(classes=wide) if wide.size <= TUNING.widest else self

    def among(self, system: ClassSystem, near: IntArray) -> FlowPart:
        """Of these classes and the needs' own alone, with all sums that they are in."""
        classes: IntArray = np.intersect1d(self.classes, np.union1d(near, [need.target for need in self.needs]))
        return FlowPart(classes, np.unique(system.columns[:, classes].indices), self.needs)


def parts_of(system: ClassSystem, support: IntArray, needs: Iterable[Need]) -> list[FlowPart]:
    """The parts into which the classes of a point fall; the targets of needs are always among them."""
    matrix = system.columns[:, support].tocoo()
    count, size = matrix.shape[0], sum(matrix.shape)
    graph = csr_matrix((np.ones(matrix.nnz), (matrix.row, count + matrix.col)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    rows, of_class = label[:count], label[count:]
    of_part: dict[int, list[Need]] = {}
    place = np.full(system.size, -1, dtype=np.int64)
    place[support] = np.arange(support.size)
    for need in needs:
        of_part.setdefault(int(of_class[place[need.target]]), []).append(need)
    return [FlowPart(support[of_class == number], np.flatnonzero(rows == number), each) for number, each in of_part.items()]


def rounded_up(cut: CapacityCut, x: FloatArray) -> CapacityCut | None:
    """The cut divided by one of its factors and rounded up, which holds for whole x (Gomory 1958, Chvatal 1973); None where none is
    broken by this point."""
    if cut.least < 2 or not cut.factor.size or min(cut.factor) < 0:
        return None
    share = x[cut.classes]
    best, worst = None, TUNING.violation
    for part in sorted({int(each) for each in cut.factor[share > 0] if each > 1}, reverse=True)[: TUNING.divisors]:
        factor = -(-cut.factor // part)
        least = -(-cut.least // part)
        whole = CapacityCut(cut.classes, np.minimum(factor, least), least)
        short = whole.short(x)
        if short > worst:
            best, worst = whole, short
    return best


def without_taken(cut: CapacityCut, x: FloatArray) -> CapacityCut | None:
    """What the other classes must add if these are given away: the classes the point has most of, as many as leave most broken. No class
    counts for more than what is left then (knapsack covers: Carr, Fleischer, Leung and Phillips 2000). None where nothing is broken."""
    if cut.least < 2 or not cut.factor.size or min(cut.factor) < 0:
        return None
    share, factor = x[cut.classes], cut.factor.astype(np.float64)
    inside = np.flatnonzero(share)
    order = inside[np.lexsort((factor[inside], -share[inside]))]
    left = float(cut.least) - np.append(0.0, np.cumsum(factor[order]))
    left = left[: int(np.count_nonzero(left >= 1))]
    counted = np.triu(np.minimum(factor[order], left[:, None]))
    short = 1 - counted @ share[order] / left
    most = int(np.argmax(short))
    if most == 0 or short[most] <= TUNING.violation:
        return None
    others = np.ones(cut.classes.size, dtype=np.bool_)
    others[order[:most]] = False
    least = cut.least - int(cut.factor[~others].sum())
    return _in_least_terms(cut.classes[others], np.minimum(cut.factor[others], least), least) if least > 0 else None


class CutLoop:
    """Covering program and capacity program over one system, with all cuts found so far."""

    def __init__(self, system: ClassSystem, deadline: float) -> None:
        self.system, self.deadline = system, deadline
        self.cuts: list[CapacityCut] = []
        self.scale = max(1.0, float(system.cost.max(initial=1)))
        total = float(system.cost.sum()) / self.scale
        self.covering = CoveringProgram(system.cost / self.scale, price=TUNING.price * (1.0 + total))
        self.spare = partner_cuts(system)
        """Cuts that join the program where a point breaks them: most never do."""
        self._spare_rows, self._spare_least = in_proportion(self.spare, system.size), _right_sides(self.spare)
        self.met: set[Need] = set()
        """Needs that the last points met, and that are not asked about while others break cuts."""

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def drop_loose(self, x: FloatArray) -> None:
        """Leave out the cuts that this point meets with much to spare: they join again where a point breaks them."""
        slack = in_proportion(self.cuts, self.system.size) @ x - _right_sides(self.cuts)
        out = set(self.covering.drop(np.flatnonzero(slack > TUNING.loose)).tolist())
        loose = [cut for place, cut in enumerate(self.cuts) if place in out]
        self.cuts = [cut for place, cut in enumerate(self.cuts) if place not in out]
        self.spare += loose
        self._spare_rows = csr_matrix(vstack([self._spare_rows, in_proportion(loose, self.system.size)], format="csr"))
        self._spare_least = np.append(self._spare_least, _right_sides(loose))

    def add(self, cuts: list[CapacityCut]) -> None:
        if cuts:
            bought = csr_matrix(np.ones((len(cuts), 1)))
            rows = csr_matrix(hstack([in_proportion(cuts, self.system.size), bought], format="csr"))
            rows.sort_indices()
            self.covering.add(rows, _right_sides(cuts))
        self.cuts += cuts

    def solve(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Point and multipliers within these bounds; the multipliers in the problem's own costs."""
        found = self.covering.solve(lower, upper, seconds=TUNING.seconds)
        return None if found is None else (found[0], found[1] * self.scale)

    def separate(self, x: FloatArray) -> list[CapacityCut]:
        """Cuts that this point breaks. Where a class has no share of the point nothing can flow: what is left falls into parts."""
        inside = np.clip(x, 0.0, 1.0)
        inside[inside < TUNING.nothing] = 0.0
        found = self._spare_cuts(inside)
        flows = self._of_flows(inside, self.met)
        if not flows and self.met:
            flows = self._of_flows(inside, set())
        found += flows
        known = [*found, *self._tight(inside)]
        left = [cut for cut in (without_taken(cut, inside) for cut in known) if cut is not None]
        rounded = [cut for cut in (rounded_up(cut, inside) for cut in [*known, *left]) if cut is not None]
        return _different([*found, *left, *rounded])

    def _spare_cuts(self, x: FloatArray) -> list[CapacityCut]:
        """Those that this point breaks, which are spare no longer."""
        if not self.spare:
            return []
        broken = self._spare_least - self._spare_rows @ x > TUNING.violation
        found = [self.spare[at] for at in np.flatnonzero(broken).tolist()]
        self.spare = [self.spare[at] for at in np.flatnonzero(~broken).tolist()]
        self._spare_rows, self._spare_least = self._spare_rows[~broken], self._spare_least[~broken]
        return found

    def _of_flows(self, x: FloatArray, passed: set[Need]) -> list[CapacityCut]:
        """One cut for each need that this point does not meet, but for those passed over."""
        found: list[CapacityCut] = []
        for part in parts_of(self.system, np.flatnonzero(x), (need for need in self.system.needs if need not in passed)):
            if self.late:
                break
            found += self._in_part(part.with_neighbours(self.system), x)
        return found

    def _tight(self, x: FloatArray) -> list[CapacityCut]:
        """Cuts that the point meets with nothing to spare."""
        return [cut for cut in self.cuts if cut.least > 1 and cut.short(x) > -TUNING.violation]

    def _in_part(self, part: FlowPart, inside: FloatArray) -> list[CapacityCut]:
        flows, found = PartFlows(self.system, part, inside), list[CapacityCut]()
        done, shown = set[int](), set[Need]()
        for need in part.needs:
            if self.late:
                break
            if need.target in done or need in shown:  # a cut of the other sense is most often the same
                continue
            self.met.discard(need)
            asked = flows.ask(need)
            found += asked.cuts
            if asked.cuts:
                done.add(need.target)
            shown |= asked.shown
            self.met |= asked.shown
        return found

    def root(self, tell: Callable[[int], object] = lambda _: None) -> tuple[int, FloatArray]:
        """The bound of the linear program with all cuts found in time, and its point; tell hears of each bound."""
        lower, upper = self.system.free.astype(np.float64), np.ones(self.system.size)
        best, x = 0, lower
        for number in range(1, TUNING.rounds + 1):
            found = self.solve(lower, upper)
            if found is None:
                break
            x = found[0]
            best = max(best, bound_of(self.system, self.cuts, found[1]))
            tell(best)
            new = [] if self.late else self.separate(x)
            if not new:
                break
            if number % TUNING.keeping == 0:
                self.drop_loose(x)
            self.add(new)
        return best, x


class FlowAnswer(NamedTuple):
    """What a need's flow told: cuts that the point breaks, or needs that it meets."""

    cuts: list[CapacityCut]
    shown: set[Need]


class PartFlows:
    """How far the targets of needs can go in one part, where each class carries no more than its share of the point."""

    def __init__(self, system: ClassSystem, part: FlowPart, inside: FloatArray) -> None:
        self.system, self.part, self.inside = system, part, inside
        matrix = csr_matrix(csr_matrix(system.columns[:, part.classes])[part.rows])
        self.program = CapacityProgram(matrix.astype(np.float64))
        self.room = tuple(each[part.classes].astype(np.float64) for each in (system.down, system.up))
        self.share = np.maximum(inside[part.classes], TUNING.creep)
        self.at = {int(number): place for place, number in enumerate(part.classes)}
        self.named = dict[int, list[Need]]()
        for need in part.needs:
            self.named.setdefault(self.at[need.target], []).append(need)
        self.set: tuple[int, tuple[int, ...]] = (-1, ())

    def ask(self, need: Need) -> FlowAnswer:
        """A cut that the point breaks, or the needs that its flow meets; nothing where the solver had no answer."""
        ended = self._farthest(need)
        if ended is None:
            return FlowAnswer([], set())
        if self._enough(need, ended[0]):
            return FlowAnswer([], {need} | self.shown_too(ended[0]))
        cut = self._cut(need, ended[1])
        return FlowAnswer([] if cut is None or cut.short(self.inside) <= TUNING.violation else [cut], set())

    def met(self, need: Need) -> FloatArray | None:
        """A flow that meets the need; None where the point has none."""
        ended = self._farthest(need)
        return None if ended is None or not self._enough(need, ended[0]) else ended[0]

    def _enough(self, need: Need, flow: FloatArray) -> bool:
        return bool(need.sense * flow[self.at[need.target]] >= need.amount * (1 - 1e-7))

    def _farthest(self, need: Need) -> tuple[FloatArray, FloatArray] | None:
        wanted = (need.amount, need.known)
        if wanted != self.set:
            share = self.share.copy()
            share[[self.at[each] for each in need.known if each in self.at]] = 0.0
            low, high = (np.minimum(each, need.amount) * share for each in self.room)
            self.program.capacities(-low, high)
            self.set = wanted
        ends = (0.0, float(need.amount)) if need.sense > 0 else (-float(need.amount), 0.0)
        return self.program.farthest(self.at[need.target], need.sense, most=ends, seconds=TUNING.seconds)

    def _cut(self, need: Need, multipliers: FloatArray) -> CapacityCut | None:
        duals = np.zeros(self.system.relations.shape[0])
        duals[self.part.rows] = -multipliers
        return cut_of(self.system, need, duals)

    def shown_too(self, flow: FloatArray) -> set[Need]:
        """Needs that this flow, or a multiple of it, meets too: of classes that carry as much of it as any, beside their share."""
        moved = np.flatnonzero(np.abs(flow) > TUNING.nothing * max(1.0, float(np.abs(flow).max(initial=0.0))))
        here, part = flow[moved], self.share[moved]
        most = float((np.abs(here) / part).max(initial=0.0)) * (1 - 1e-9)
        found = set[Need]()
        for turn in (1, -1):
            there = np.where(here * turn > 0, self.room[1][moved], self.room[0][moved]) * part
            longest = float((there / np.abs(here)).min(initial=np.inf)) * (1 + 1e-9)
            here_now = dict(zip(moved.tolist(), (here * turn).tolist(), strict=True))
            for place in self.named.keys() & here_now.keys():
                own = here_now[place]
                found |= {need for need in self.named[place] if need.sense * own >= most and need.amount <= longest * abs(own)}
        return found


def _in_least_terms(classes: IntArray, factor: AnyArray, least: int) -> CapacityCut:
    common = math.gcd(least, *(int(each) for each in factor))
    return CapacityCut(classes, factor // common, least // common)


def _right_sides(cuts: list[CapacityCut]) -> FloatArray:
    return np.array([float(cut.least > 0) for cut in cuts])


def _different(cuts: list[CapacityCut]) -> list[CapacityCut]:
    seen: dict[tuple[bytes, tuple[int, ...], int], CapacityCut] = {}
    for cut in cuts:
        seen.setdefault((cut.classes.tobytes(), tuple(int(each) for each in cut.factor), cut.least), cut)
    return list(seen.values())
