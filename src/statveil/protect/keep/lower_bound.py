"""What keeping statistics within a distance must cost at the least: a convex relaxation that leaves the senses open, in boxes.

With T = sum y over the n cells of the target and L, V as in S1 section 3: V = (sum y^2 - T^2 / n) / (n Var). A sensitive cell moves up by
its level or down by its level, so that its square is that of the level or more, whatever the sense; only -T^2 (and, for the correlation
(1 + L)^2 >= r^2 (1 + 2 L + V), the square of L) bend the wrong way. In a box of T and L each lies under its chord. What is left is
one linear program a box; the least of them over boxes that cover all T and L is a bound on every table, and the solution of a
good box shows which senses such a table has. `proved` works a box's bound out again from the multipliers in exact fractions.
"""

from __future__ import annotations

import dataclasses
import heapq
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem
from statveil.solve.model import LinearModel

PERCENT, PER_MILLE = 100, 1000
"""L is a column in percent and the conditions count V in thousandths, so that the factors are of one size."""
OUT = 5
"""Columns of what is out of the box."""


class LowerBoundTuning(NamedTuple):
    """Where the squares have their tangents, and how finely boxes are cut. All by judgement."""

    tangents: tuple[int, ...] = (8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48)
    """Where the square of a change lies on its tangent, in eighths of the cell's level; such factors are exact in binary."""
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
    """The first boxes' edges: sums of the changes, as shares of the sum of the levels."""
    dear: int = 10
    """What V too large by a thousandth costs, in ceilings: so every program has a solution, and multipliers that show what a box costs."""
    fine: float = 0.02
    """A box is fine enough to stand for its tables when its chords are off by this part of the distance asked."""
    first_slopes: tuple[float, ...] = (-2.0, -0.25, 0.0, 0.25, 2.0)
    """The first boxes' edges: slopes less one. Steeper ones are not looked at; with a correlation alone the bound is for those that are."""
    likely_slopes: tuple[float, ...] = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)
    """Slopes less one between which senses are looked for."""
    most_steps: int = 40
    """Steps of a fine box's width from no change in sum,"""
    wide: int = 4
    """and how many of them a box has in which senses are looked for."""
    no_excess: float = 1e-6
    """Excess of a box's program that is rounding."""


TUNING = LowerBoundTuning()
PER_CELL = ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")


class Box(NamedTuple):
    """Tables whose changes over the target sum to T and whose slope is 1 + L."""

    lowest: float
    highest: float
    flattest: float
    steepest: float


class BoxSolution(NamedTuple):
    """The least change in a box and where it is; `multipliers` of the program's rows show it."""

    bound: float
    box: Box
    deviation: FloatArray
    excess: float
    """By how much V is too large even so, in thousandths, and the table out of the box."""
    multipliers: FloatArray


class _Condition(NamedTuple):
    """V <= constant + by_linear * L."""

    by_linear: Fraction
    constant: Fraction


