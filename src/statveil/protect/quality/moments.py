"""The sums from which S1's statistics follow: of the deviations, of them times the values, and of their squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.arrays import AnyArray, IntArray
from statveil.protect.quality.keep import Target

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
