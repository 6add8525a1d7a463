"""S1's linear programs (its section 3): variance, correlation, slope and their compromise through L(y) = Cov(a, y) / Var(a).

With the mean kept, Var(a + y) / Var(a) = 1 + 2 L + V and Corr = (1 + L) / sqrt(1 + 2 L + V), where V = Var(y) / Var(a); the slope is 1 + L.
So: variance by min |2 L + (M + m) / (2 Var)|, correlation by max L, slope and the compromise by min |L|; then the least change
subject to the statistic found. Where a distance from one is asked instead, the statistics are constraints, and V is its tangent at the
last table: a few programs in a row settle it (V is convex, so each is too kind, and the next one less so).

The senses are those given, or free in a mixed-integer program, or searched by `search_senses`: those are turned over that bring the
statistics nearer, each priced by one warm program. That prices the least change with the senses as they are, the means kept; the
statistics of its table are the true ones. So senses are found whose cheapest table is already close to what is wanted, and the programs
of the statistics have little left to do.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.limits import Ending, Limits
from statveil.protect.fixed_senses import FixedSenses, make_whole
from statveil.protect.keep.problems import with_means
from statveil.protect.keep.tabu.objective import TUNING as OBJECTIVE
from statveil.protect.keep.tabu.objective import Objective, Pair, Score, moments_of
from statveil.protect.keep.wishes import Target
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel, LinearSolution


class ProgramTuning(NamedTuple):
    """How exact the programs are, and how long senses are searched for them. By judgement where nothing else is said."""

    rounds: int = 6
    """Programs in a row that settle V, each from the tangent at the last table."""
    as_taken: float = 1e-4
    """How far V may be from what it was taken for."""
    slack: float = 1e-7
    """How far a statistic may be from its best in the second program, relative to one: solvers are not exact."""
    safety: float = 0.02
    """Part of the distance asked that is kept in hand for making the table whole."""
    simplex_up_to: int = 3_000
    """Cells that move below which the simplex method is used; from there on, an interior point method."""
    gap: float = 1e-9
    """Relative gap at which the mixed-integer program ends."""
    least_seconds: float = 0.1
    """What a program is given, however little time is left,"""
    least_for_whole: float = 5.0
    """and what is given for making a table whole."""
    turns: int = 40
    """Turns of senses that are priced in a row without a better one, of those that promise most."""
    alike: float = 0.5
    """Differences of the objective that do not decide which turn promises more."""


TUNING = ProgramTuning()


class Band(NamedTuple):
    """A linear statistic of the deviations with what it should be: low <= g z + shift <= high over the target's cells.

    `towards` tells what is wanted where no distance is given: 0 as near to zero as can be, 1 as large as can be.
    """

    cells: IntArray
    gradient: FloatArray
    shift: float
    low: float
    high: float
    towards: int


class ProgramTable(NamedTuple):
    """A table and how far its statistics are from what was wanted, band by band (for towards=1: minus the statistic itself)."""

    deviation: IntArray
    senses: IntArray
    off: tuple[float, ...]


class QualityProgram:
    """The linear programs of one problem, for any senses."""

    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], *, within: float | None, pairs: Sequence[Pair] = ()) -> None:
        self.problem, self.targets, self.within, self.pairs = problem, targets, within, pairs
        self.extended = with_means(problem, targets)
        self.fixed = FixedSenses(dataclasses.replace(self.extended, norm="l1"))
        self._whole = FixedSenses(dataclasses.replace(self.extended, norm="l2"))
        self._more = self.extended.size - problem.size
        self.infeasible, self.hurried, self.not_whole = False, False, False
        """Whether a program had no solution, one was stopped by the clock, and no whole table was found next to a solution."""

    def with_senses(self, senses: IntArray, *, seconds: float, near: AnyArray | None = None) -> ProgramTable | None:
        """The table that keeps the statistics best with these senses, and of such tables one with the least change.

        `near` is a table whose variance of the deviations is a first guess; without it, S1's (M + m) / 2 is.
        """
        point: FloatArray | None = None if near is None else near.astype(np.float64)
        last: FloatArray | None = None
        until = time.monotonic() + seconds
        for _ in range(TUNING.rounds):
            found = self._round(senses, point, seconds=max(until - time.monotonic(), TUNING.least_seconds), again=last is not None)
            if found is None:  # what an earlier round found is still good
                break
            settled = self._settled(senses, point, found)
            point = last = found
            if settled or time.monotonic() > until:
                break
        return None if last is None else self.whole(senses, last, seconds=max(until - time.monotonic(), TUNING.least_for_whole))

    def _settled(self, senses: IntArray, point: FloatArray | None, found: FloatArray) -> bool:
        """Whether V, where it plays a part, and the products of deviations of two variables are what they were taken for."""
        close = self.within is not None
        paired = {number for pair in self.pairs for number in pair} if close else set()
        asked = [each for k, each in enumerate(self.targets) if each.variance or (close and each.correlation) or k in paired]
        taken = [abs(self._spread(target, senses, point)) for target in asked]
        same = all(abs(abs(self._spread(target, None, found)) - was) <= TUNING.as_taken for target, was in zip(asked, taken, strict=True))
        nothing = np.zeros(self.problem.size) if point is None else point
        moved = (abs(self._product(pair, found) - self._product(pair, nothing)) for pair in self.pairs)
        return same and all(each <= TUNING.as_taken for each in moved)

    def _product(self, pair: Pair, point: FloatArray) -> float:
        """The covariance of two variables' deviations, in shares of their spreads."""
        one, other = self.targets[pair.first], self.targets[pair.second]
        return float(_centred(point, one) @ _centred(point, other)) / _common_scale(one, other)

    def cheapest(self, senses: IntArray, *, seconds: float) -> FloatArray | None:
        """The least change with these senses that keeps the means, not yet whole; from where the last such program ended."""
        solution = self._heed(self.fixed.solve(self._extend(senses), seconds=seconds))
        return None if solution.x is None else self._deviation(solution.x)

    def whole(self, senses: IntArray, point: FloatArray, *, seconds: float) -> ProgramTable | None:
        """The whole table next to a solution, its means exact."""
        target = np.concatenate([point, np.zeros(self._more)])
        deviation = make_whole(self._whole, self._extend(senses), target, seconds=seconds)
        if deviation is None:
            self.not_whole = True
            return None
        own = deviation[: self.problem.size]
        return ProgramTable(own, senses, tuple(self._off(band, own) for band in self.bands(senses, own.astype(np.float64))))

    def free_senses(self, *, seconds: float, near: IntArray | None = None) -> tuple[IntArray | None, bool]:
        """The senses with which the statistics can be kept best, by a mixed-integer program; and whether there are none."""
        from statveil.solve import highs

        search = Search(self.fixed.problem, Limits(seconds=seconds), 0, lambda _: None)
        program = Disjunctions(search)
        bands = self.bands(None, None if near is None else near.astype(np.float64))
        first = self._extended_model(program.model, bands, statistics=True) if bands else None
        best = self._heed(highs.solve(first.model if first else program.model, seconds=seconds / 2, gap=TUNING.gap))
        if best.x is None:
            return None, best.ending is Ending.INFEASIBLE and not program.truncated
        if first is None:
            return program.senses(best.x)[: self.problem.size], False
        if best.ending is Ending.OPTIMAL and not program.truncated and self._out_of_reach(best.x[-len(bands) :]):
            return None, True
        model = _bounded(first, best.x, program.model.cost)
        cheapest = self._heed(highs.solve(model, seconds=seconds / 2, gap=TUNING.gap, start=best.x))
        columns = cheapest.x if cheapest.x is not None else best.x
        return program.senses(columns[: program.model.cost.size])[: self.problem.size], False

    def _out_of_reach(self, off: FloatArray) -> bool:
        """Whether slopes that are asked to be so close cannot be, whatever the senses: they alone are linear, so that this is known."""
        asked = [target for target in self.targets if target.spread]
        only_slopes = not self.pairs and all(target.slope and not (target.variance or target.correlation) for target in asked)
        return self.within is not None and only_slopes and bool((off > TUNING.safety * self.within + TUNING.slack).any())

    def bands(self, senses: IntArray | None, point: FloatArray | None) -> list[Band]:
        """What is wanted, as linear statistics: those of S1, V taken at the point or else from the bounds."""
        own = [band for target in self.targets if target.spread for band in self._bands_of(target, senses, point)]
        if self.within is None:
            return own + [self._band_of_pair(pair, point) for pair in self.pairs]
        return own + [band for pair in self.pairs for band in self._bands_within(pair, senses, point)]

    def _bands_within(self, pair: Pair, senses: IntArray | None, point: FloatArray | None) -> list[Band]:
        """The changes of two variables' correlation and of both slopes, to the first order in those of covariance and variances."""
        one, other = self.targets[pair.first], self.targets[pair.second]
        covariance = self._band_of_pair(pair, point)
        related = float((one.value - one.value.mean()) @ (other.value - other.value.mean())) / _common_scale(one, other)
        variances = [2 * each.gradient + self._tangent(each, point) for each in (one, other)]
        spreads = [self._spread(each, senses, point) for each in (one, other)]
        typical = max(abs(related), OBJECTIVE.least_related)
        bands = []
        for shares, unit in (((0.5, 0.5), 1.0), ((1.0, 0.0), typical), ((0.0, 1.0), typical)):
            by_variance = np.concatenate([share * factors for share, factors in zip(shares, variances, strict=True)])
            shift = covariance.shift - related * sum(share * spread for share, spread in zip(shares, spreads, strict=True))
            gradient = (covariance.gradient - related * by_variance) / unit
            bands.append(covariance._replace(gradient=gradient, shift=shift / unit))
        return bands

    def _band_of_pair(self, pair: Pair, point: FloatArray | None) -> Band:
        """The change of the covariance of two variables in shares of their spreads, the product of deviations by its tangent."""
        one, other = self.targets[pair.first], self.targets[pair.second]
        point = np.zeros(self.problem.size) if point is None else point
        ends = [other.value - other.value.mean() + _centred(point, other), one.value - one.value.mean() + _centred(point, one)]
        most = (self.within or 0.0) * (1 - TUNING.safety)
        gradient = np.concatenate(ends) / _common_scale(one, other)
        return Band(np.concatenate([one.cells, other.cells]), gradient, -self._product(pair, point), -most, most, 0)

    def _bands_of(self, target: Target, senses: IntArray | None, point: FloatArray | None) -> list[Band]:
        gradient, spread, tangent = target.gradient, self._spread(target, senses, point), self._tangent(target, point)
        if self.within is None:
            if target.variance and not (target.slope or target.correlation):
                return [Band(target.cells, 2 * gradient + tangent, spread, 0.0, 0.0, 0)]
            return [Band(target.cells, gradient, 0.0, 0.0, 0.0, int(target.correlation and not (target.slope or target.variance)))]
        most = self.within * (1 - TUNING.safety)
        bands = [Band(target.cells, gradient, 0.0, -most, most, 0)] if target.slope else []
        if target.variance:
            bands.append(Band(target.cells, 2 * gradient + tangent, spread, -most, most, 0))
        if target.correlation:
            bands.append(Band(target.cells, gradient, 0.0, _least_for_correlation(1 - most, abs(spread)), np.inf, 0))
        return bands

    def _spread(self, target: Target, senses: IntArray | None, point: FloatArray | None) -> float:
        """V: with a point, minus V there (for the tangent adds it twice); without, S1's (M + m) / (2 Var)."""
        if point is not None:
            return -moments_of(target, point[target.cells]).spread
        problem, cells = self.problem, target.cells
        allowed = problem.free if senses is None else problem.allowed(senses)
        most = np.maximum(np.abs(_finite(allowed.low[cells])), np.abs(_finite(allowed.high[cells])))
        least = np.where(problem.sensitive[cells], np.minimum(problem.lower_level, problem.upper_level)[cells], 0).astype(np.float64)
        most = np.where(np.isfinite(most), most, least)
        return float((most @ most + least @ least) / (2 * target.size * target.variance_before))

    def _tangent(self, target: Target, point: FloatArray | None) -> FloatArray:
        if point is None:
            return np.zeros(target.size)
        own = point[target.cells]
        return np.asarray(2 * (own - own.mean()) / (target.size * target.variance_before))

    def _off(self, band: Band, deviation: IntArray) -> float:
        statistic = float(band.gradient @ deviation[band.cells] + band.shift)
        if band.towards:
            return -statistic
        return max(band.low - statistic, statistic - band.high, 0.0)

    def _round(self, senses: IntArray, point: FloatArray | None, *, seconds: float, again: bool) -> FloatArray | None:
        """Two programs: the statistics, then the least change.

        The second alone will do where a distance is asked and can be met, or where the round before met the statistics in full.
        """
        until = time.monotonic() + seconds
        base = self.fixed.model(self._extend(senses))
        bands = self.bands(senses, point)
        if not bands:
            return self._solved(base, seconds)
        if self.within is not None or (again and not any(band.towards for band in bands)):
            found = self._solved(self._extended_model(base, bands, statistics=False).model, seconds)
            if found is not None:
                return found
        first = self._extended_model(base, bands, statistics=True)
        best = self._solve(first.model, max(until - time.monotonic(), TUNING.least_seconds))
        if best.x is None:
            self.infeasible = best.ending is Ending.INFEASIBLE
            return None
        second = self._solved(_bounded(first, best.x, base.cost), max(until - time.monotonic(), TUNING.least_seconds))
        if second is None and again:  # the round before has a table that changes less
            return None
        return second if second is not None else self._deviation(best.x)

    def _solved(self, model: LinearModel, seconds: float) -> FloatArray | None:
        solution = self._solve(model, seconds)
        return None if solution.x is None else self._deviation(solution.x)

    def _solve(self, model: LinearModel, seconds: float) -> LinearSolution:
        from statveil.solve import highs

        if self.fixed.moving.size < TUNING.simplex_up_to:
            return self._heed(highs.solve(model, seconds=seconds, algorithm="simplex"))
        return self._heed(highs.solve(model, seconds=seconds, algorithm="ipm", options=highs.NO_CROSSOVER))

    def _heed(self, solution: LinearSolution) -> LinearSolution:
        """Remember that a program might have done better with more time."""
        self.hurried |= solution.ending in (Ending.OUT_OF_TIME, Ending.FEASIBLE)
        return solution

    def _deviation(self, columns: FloatArray) -> FloatArray:
        return self.fixed.deviation(columns)[: self.problem.size]

    def _extend(self, senses: IntArray) -> IntArray:
        return np.concatenate([senses, np.zeros(self._more, dtype=np.int64)])

    def _extended_model(self, base: LinearModel, bands: Sequence[Band], *, statistics: bool) -> _ExtendedModel:
        """The base with a row for each band. For the statistics: a column for how far it is off, which is the cost."""
        width, count = base.cost.size, len(bands)
        rows, scale = self._rows(bands, width)
        shift = np.array([band.shift for band in bands])
        low, high = (np.array([getattr(band, side) for band in bands]) - shift for side in ("low", "high"))
        if not statistics:
            return _ExtendedModel(_with_rows(base, rows, low * scale, high * scale), scale, bands)
        off = csr_matrix((scale, (np.arange(count), np.arange(count))), shape=(count, count))
        free = np.array([band.towards == 1 for band in bands])
        beneath = hstack([rows, -off], format="csr"), np.full(count, -np.inf), np.where(free, np.inf, high) * scale
        above = hstack([rows, off], format="csr"), low * scale, np.full(count, np.inf)
        wide = dataclasses.replace(
            base,
            cost=np.concatenate([np.zeros(width), np.ones(count)]),
            matrix=hstack([base.matrix, csr_matrix((base.matrix.shape[0], count))], format="csr"),
            lower=np.concatenate([base.lower, np.where(free, -np.inf, 0.0)]),
            upper=np.concatenate([base.upper, np.full(count, np.inf)]),
            whole=None if base.whole is None else np.concatenate([base.whole, np.zeros(count, dtype=np.bool_)]),
        )
        for block in (beneath, above):
            wide = _with_rows(wide, *block)
        return _ExtendedModel(wide, scale, bands)

    def _rows(self, bands: Sequence[Band], width: int) -> tuple[csr_matrix, FloatArray]:
        """The bands' statistics in the program's columns (rises, falls, nothing for the rest), each scaled to a largest factor of one."""
        moving, unit = self.fixed.moving, self.fixed.unit
        lines, scales = [], []
        for band in bands:
            factor = np.zeros(self.extended.size)
            factor[band.cells] = band.gradient * unit
            own = factor[moving]
            scales.append(1.0 / max(float(np.abs(own).max(initial=0.0)), 1e-30))
            both = np.concatenate([own, -own]) * scales[-1]
            where = np.flatnonzero(both)
            lines.append(csr_matrix((both[where], (np.zeros(where.size, np.int64), where)), shape=(1, width)))
        return csr_matrix(vstack(lines, format="csr")), np.array(scales)