class ConvexRelaxation:
    """The linear programs of one target's boxes. Tables that change more than `ceiling` are left out."""

    def __init__(self, problem: ProtectionProblem, target: Target, *, within: float, ceiling: float) -> None:
        self.problem, self.target, self.within, self.ceiling = problem, target, within, ceiling
        self._distance = Fraction(str(within))
        cells, levels = target.cells, np.minimum(problem.lower_level, problem.upper_level)
        level = np.where(problem.sensitive, levels, 0)[cells]
        self.unit: IntArray = np.where(level > 0, level, max(int(np.median(level)), 1)).astype(np.int64)
        """A square is counted in units of (level * one), the level where there is one."""
        values = [int(each) for each in problem.value[cells]]
        self._weighted = [target.size * value - sum(values) for value in values]
        self._scatter = target.size * sum(value * value for value in values) - sum(values) ** 2
        reach = np.floor(ceiling / problem.weight)
        self._most_up = np.clip(np.where(problem.sensitive, problem.up.high, problem.free.high), 0, reach)
        self._most_down = np.clip(-np.where(problem.sensitive, problem.down.low, problem.free.low), 0, reach)
        self._least_square = np.where(level > 0, level, 0).astype(np.float64)
        self._base, self._base_low, self._base_high = self._rows()

    # The columns: rises, falls, squares of the target's cells, mean change, L in percent; then what is out of the box, dear: V in excess,
    # mean change above and below, L above and below.

    @property
    def _cells(self) -> int:
        return self.problem.size

    @property
    def _mean(self) -> int:
        return 2 * self._cells + self.target.size

    def _rows(self) -> tuple[csr_matrix, FloatArray, FloatArray]:
        """The relations, the mean, L, the levels, and the tangents."""
        problem, cells, count = self.problem, self.target.cells, self.target.size
        each = np.arange(count)
        pick = _entries(np.ones(count), each, cells, (count, self._cells))
        sums = _entries(
            np.concatenate([np.ones(count), self._linear_factors()]), np.repeat([0, 1], count), np.tile(cells, 2), (2, self._cells)
        )
        own = np.array([[-count, 0.0, 0.0, -count, count, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0, 0.0, -1.0, 1.0]])
        square = _entries(np.ones(count), each, each, (count, count))
        choice = np.flatnonzero(problem.sensitive & (problem.lower_level > 0) & (problem.upper_level > 0))
        up, down = (_entries(1.0 / level[choice], np.arange(choice.size), choice, (choice.size, self._cells)) for level in self._levels)
        blocks = [
            hstack([problem.relations, -problem.relations, _nothing(problem.rhs.size, count + own.shape[1])]),
            hstack([sums, -sums, _nothing(2, count), csr_matrix(own)]),
            hstack([up, down, _nothing(choice.size, count + own.shape[1])]),
            *(hstack([-tangent / 4 * pick, -tangent / 4 * pick, square, _nothing(count, own.shape[1])]) for tangent in TUNING.tangents),
        ]
        equal = np.concatenate([problem.residual, [0.0, 0.0]])
        least = np.concatenate([np.ones(choice.size), *(-self.unit * tangent**2 / 64 for tangent in TUNING.tangents)])
        high = np.concatenate([equal, np.full(least.size, np.inf)])
        return csr_matrix(vstack(blocks, format="csr"), dtype=np.float64), np.concatenate([equal, least]), high

    @property
    def _levels(self) -> tuple[IntArray, IntArray]:
        return self.problem.upper_level, self.problem.lower_level

    def _linear_factors(self) -> FloatArray:
        return np.array([float(Fraction(PERCENT * each, self._scatter)) for each in self._weighted])

    def boxes(self) -> list[Box]:
        """Boxes that hold every table below the ceiling (with a slope of 1 +- 2 at most)."""
        level = float(self.unit.sum())
        most = float(np.maximum(self._most_up, self._most_down)[self.target.cells].sum())
        most = min(most, self.ceiling / float(self.problem.weight[self.target.cells].min()))
        edges = sorted({sign * min(share * level, most) for share in TUNING.shares for sign in (-1, 1)} | {-most, most} - {-0.0})
        edges = [0.0, 0.0] if self.target.mean else edges
        slopes = (-self.within, self.within) if self.target.slope else TUNING.first_slopes
        return [Box(low, high, flat, steep) for low, high in pairwise(edges) for flat, steep in pairwise(slopes)]

    def conditions(self, box: Box) -> list[_Condition]:
        """What variance and correlation ask of V, the square of L by its chord over the box."""
        found = []
        if self.target.variance:
            found.append(_Condition(Fraction(-2), self._distance))
        if self.target.correlation:
            flat, steep = Fraction(box.flattest), Fraction(box.steepest)
            least = (1 - self._distance) ** 2
            at_flat, at_steep = ((1 + linear) ** 2 / least - 1 - 2 * linear for linear in (flat, steep))
            rise = (at_steep - at_flat) / (steep - flat)
            found.append(_Condition(rise, at_flat - rise * flat))
        return found

    def crude(self, box: Box) -> float:
        """By how much the chords are off, in V."""
        over_sums = (box.highest - box.lowest) ** 2 / (4 * self._scatter)
        over_slopes = (box.steepest - box.flattest) ** 2 / 4 if self.target.correlation and not self.target.slope else 0.0
        return float(max(over_sums, over_slopes))

    def halves(self, box: Box) -> tuple[Box, Box]:
        over_sums = (box.highest - box.lowest) ** 2 / (4 * self._scatter)
        if over_sums >= self.crude(box):
            middle = (box.lowest + box.highest) / 2
            return box._replace(highest=middle), box._replace(lowest=middle)
        middle = (box.flattest + box.steepest) / 2
        return box._replace(steepest=middle), box._replace(flattest=middle)

    def solve(self, box: Box, *, seconds: float) -> BoxSolution | None:
        """The least change in a box. None where the solver has none, or the time ran out."""
        from statveil.solve import highs

        model = self._model(box)
        found = highs.solve(model, seconds=seconds, algorithm="ipm")
        if found.ending is not Ending.OPTIMAL or found.x is None or found.row_duals is None:
            return None
        deviation = found.x[: self._cells] - found.x[self._cells : 2 * self._cells]
        return BoxSolution(found.objective, box, deviation, float(found.x[-OUT:].sum()), found.row_duals)

    def _model(self, box: Box) -> LinearModel:
        lower, upper = self._bounds(box)
        rows, most = self._condition_rows(box)
        weight = self.problem.weight
        cost = np.concatenate([weight, weight, np.zeros(self.target.size + 2), np.full(OUT, TUNING.dear * self.ceiling)])
        return LinearModel(
            cost=cost,
            matrix=csr_matrix(vstack([self._base, rows], format="csr")),
            row_lower=np.concatenate([self._base_low, np.full(most.size, -np.inf)]),
            row_upper=np.concatenate([self._base_high, most]),
            lower=lower,
            upper=upper,
        )

    def _bounds(self, box: Box) -> tuple[FloatArray, FloatArray]:
        size, cells = self.target.size, self.target.cells
        most = np.maximum(self._most_up, self._most_down)[cells].astype(np.float64) ** 2 / self.unit
        lower = np.concatenate([np.zeros(2 * self._cells), self._least_square, [box.lowest / size, PERCENT * box.flattest], np.zeros(OUT)])
        tail = [box.highest / size, PERCENT * box.steepest, *[np.inf] * OUT]
        return lower, np.concatenate([self._most_up, self._most_down, np.ceil(most) + 1, tail]).astype(np.float64)

    def _condition_rows(self, box: Box) -> tuple[csr_matrix, FloatArray]:
        """V in thousandths by its squares and the chord of -T^2, less what the condition allows; and less the excess."""
        rows, most = [], []
        for condition in self.conditions(box):
            squares, by_mean, by_linear, constant = self._condition_factors(box, condition)
            factors = np.concatenate([np.array([float(each) for each in squares]), [float(by_mean), float(by_linear), -1.0]])
            columns = np.arange(2 * self._cells, 2 * self._cells + factors.size)
            rows.append(csr_matrix((factors, (np.zeros(factors.size, np.int64), columns)), shape=(1, self._base.shape[1])))
            most.append(float(constant))
        none = _nothing(0, self._base.shape[1])  # a slope alone asks nothing of V
        return csr_matrix(vstack([none, *rows], format="csr")), np.array(most)

    def _condition_factors(self, box: Box, condition: _Condition) -> tuple[list[Fraction], Fraction, Fraction, Fraction]:
        """Exact factors of squares, mean change and L in percent, and the right side: n sum y^2 - T^2 <= D (constant + by_linear L)."""
        low, high, count = Fraction(box.lowest), Fraction(box.highest), self.target.size
        share = Fraction(PER_MILLE, self._scatter)
        squares = [share * count * int(unit) for unit in self.unit]
        by_linear = -PER_MILLE * condition.by_linear / PERCENT
        return squares, -share * (low + high) * count, by_linear, PER_MILLE * condition.constant - share * low * high

    @property
    def fine_step(self) -> float:
        """The width in sums of a box that is fine enough."""
        return float(np.sqrt(4 * self._scatter * TUNING.fine * self.within))

    def alone(self) -> ConvexRelaxation:
        """The same without the table: the target's cells and their levels only."""
        cells, problem = self.target.cells, self.problem
        parts = {name: getattr(problem, name)[cells] for name in PER_CELL}
        none = np.zeros(0, dtype=np.int64)
        bare = dataclasses.replace(problem, relations=problem.relations[:0, cells], rhs=none, **parts)
        target = dataclasses.replace(self.target, cells=np.arange(cells.size))
        return ConvexRelaxation(bare, target, within=self.within, ceiling=self.ceiling)

    def proved(self, relaxed: BoxSolution) -> Fraction:
        """The bound of a box worked out from the multipliers in exact fractions: any multipliers of the right sign give one.

        min c x + multipliers (b - A x) over the columns' bounds; a table of the box has nothing out of it: those columns do not count.
        """
        box, target, cells = relaxed.box, self.target, self._cells
        conditions = self.conditions(box)
        given = [Fraction(float(each)) for each in relaxed.multipliers]
        total = Fraction(0)
        reduced = [Fraction(float(each)) for each in (*self.problem.weight, *self.problem.weight)]
        reduced += [Fraction(0)] * (target.size + 2)
        for row, least, most in self._exact_rows(box, conditions):
            factor = given.pop(0)
            if least is None or most is None:  # an inequality: its multiplier has a sign
                factor = max(factor, Fraction(0)) if most is None else min(factor, Fraction(0))
            side = least if least is not None else most
            assert side is not None
            total += factor * side
            for column, entry in row:
                reduced[column] -= factor * entry
        lower, upper = self._bounds(box)
        exact_low = [Fraction(float(each)) for each in lower[: 2 * cells + target.size]]
        exact_high = [Fraction(float(each)) for each in upper[: 2 * cells + target.size]]
        exact_low += [Fraction(box.lowest) / target.size, PERCENT * Fraction(box.flattest)]
        exact_high += [Fraction(box.highest) / target.size, PERCENT * Fraction(box.steepest)]
        ends = zip(reduced, exact_low, exact_high, strict=True)
        return total + sum((cost * (low if cost > 0 else high) for cost, low, high in ends), Fraction(0))

    def _exact_rows(
        self, box: Box, conditions: list[_Condition]
    ) -> Iterator[tuple[list[tuple[int, Fraction]], Fraction | None, Fraction | None]]:
        """The program's rows again, in their order, as (entries, least, most) in fractions."""
        problem, target, cells, size = self.problem, self.target, self._cells, self.target.size
        matrix = problem.relations.tocsr()
        for number, right in enumerate(problem.residual):
            part = slice(matrix.indptr[number], matrix.indptr[number + 1])
            entries = [(int(cell), Fraction(int(sign))) for cell, sign in zip(matrix.indices[part], matrix.data[part], strict=True)]
            yield [*entries, *((cells + cell, -sign) for cell, sign in entries)], Fraction(int(right)), Fraction(int(right))
        for factors, column, own in (
            ([Fraction(1)] * size, self._mean, Fraction(-size)),
            ([Fraction(PERCENT * each, self._scatter) for each in self._weighted], self._mean + 1, Fraction(-1)),
        ):
            entries = [(int(cell), factor) for cell, factor in zip(target.cells, factors, strict=True)]
            yield [*entries, *((cells + cell, -factor) for cell, factor in entries), (column, own)], Fraction(0), Fraction(0)
        for cell in np.flatnonzero(problem.sensitive & (problem.lower_level > 0) & (problem.upper_level > 0)).tolist():
            up, down = Fraction(1, int(problem.upper_level[cell])), Fraction(1, int(problem.lower_level[cell]))
            yield [(cell, up), (cells + cell, down)], Fraction(1), None
        for tangent in TUNING.tangents:
            for place, (cell, unit) in enumerate(zip(target.cells.tolist(), self.unit.tolist(), strict=True)):
                slope = Fraction(-tangent, 4)
                yield [(cell, slope), (cells + cell, slope), (2 * cells + place, Fraction(1))], Fraction(-unit * tangent**2, 64), None
        for condition in conditions:
            squares, by_mean, by_linear, constant = self._condition_factors(box, condition)
            entries = [(2 * cells + place, factor) for place, factor in enumerate(squares)]
            yield [*entries, (self._mean, by_mean), (self._mean + 1, by_linear)], None, constant


