"""The objective of S1 section 4 over the true statistics, and how good a table is by it.

a * change + b (1 - corr^2) + c |1 - slope| + d |variance ratio - 1|     (+ measures, + pairs of variables)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.statistics import covariance_of
from statveil.protect.keep.problems import means_off
from statveil.protect.keep.tabu.measures import Measure
from statveil.protect.keep.wishes import Keep, Target
from statveil.protect.problem import ProtectionProblem


class ObjectiveTuning(NamedTuple):
    """What counts beside what, and what is too small to be measured by. All by judgement."""

    all_equal: float = 1e-12
    """A variance ratio up to which the released values do not differ."""
    least_related: float = 1e-3
    """A correlation of two variables below which changes of their slopes are measured as if it were that."""
    for_means: float = 1e6
    """What a mean that is off by its own typical level counts for: nothing else counts beside it."""
    cheapest: float = 1e-12
    """A cost of the plain table below which changes are measured as if it were that."""


TUNING = ObjectiveTuning()


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
        if self.variance_ratio <= TUNING.all_equal:
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


class Pair(NamedTuple):
    """Two targets over the same cells of two variables, whose covariance, correlation and regressions are to be kept."""

    first: int
    second: int


class Score(NamedTuple):
    """How good a table is: first the means, then the objective. `losses` are those of the measures, which the objective holds."""

    means_off: int
    objective: float
    losses: tuple[float, ...] = ()


class Wishes(NamedTuple):
    """The targets in arrays: cell i has entries `at[i]` to `at[i + 1]`, each of a target and its gradient; then what is asked of each.

    Pairs are of targets over two variables: entry (pair, factor of the deviation in the covariance, partner cell).
    """

    at: IntArray
    target: IntArray
    gradient: FloatArray
    size: FloatArray
    variance: FloatArray
    for_mean: FloatArray
    for_variance: FloatArray
    for_correlation: FloatArray
    for_slope: FloatArray
    within: float
    for_change: float
    pair_at: IntArray
    pair: IntArray
    pair_factor: FloatArray
    partner: IntArray
    first: IntArray
    second: IntArray
    covariance: FloatArray
    for_pair: float


class TargetSums(NamedTuple):
    """Running sums of each target: of g z, of z, of z squared; and of each pair: its linear part and the sum of products."""

    linear: FloatArray
    sum: FloatArray
    square: FloatArray
    pair_linear: FloatArray
    pair_product: FloatArray


class Objective:
    """What is asked of one problem's tables. `cost` is the plain table's, by which changes are measured."""

    def __init__(
        self, problem: ProtectionProblem, targets: Sequence[Target], keep: Keep, *, cost: float, pairs: Sequence[Pair] = ()
    ) -> None:
        self.problem, self.targets = problem, list(targets)
        self.measures = [each for each in keep.measures if isinstance(each, Measure)]
        self.wishes = _wishes(problem, self.targets, keep, max(cost, TUNING.cheapest), pairs)
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
    at, target, gradient = _entries(targets, problem.size)
    pair_at, pair, factor, partner = _pair_entries(targets, pairs, problem.size)

    def each(what: str, weight: float) -> FloatArray:
        return np.array([weight * getattr(one, what) for one in targets], dtype=np.float64)

    return Wishes(
        at=at,
        target=target,
        gradient=gradient,
        size=np.array([one.size for one in targets], dtype=np.float64),
        variance=np.array([one.variance_before for one in targets], dtype=np.float64),
        for_mean=each("mean", TUNING.for_means / max(typical, 1.0)),
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
        covariance=np.array([covariance_of(targets[one.first].value, targets[one.second].value) for one in pairs], dtype=np.float64),
        for_pair=asked.correlation,
    )


def _entries(targets: Sequence[Target], cells: int) -> tuple[IntArray, IntArray, FloatArray]:
    """(where each cell's entries begin, target of each entry, gradient of each entry)."""
    cell = np.concatenate([target.cells for target in targets]) if targets else np.zeros(0, dtype=np.int64)
    number = np.repeat(np.arange(len(targets)), [target.size for target in targets])
    gradient = [target.gradient if target.variance_before > 0 else np.zeros(target.size) for target in targets]
    order = np.argsort(cell, kind="stable")
    at = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))])
    joined = np.concatenate(gradient) if gradient else np.zeros(0)
    return at.astype(np.int64), number[order].astype(np.int64), joined[order]


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


def sums_of(wishes: Wishes, z: AnyArray) -> TargetSums:
    """The running sums worked out anew."""
    targets, pairs = wishes.size.size, wishes.first.size
    cell = np.repeat(np.arange(wishes.at.size - 1), np.diff(wishes.at))
    own = z[cell].astype(np.float64)
    pair_cell = np.repeat(np.arange(wishes.pair_at.size - 1), np.diff(wishes.pair_at))
    pair_own = z[pair_cell].astype(np.float64)
    products = pair_own * z[wishes.partner] / 2.0  # each product is met from both sides
    by_target = (np.bincount(wishes.target, weights=each, minlength=targets) for each in (wishes.gradient * own, own, own * own))
    by_pair = (np.bincount(wishes.pair, weights=each, minlength=pairs) for each in (wishes.pair_factor * pair_own, products))
    return TargetSums(*(each.astype(np.float64) for each in (*by_target, *by_pair)))


