"""The objective of S1 section 4 over the true statistics, and how good a table is by it.

a * change + b (1 - corr^2) + c |1 - slope| + d |variance ratio - 1|     (+ measures, + pairs of variables)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.keep.means import means_off
from statveil.protect.keep.tabu.measures import Measure
from statveil.protect.keep.tabu.moves import Sums, Wishes, entries_of, statistics_score
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem

ALL_EQUAL = 1e-12
"""A variance ratio up to which the released values do not differ."""


class Moments(NamedTuple):
    """L = Cov(a, y) / Var(a) and V = Var(y) / Var(a) of a set of cells, and by how much its mean is off, in units times cells."""

    linear: float
    spread: float
    sum: float

    @property
    def slope(self) -> float:
        return 1.0 + self.linear

    @property
    def variance_ratio(self) -> float:
        return 1.0 + 2.0 * self.linear + self.spread

    @property
    def correlation(self) -> float:
        """Zero where the released values are all equal, but for rounding."""
        if self.variance_ratio <= ALL_EQUAL:
            return 0.0
        return min(max((1.0 + self.linear) / math.sqrt(self.variance_ratio), -1.0), 1.0)


def moments_of(target: Target, deviation: AnyArray) -> Moments:
    """`deviation` is that of the target's own cells, in its order."""
    if not target.variance_before > 0:
        return Moments(0.0, 0.0, float(deviation.sum()))
    mean = deviation.mean()
    spread = float((deviation * deviation).mean() - mean * mean) / target.variance_before
    return Moments(float(target.gradient @ deviation), spread, float(deviation.sum()))


class Outcome(NamedTuple):
    """What became of one set of cells. The mean is off by `mean_off` units in sum; None for what has no meaning there."""

    words: str
    asked: tuple[str, ...]
    mean_off: int
    correlation: float | None
    slope: float | None
    variance_ratio: float | None


def outcomes(targets: Sequence[Target], deviation: IntArray) -> tuple[Outcome, ...]:
    """The statistics of each set of cells after the change; sums in exact integers."""
    found = []
    for target in targets:
        own = deviation[target.cells]
        now = moments_of(target, own.astype(float))
        asked = tuple(what for what in ("mean", "variance", "correlation", "slope") if getattr(target, what))
        spread: tuple[float | None, float | None, float | None] = (None, None, None)
        if target.variance_before > 0:
            differ = np.ptp(target.value + own) > 0
            spread = (now.correlation if differ else None, now.slope, now.variance_ratio)
        found.append(Outcome(target.words, asked, sum(own.tolist()), *spread))
    return tuple(found)


FOR_MEANS = 1e6
"""What a mean that is off by its own typical level counts for: nothing else counts beside it."""
CHEAPEST = 1e-12


class Pair(NamedTuple):
    """Two targets over the same cells of two variables, whose covariance, correlation and regressions are to be kept."""

    first: int
    second: int


class Score(NamedTuple):
    """How good a table is: first the means, then the objective. `losses` are those of the measures, which the objective holds."""

    means_off: int
    objective: float
    losses: tuple[float, ...] = ()


class Objective:
    """What is asked of one problem's tables. `cost` is the plain table's, by which changes are measured."""

    def __init__(
        self, problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, *, cost: float, pairs: Sequence[Pair] = ()
    ) -> None:
        self.problem, self.targets = problem, list(targets)
        self.measures = [each for each in keep.measures if isinstance(each, Measure)]
        self.wishes = _wishes(problem, self.targets, keep, max(cost, CHEAPEST), pairs)
        self._for_measures = keep.coefficients.measures

    def score(self, deviation: AnyArray) -> Score:
        change = self.wishes.for_change * self.problem.cost(deviation)
        released = self.problem.value + deviation
        losses = tuple(measure(self.problem.value, released) for measure in self.measures)
        off = sum(abs(int(each)) for each in means_off(deviation, self.targets))
        return Score(off, float(change) + self.lost(deviation) + self._for_measures * sum(losses), losses)

    def lost(self, deviation: AnyArray) -> float:
        """The statistics' part alone."""
        return float(statistics_score(0, self.wishes, sums_of(self.wishes, deviation), no_sums(self.wishes)))