def _entries(factors: FloatArray, rows: AnyArray, columns: AnyArray, shape: tuple[int, int]) -> csr_matrix:
    return csr_matrix((factors, (rows, columns)), shape=shape)


def _nothing(rows: int, columns: int) -> csr_matrix:
    none = np.zeros(0, dtype=np.int64)
    return _entries(np.zeros(0), none, none, (rows, columns))


def likely_boxes(relaxation: ConvexRelaxation, seconds_left: Callable[[], float]) -> list[Box]:
    """For each slope the boxes with the smallest sums of changes, up and down, in which the target's cells alone could do it.

    Small sums, because what the sensitive cells add up to must be taken back by the rest of the table.
    """
    alone, step, found = relaxation.alone(), relaxation.fine_step, list[Box]()
    slopes = [(-relaxation.within, relaxation.within)] if relaxation.target.slope else list(pairwise(TUNING.likely_slopes))
    for flat, steep in slopes:
        for sign in (1, -1):
            for place in range(TUNING.most_steps):
                near, far = sign * place * step, sign * (place + 1) * step
                if seconds_left() <= 0:
                    return found
                relaxed = alone.solve(Box(min(near, far), max(near, far), flat, steep), seconds=1.0)
                if relaxed is not None and relaxed.excess <= TUNING.no_excess:
                    wide = sign * (place + TUNING.wide) * step
                    found.append(Box(min(near, wide), max(near, wide), flat, steep))
                    break
    return found


