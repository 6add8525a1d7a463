"""What a user of the table works out from it, before and after: pure functions of true and released values (S1 section 3).

Correlation and slope are those of the released on the true values, as in S1: both are one when nothing changed. Variances divide by
the number of cells (S1 section 3.2), so do weighted ones by the sum of weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.errors import InputError

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
TOP = 10


class BeforeAfter(NamedTuple):
    """A statistic of the true and of the released values."""

    before: float
    after: float

    @property
    def ratio(self) -> float:
        """After by before; one where both are zero, infinite where only the first is."""
        if self.before == 0:
            return 1.0 if self.after == 0 else float("inf")
        return self.after / self.before


class TopOrder(NamedTuple):
    """The largest cells: how many there are, how many are still among the largest, and how many stand at their old place."""

    size: int
    kept: int
    in_place: int


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Statistics of one set of cells. Confidential: the values `before` are the true ones.

    cells: how many. mean, variance, gini, cramers_v: before and after. intercept: of the line with the slope.
    top: how the largest cells fared. total_change, largest_change: of single cells, in the units given.

    >>> found = statistics_of([1, 2, 3], [1, 2, 6])
    >>> found.mean, found.total_change, found.rank_correlation
    (BeforeAfter(before=2.0, after=3.0), 3.0, 1.0)
    """

    cells: int
    mean: BeforeAfter
    variance: BeforeAfter
    quantiles: tuple[tuple[float, BeforeAfter], ...]
    """(share, value below which that share of the cells lies)."""
    gini: BeforeAfter
    correlation: float
    """Of released with true values; one where neither varies."""
    slope: float
    """Of released on true values; one where the true values do not vary."""
    intercept: float
    rank_correlation: float
    """Spearman's, equal values at their mean rank."""
    top: TopOrder
    total_change: float
    largest_change: float
    chi_square: BeforeAfter | None = None
    """Of independence of rows and columns, where the cells were given as a two-way table."""
    cramers_v: BeforeAfter | None = None

    @property
    def variance_ratio(self) -> float:
        return self.variance.ratio


def statistics_of(
    true: AnyArray,
    released: AnyArray,
    *,
    subset: AnyArray | None = None,
    weights: AnyArray | None = None,
    rows: IntArray | None = None,
    columns: IntArray | None = None,
    top: int = TOP,
) -> Statistics:
    """All statistics of a set of cells, before and after.

    true, released: values of all cells. subset: numbers or marks of those that are meant. weights: each cell is counted so many times.
    rows, columns: numbers of the row and the column of each cell of a two-way table, for chi-square and Cramer's V.
    top: how many of the largest cells are followed.

    >>> statistics_of([1, 2, 3, 4], [1, 2, 3, 8], subset=[0, 1, 2]).slope
    1.0
    """
    true, released = _floats(true), _floats(released)
    if true.shape != released.shape or true.ndim != 1:
        raise InputError("True and released values must be lists of the same length.")
    weight = np.ones(true.size) if weights is None else _floats(weights)
    if weight.shape != true.shape or (weight < 0).any():
        raise InputError("There must be one weight a cell, zero or more.")
    chosen = np.arange(true.size) if subset is None else np.arange(true.size)[np.asarray(subset)]
    if chosen.size == 0:
        raise InputError("A set of cells without cells has no statistics.")
    before, after, weight = true[chosen], released[chosen], weight[chosen]
    chi_square, cramers_v = None, None
    if rows is not None and columns is not None:
        tables = [two_way(each, np.asarray(rows)[chosen], np.asarray(columns)[chosen]) for each in (before, after)]
        chi_square = BeforeAfter(chi_square_of(tables[0]), chi_square_of(tables[1]))
        cramers_v = BeforeAfter(cramers_v_of(tables[0]), cramers_v_of(tables[1]))
    change = np.abs(after - before)
    slope = slope_of(before, after, weight)
    mean = BeforeAfter(mean_of(before, weight), mean_of(after, weight))
    return Statistics(
        cells=int(chosen.size),
        mean=mean,
        variance=BeforeAfter(variance_of(before, weight), variance_of(after, weight)),
        quantiles=tuple(zip(QUANTILES, map(BeforeAfter, quantiles_of(before), quantiles_of(after)), strict=True)),
        gini=BeforeAfter(gini_of(before), gini_of(after)),
        correlation=correlation_of(before, after, weight),
        slope=slope,
        intercept=mean.after - slope * mean.before,
        rank_correlation=rank_correlation_of(before, after),
        top=top_order(before, after, top),
        total_change=float(change.sum()),
        largest_change=float(change.max()),
        chi_square=chi_square,
        cramers_v=cramers_v,
    )


def mean_of(values: AnyArray, weights: AnyArray | None = None) -> float:
    return float(np.average(_floats(values), weights=_weights(values, weights)))


def variance_of(values: AnyArray, weights: AnyArray | None = None) -> float:
    return covariance_of(values, values, weights)


def covariance_of(one: AnyArray, other: AnyArray, weights: AnyArray | None = None) -> float:
    weight = _weights(one, weights)
    first, second = _floats(one) - mean_of(one, weight), _floats(other) - mean_of(other, weight)
    return float(np.average(first * second, weights=weight))