def _centred(point: FloatArray, target: Target) -> FloatArray:
    own = point[target.cells]
    return np.asarray(own - own.mean())


def _common_scale(one: Target, other: Target) -> float:
    """What turns a sum of products into a share of two variables' spreads."""
    return one.size * math.sqrt(one.variance_before * other.variance_before)


class _ExtendedModel(NamedTuple):
    model: LinearModel
    scale: FloatArray
    bands: Sequence[Band]


def _with_rows(model: LinearModel, rows: csr_matrix, low: FloatArray, high: FloatArray) -> LinearModel:
    return dataclasses.replace(
        model,
        matrix=vstack([model.matrix, rows], format="csr"),
        row_lower=np.concatenate([model.row_lower, low]),
        row_upper=np.concatenate([model.row_upper, high]),
    )


def _bounded(first: _ExtendedModel, best: FloatArray, cost: FloatArray) -> LinearModel:
    """The least change with every statistic as good as in the best found."""
    count = len(first.bands)
    upper = first.model.upper.copy()
    upper[-count:] = best[-count:] + TUNING.slack
    return dataclasses.replace(first.model, cost=np.concatenate([cost, np.zeros(count)]), upper=upper)


def _least_for_correlation(wanted: float, spread: float) -> float:
    """The smallest L with (1 + L)^2 >= wanted^2 (1 + 2 L + V): the larger root, above which it holds; without roots, any.

    Without roots V < 1 - wanted^2, and as V is L^2 or more, L is above -1 by itself.
    """
    square = wanted * wanted
    half = 1.0 - square
    under_root = half * half - (1.0 - square * (1.0 + spread))
    return -half + math.sqrt(under_root) if under_root >= 0 else -math.inf