def likely_senses(relaxation: ConvexRelaxation, seconds_left: Callable[[], float]) -> list[IntArray]:
    """Senses of tables that may keep the statistics, those first whose box costs least."""
    problem, found = relaxation.problem, list[BoxSolution]()
    for box in likely_boxes(relaxation, lambda: seconds_left() / 2):
        relaxed = relaxation.solve(box, seconds=max(seconds_left(), 0.1)) if seconds_left() > 0 else None
        if relaxed is not None:
            found.append(relaxed)
    found.sort(key=lambda each: each.bound)
    return [np.where(problem.sensitive, np.where(each.deviation >= 0, 1, -1), 0).astype(np.int64) for each in found]


class LowerBoundSearch:
    """Best-first through the boxes: the cheapest is halved, or handed out once it is fine enough to show a table's senses."""

    def __init__(self, relaxation: ConvexRelaxation) -> None:
        self.relaxation = relaxation
        self.closed: list[BoxSolution] = []
        """Boxes that were not halved: fine enough, or above the ceiling."""
        self._fresh = relaxation.boxes()
        self._open: list[tuple[float, Box, BoxSolution]] = []

    @property
    def all_boxes(self) -> list[BoxSolution]:
        return [*self.closed, *(relaxed for _, _, relaxed in self._open)]

    @property
    def bound(self) -> float:
        """No table changes less, by the solver's word; zero until every first box was looked at."""
        if self._fresh:
            return 0.0
        return min((self.relaxation.ceiling, *(each.bound for each in self.all_boxes)))

    def fine_boxes(self, seconds_left: Callable[[], float]) -> Iterator[BoxSolution]:
        """The fine boxes from the cheapest on, until the time is over or all that is left changes more than the ceiling."""
        while self._fresh and seconds_left() > 0:
            found = self.relaxation.solve(self._fresh[-1], seconds=seconds_left())
            if found is None:
                return
            self._fresh.pop()
            self._sort(found)
        while self._open and seconds_left() > 0:
            _, box, relaxed = heapq.heappop(self._open)
            if self.relaxation.crude(box) <= TUNING.fine * self.relaxation.within:
                self.closed.append(relaxed)
                yield relaxed
                continue
            for half in self.relaxation.halves(box):
                found = self.relaxation.solve(half, seconds=max(seconds_left(), 0.1))
                self._sort(relaxed._replace(box=half) if found is None else found)

    def _sort(self, relaxed: BoxSolution) -> None:
        if relaxed.bound >= self.relaxation.ceiling:
            self.closed.append(relaxed)
        else:
            heapq.heappush(self._open, (relaxed.bound, relaxed.box, relaxed))


def proved_least(relaxation: ConvexRelaxation, *, seconds: float) -> float:
    """A change that no table below the ceiling and within the distances can undercut, each box's share proved in exact fractions.

    The ceiling itself where there is no such table; zero where the time does not suffice.
    """
    until = time.monotonic() + seconds
    search = LowerBoundSearch(relaxation)
    for _ in search.fine_boxes(lambda: until - time.monotonic()):
        break  # the cheapest fine box: halving goes no further
    if not search.bound:
        return 0.0
    return min((relaxation.ceiling, *(float(relaxation.proved(each)) for each in search.all_boxes)))