def _wishes(problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, cost: float, pairs: Sequence[Pair]) -> Wishes:
    asked = keep.coefficients
    level = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
    typical = float(np.median(level)) if level.size else 1.0
    at, target, gradient = entries_of(targets, problem.size)
    pair_at, pair, factor, partner = _pair_entries(targets, pairs, problem.size)

    def each(what: str, weight: float) -> FloatArray:
        return np.array([weight * getattr(one, what) for one in targets], dtype=np.float64)

    return Wishes(
        at=at,
        target=target,
        gradient=gradient,
        size=np.array([one.size for one in targets], dtype=np.float64),
        variance=np.array([one.variance_before for one in targets], dtype=np.float64),
        for_mean=each("mean", FOR_MEANS / max(typical, 1.0)),
        for_variance=each("variance", asked.variance),
        for_correlation=each("correlation", asked.correlation),
        for_slope=each("slope", asked.slope),
        within=keep.within or 0.0,
        for_change=asked.change / cost,
        pair_at=pair_at,
        pair=pair,
        pair_factor=factor,
        partner=partner,
        first=np.array([one.first for one in pairs], dtype=np.int64),
        second=np.array([one.second for one in pairs], dtype=np.int64),
        covariance=np.array([_covariance(targets[one.first], targets[one.second]) for one in pairs], dtype=np.float64),
        for_pair=asked.correlation,
    )


def _covariance(one: Target, other: Target) -> float:
    return float(((one.value - one.value.mean()) * (other.value - other.value.mean())).mean())


def _pair_entries(targets: Sequence[Target], pairs: Sequence[Pair], cells: int) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """For each cell the pairs it is in: a unit of its deviation adds (partner's value less its mean) to the covariance."""
    cell, pair, factor, partner = [], [], [], []
    for number, (first, second) in enumerate(pairs):
        for own, other in ((targets[first], targets[second]), (targets[second], targets[first])):
            cell.append(own.cells)
            pair.append(np.full(own.size, number, dtype=np.int64))
            factor.append(other.value - other.value.mean())
            partner.append(other.cells)
    if not cell:
        return np.zeros(cells + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64)
    where = np.concatenate(cell)
    order = np.argsort(where, kind="stable")
    at = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=cells))]).astype(np.int64)
    return at, np.concatenate(pair)[order], np.concatenate(factor)[order], np.concatenate(partner)[order]


def sums_of(wishes: Wishes, z: AnyArray) -> Sums:
    """The running sums worked out anew."""
    targets, pairs = wishes.size.size, wishes.first.size
    cell = np.repeat(np.arange(wishes.at.size - 1), np.diff(wishes.at))
    own = z[cell].astype(np.float64)
    pair_cell = np.repeat(np.arange(wishes.pair_at.size - 1), np.diff(wishes.pair_at))
    pair_own = z[pair_cell].astype(np.float64)
    products = pair_own * z[wishes.partner] / 2.0  # each product is met from both sides
    return Sums(
        np.bincount(wishes.target, weights=wishes.gradient * own, minlength=targets).astype(np.float64),
        np.bincount(wishes.target, weights=own, minlength=targets).astype(np.float64),
        np.bincount(wishes.target, weights=own * own, minlength=targets).astype(np.float64),
        np.bincount(wishes.pair, weights=wishes.pair_factor * pair_own, minlength=pairs).astype(np.float64),
        np.bincount(wishes.pair, weights=products, minlength=pairs).astype(np.float64),
    )


def no_sums(wishes: Wishes) -> Sums:
    targets, pairs = wishes.size.size, wishes.first.size
    return Sums(np.zeros(targets), np.zeros(targets), np.zeros(2 * targets), np.zeros(pairs), np.zeros(pairs))