def _finite(bound: IntArray) -> FloatArray:
    return np.where(np.abs(bound) >= NO_LIMIT // 2, np.inf, bound.astype(np.float64))


class PricedSenses(NamedTuple):
    """Senses, the cheapest table with them (not yet whole), and how good that is."""

    senses: IntArray
    table: FloatArray
    score: Score


def search_senses(
    program: QualityProgram, objective: Objective, senses: IntArray, *, seconds_left: Callable[[], float], seed: int
) -> PricedSenses | None:
    """Turn after turn while one of the promising ones makes the table better; single ones first, then two at once."""
    rng = np.random.Generator(np.random.PCG64(seed))
    best = _priced(program, objective, senses, seconds_left())
    if best is None:
        return None
    together = 1
    while seconds_left() > 0 and together <= 2:
        better = _better(program, objective, best, together, rng, seconds_left)
        best, together = (best, together + 1) if better is None else (better, 1)
    return best


def _priced(program: QualityProgram, objective: Objective, senses: IntArray, seconds: float) -> PricedSenses | None:
    table = program.cheapest(senses, seconds=max(seconds, TUNING.least_seconds))
    return None if table is None else PricedSenses(senses, table, objective.score(table))


def _better(
    program: QualityProgram,
    objective: Objective,
    best: PricedSenses,
    together: int,
    rng: np.random.Generator,
    seconds_left: Callable[[], float],
) -> PricedSenses | None:
    for cells in _promising(program, objective, best, together, rng):
        if seconds_left() <= 0:
            return None
        senses = best.senses.copy()
        senses[cells] = -senses[cells]
        found = _priced(program, objective, senses, seconds_left())
        if found is not None and found.score < best.score:
            return found
    return None


def _promising(
    program: QualityProgram, objective: Objective, best: PricedSenses, together: int, rng: np.random.Generator
) -> Sequence[IntArray]:
    """Cells whose turn would bring the statistics nearest to what is wanted, were nothing else to change; of those alike, any."""
    problem = program.problem
    choice = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    if choice.size < together:
        return []
    groups = choice[:, None] if together == 1 else rng.choice(choice, size=(6 * TUNING.turns, 2))
    promise = []
    for cells in groups:
        turned = best.table.copy()
        turned[cells] = np.where(best.senses[cells] > 0, problem.down.high[cells], problem.up.low[cells])
        promise.append(objective.lost(turned))
    order = np.lexsort((rng.random(len(promise)), np.floor(np.array(promise) / TUNING.alike)))
    return [groups[place] for place in order[: TUNING.turns]]