def correlation_of(one: AnyArray, other: AnyArray, weights: AnyArray | None = None) -> float:
    """Pearson's; one where neither varies, zero where only one does."""
    spreads = (variance_of(one, weights), variance_of(other, weights))
    if min(spreads) <= 0:
        return 1.0 if max(spreads) <= 0 else 0.0
    return float(np.clip(covariance_of(one, other, weights) / np.sqrt(spreads[0]) / np.sqrt(spreads[1]), -1.0, 1.0))


def slope_of(on: AnyArray, values: AnyArray, weights: AnyArray | None = None) -> float:
    """Slope of the least-squares line of `values` on `on` (S1: released on true); one where `on` does not vary."""
    spread = variance_of(on, weights)
    return covariance_of(on, values, weights) / spread if spread > 0 else 1.0


def quantile_of(values: AnyArray, share: float) -> float:
    """The smallest value that at least this share of the cells does not exceed."""
    return quantiles_of(values, (share,))[0]


def quantiles_of(values: AnyArray, shares: Sequence[float] = QUANTILES) -> list[float]:
    """Several quantiles, sorted for once."""
    given = _floats(values)
    places = [max(int(np.ceil(share * given.size)) - 1, 0) for share in shares]
    ordered = np.partition(given, places)
    return [float(ordered[place]) for place in places]


def gini_of(values: AnyArray) -> float:
    """Gini coefficient of sizes: 0 when all are equal, near 1 when one cell holds all."""
    sizes = np.sort(np.abs(_floats(values)))
    if sizes.sum() == 0:
        return 0.0
    place = np.arange(1, sizes.size + 1)
    return float((2 * place - sizes.size - 1) @ sizes / (sizes.size * sizes.sum()))


def ranks_of(values: AnyArray) -> FloatArray:
    """Rank of each value from the smallest (1); equal values share the mean of their ranks."""
    _, place, count = np.unique(_floats(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2.0)[place], dtype=np.float64)


def rank_correlation_of(one: AnyArray, other: AnyArray) -> float:
    """Spearman's."""
    return correlation_of(ranks_of(one), ranks_of(other))


def top_order(true: AnyArray, released: AnyArray, size: int = TOP) -> TopOrder:
    """How the largest cells fared; of equal values the earlier cell is the larger."""
    size = min(size, len(true))
    before, after = (largest_of(each, size) for each in (true, released))
    return TopOrder(size, int(np.isin(before, after).sum()), int((before == after).sum()))


def largest_of(values: AnyArray, size: int = TOP) -> IntArray:
    """Numbers of the largest cells, the largest first; of equal values the earlier cell is the larger."""
    given = _floats(values)
    if size >= given.size:
        return np.argsort(-given, kind="stable")
    least = np.partition(given, given.size - size)[given.size - size]
    among = np.flatnonzero(given >= least)
    return np.asarray(among[np.argsort(-given[among], kind="stable")[:size]], dtype=np.int64)


def two_way(values: AnyArray, rows: AnyArray, columns: AnyArray) -> FloatArray:
    """The cells as a matrix; positions without a cell are zero."""
    _, row = np.unique(rows, return_inverse=True)
    _, column = np.unique(columns, return_inverse=True)
    table = np.zeros((int(row.max(initial=-1)) + 1, int(column.max(initial=-1)) + 1))
    np.add.at(table, (row, column), _floats(values))
    return table


def chi_square_of(table: AnyArray) -> float:
    """Pearson's chi-square of independence of rows and columns; rows and columns that are all zero do not count."""
    table = _floats(table)
    total = table.sum()
    if total == 0:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    counted = expected > 0
    return float((((table - expected) ** 2)[counted] / expected[counted]).sum())


def cramers_v_of(table: AnyArray) -> float:
    """Cramer's V: chi-square between 0 and 1, whatever the size of the table."""
    table = _floats(table)
    filled = min(int((table.sum(axis=1) != 0).sum()), int((table.sum(axis=0) != 0).sum()))
    total = table.sum()
    return float(np.sqrt(chi_square_of(table) / (total * (filled - 1)))) if filled > 1 and total > 0 else 0.0


def distance_of(true: AnyArray, released: AnyArray) -> float:
    """Sum of (released - true)^2 / true over cells that are not zero: chi-square of the release against the truth."""
    before, after = _floats(true), _floats(released)
    counted = before != 0
    return float((((after - before) ** 2)[counted] / np.abs(before[counted])).sum())


def correlations(variables: Sequence[AnyArray]) -> FloatArray:
    """Correlation of every variable with every other."""
    return np.array([[correlation_of(one, other) for other in variables] for one in variables])


def slopes(variables: Sequence[AnyArray]) -> FloatArray:
    """Slope of the regression of variable j on variable i, at [i, j]."""
    return np.array([[slope_of(on, values) for values in variables] for on in variables])


def _floats(values: AnyArray) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _weights(values: AnyArray, weights: AnyArray | None) -> FloatArray:
    weight = np.ones(len(values)) if weights is None else _floats(weights)
    if not weight.sum() > 0:
        raise InputError("The weights of the cells must not all be zero.")
    return weight
