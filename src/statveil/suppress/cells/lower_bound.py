"""A lower bound on the cost of any safe pattern, by capacity cuts, worked out in whole numbers (Fischetti and Salazar 2000).

For any multipliers y of the sums, d_p = r'd with r = e_p - M'y, so that a pattern x that lets class p reach its need has
sum c_i x_i >= need, c_i = min(need, what class i can add to r'd). Multipliers are rounded to fractions; the cut holds for any.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.solve.highs import CapacityProgram, CoveringProgram
from statveil.suppress.cells.classes import ClassSystem, Need

_DENOMINATORS = (1, 2, 6, 60)


class BoundTuning(NamedTuple):
    """By judgement."""

    rounds: int = 60
    violation: float = 1e-4
    divisors: int = 12
    """How many factors of a cut it is divided by."""
    nothing: float = 1e-9
    """A share of a class below this is none."""
    fine: int = 2**24
    """Multipliers of cuts are whole multiples of 1/fine."""
    price: float = 1e4
    """Of buying a cut off, beside the cost of everything."""
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


def cut_of(system: ClassSystem, need: Need, duals: FloatArray) -> list[CapacityCut]:
    """The cuts of these multipliers, with either sign: both hold."""
    denominator = next((d for d in _DENOMINATORS if np.abs(duals * d - np.rint(duals * d)).max(initial=0.0) < 1e-6), _DENOMINATORS[-1])
    whole = np.rint(duals * denominator).astype(np.int64)
    return [_cut(system, need, sign * whole, denominator) for sign in (1, -1)]


def _cut(system: ClassSystem, need: Need, whole: IntArray, denominator: int) -> CapacityCut:
    rate = -np.asarray(system.relations.T @ whole, dtype=np.int64)
    rate[need.target] += denominator * need.sense
    classes = np.flatnonzero(rate)
    down, up = system.down[classes].astype(object), system.up[classes].astype(object)
    own = rate[classes].astype(object)
    most = np.where(rate[classes] > 0, own * up, -own * down)
    least = denominator * need.amount
    factor = np.minimum(most, least)
    common = math.gcd(least, *(int(each) for each in factor))
    return CapacityCut(classes, factor // common, least // common)


class _FlowPart(NamedTuple):
    """Classes that sums join with each other, those sums, and the needs among them, the largest first."""

    classes: IntArray
    rows: IntArray
    needs: list[Need]


def _parts(system: ClassSystem, support: IntArray) -> list[_FlowPart]:
    """The parts into which the classes of a point fall; the targets of needs are always among them."""
    matrix = system.columns[:, support].tocoo()
    count, size = matrix.shape[0], sum(matrix.shape)
    graph = csr_matrix((np.ones(matrix.nnz), (matrix.row, count + matrix.col)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    rows, of_class = label[:count], label[count:]
    needs: dict[int, list[Need]] = {}
    place = np.full(system.size, -1, dtype=np.int64)
    place[support] = np.arange(support.size)
    for need in system.needs:
        needs.setdefault(int(of_class[place[need.target]]), []).append(need)
    return [_FlowPart(support[of_class == number], np.flatnonzero(rows == number), each) for number, each in needs.items()]


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


class CutLoop:
    """Covering program and capacity program over one system, with all cuts found so far."""

    def __init__(self, system: ClassSystem, deadline: float) -> None:
        self.system, self.deadline = system, deadline
        self.cuts: list[CapacityCut] = []
        self.scale = max(1.0, float(system.cost.max(initial=1)))
        total = float(system.cost.sum()) / self.scale
        self.covering = CoveringProgram(system.cost / self.scale, price=TUNING.price * (1.0 + total))
        self.add(partner_cuts(system))

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def add(self, cuts: list[CapacityCut]) -> None:
        """Rows in proportion, so that the right-hand side is one or zero."""
        size = self.system.size + 1
        entries, places, ends = [], [], [0]
        for cut in cuts:
            entries.append(np.append(cut.factor.astype(np.float64) / max(cut.least, 1), 1.0))
            places.append(np.append(cut.classes, size - 1))
            ends.append(ends[-1] + cut.classes.size + 1)
        if cuts:
            rows = csr_matrix((np.concatenate(entries), np.concatenate(places), np.array(ends)), shape=(len(cuts), size))
            rows.sort_indices()
            self.covering.add(rows, np.array([float(cut.least > 0) for cut in cuts]))
        self.cuts += cuts

    def solve(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Point and multipliers within these bounds; the multipliers in the problem's own costs."""
        found = self.covering.solve(lower, upper, seconds=TUNING.seconds)
        return None if found is None else (found[0], found[1] * self.scale)

    def separate(self, x: FloatArray) -> list[CapacityCut]:
        """Cuts that this point breaks. Where a class has no share of the point nothing can flow: what is left falls into parts."""
        inside = np.clip(x, 0.0, 1.0)
        inside[inside < TUNING.nothing] = 0.0
        found: list[CapacityCut] = []
        for part in _parts(self.system, np.flatnonzero(inside)):
            if self.late:
                break
            found += self._in_part(part, inside)
        rounded = [rounded_up(cut, inside) for cut in [*found, *self._tight(inside)]]
        return _different([*found, *(cut for cut in rounded if cut is not None)])

    def _tight(self, x: FloatArray) -> list[CapacityCut]:
        """Cuts that the point meets with nothing to spare."""
        return [cut for cut in self.cuts if cut.least > 1 and cut.short(x) > -TUNING.violation]

    def _in_part(self, part: _FlowPart, inside: FloatArray) -> list[CapacityCut]:
        system, found = self.system, []
        matrix = csr_matrix(system.columns[:, part.classes])[part.rows]
        program = CapacityProgram(csr_matrix(matrix).astype(np.float64))
        down, up, share = system.down[part.classes], system.up[part.classes], inside[part.classes]
        at = {int(number): place for place, number in enumerate(part.classes)}
        last = -1
        for need in part.needs:
            if self.late:
                break
            if need.amount != last:
                low, high = (np.minimum(each.astype(np.float64), need.amount) * share for each in (down, up))
                program.capacities(-low, high)
                last = need.amount
            ends = (0.0, float(need.amount)) if need.sense > 0 else (-float(need.amount), 0.0)
            place = at[need.target]
            ended = program.farthest(place, need.sense, most=ends, seconds=TUNING.seconds)
            if ended is None or need.sense * ended[0][place] >= need.amount * (1 - 1e-7):
                continue
            duals = np.zeros(system.relations.shape[0])
            duals[part.rows] = ended[1]
            best = max(cut_of(system, need, duals), key=lambda cut: cut.short(inside))
            if best.short(inside) > TUNING.violation:
                found.append(best)
        return found

    def root(self) -> tuple[int, FloatArray]:
        """The bound of the linear program with all cuts found in time, and its point."""
        lower, upper = self.system.free.astype(np.float64), np.ones(self.system.size)
        best, x = 0, lower
        for _ in range(TUNING.rounds):
            found = self.solve(lower, upper)
            if found is None:
                break
            x = found[0]
            best = max(best, bound_of(self.system, self.cuts, found[1]))
            new = [] if self.late else self.separate(x)
            if not new:
                break
            self.add(new)
        return best, x


def _different(cuts: list[CapacityCut]) -> list[CapacityCut]:
    seen: dict[tuple[bytes, tuple[int, ...], int], CapacityCut] = {}
    for cut in cuts:
        seen.setdefault((cut.classes.tobytes(), tuple(int(each) for each in cut.factor), cut.least), cut)
    return list(seen.values())