def no_sums(wishes: Wishes) -> TargetSums:
    targets, pairs = wishes.size.size, wishes.first.size
    return TargetSums(np.zeros(targets), np.zeros(targets), np.zeros(2 * targets), np.zeros(pairs), np.zeros(pairs))


@njit(cache=True)
def _beyond(distance, within):  # type: ignore[no-untyped-def]
    """By how much a distance is larger than what is allowed."""
    return max(abs(distance) - within, 0.0)


@njit(cache=True)
def statistics_score(t, wishes, sums, more):  # type: ignore[no-untyped-def]
    """The statistics' part of the objective (S1 section 4) when a move is taken t times; `more` holds the move's own sums."""
    score = 0.0
    for k in range(wishes.size.size):
        score += wishes.for_mean[k] * abs(sums.sum[k] + t * more.sum[k])
        if wishes.variance[k] <= 0:
            continue
        linear = sums.linear[k] + t * more.linear[k]
        ratio = _ratio(k, t, wishes, sums, more)
        score += wishes.for_slope[k] * _beyond(linear, wishes.within)
        score += wishes.for_variance[k] * _beyond(ratio - 1.0, wishes.within)
        lost = 1.0 - (1.0 + linear) ** 2 / ratio
        least = 1.0 - (1.0 - wishes.within) ** 2
        score += wishes.for_correlation[k] * (max(lost - least, 0.0) if linear > -1.0 else 1.0)
    for p in range(wishes.first.size):
        score += wishes.for_pair * _pair_lost(p, t, wishes, sums, more)
    return score


@njit(cache=True)
def _ratio(k, t, wishes, sums, more):  # type: ignore[no-untyped-def]
    """Variance after by variance before, of one target."""
    size, targets = wishes.size[k], wishes.size.size
    total = sums.sum[k] + t * more.sum[k]
    square = sums.square[k] + t * more.square[k] + t * t * more.square[targets + k]
    spread = (square / size - (total / size) ** 2) / wishes.variance[k]
    return max(1.0 + 2.0 * (sums.linear[k] + t * more.linear[k]) + spread, TUNING.all_equal)


@njit(cache=True)
def _pair_lost(p, t, wishes, sums, more):  # type: ignore[no-untyped-def]
    """Change of the correlation of two variables, and relative changes of the slopes of each on the other; none within the distance."""
    one, other = wishes.first[p], wishes.second[p]
    size, before = wishes.size[one], wishes.covariance[p]
    joint = sums.pair_linear[p] + t * more.pair_linear[p] + sums.pair_product[p] + t * more.pair_product[p]
    totals = (sums.sum[one] + t * more.sum[one]) * (sums.sum[other] + t * more.sum[other])
    after = before + joint / size - totals / size / size
    scale = np.sqrt(wishes.variance[one] * wishes.variance[other])
    ratio_one, ratio_other = _ratio(one, t, wishes, sums, more), _ratio(other, t, wishes, sums, more)
    change = _beyond((after / np.sqrt(ratio_one * ratio_other) - before) / scale, wishes.within)
    typical = max(abs(before), TUNING.least_related * scale)
    for ratio in (ratio_one, ratio_other):
        change += _beyond((after / ratio - before) / typical, wishes.within)
    return change


@njit(cache=True)
def sum_up(cells, step, z, wishes, more):  # type: ignore[no-untyped-def]
    """What one unit of a move adds to the running sums; squares go with t and, in the second half, with t squared."""
    more.linear[:] = 0.0
    more.sum[:] = 0.0
    more.square[:] = 0.0
    more.pair_linear[:] = 0.0
    more.pair_product[:] = 0.0
    targets = wishes.size.size
    for number in range(cells.size):
        cell = cells[number]
        by = float(step[cell])
        if by == 0.0:
            continue
        for k in range(wishes.at[cell], wishes.at[cell + 1]):
            target = wishes.target[k]
            more.linear[target] += wishes.gradient[k] * by
            more.sum[target] += by
            more.square[target] += 2.0 * z[cell] * by
            more.square[targets + target] += by * by
        for k in range(wishes.pair_at[cell], wishes.pair_at[cell + 1]):
            more.pair_linear[wishes.pair[k]] += wishes.pair_factor[k] * by
            more.pair_product[wishes.pair[k]] += z[wishes.partner[k]] * by


@njit(cache=True)
def take_sums(t, sums, more, targets):  # type: ignore[no-untyped-def]
    """The running sums once a move is taken t times."""
    for k in range(targets):
        sums.linear[k] += t * more.linear[k]
        sums.sum[k] += t * more.sum[k]
        sums.square[k] += t * more.square[k] + t * t * more.square[targets + k]
    for p in range(sums.pair_linear.size):
        sums.pair_linear[p] += t * more.pair_linear[p]
        sums.pair_product[p] += t * more.pair_product[p]
