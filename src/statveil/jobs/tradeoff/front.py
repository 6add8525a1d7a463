"""Which of many tables are worth showing: those that no other beats, and the one to recommend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.keep.tabu.objective import moments_of
from statveil.protect.keep.wishes import Keep, Target

DEFAULT = Keep(mean="sensitive", variance="sensitive", correlation="sensitive", slope="sensitive")
"""What the front is about where nothing else is asked: S1 looks at the sensitive cells as the worst case."""


def distortion_of(targets: Sequence[Target], deviation: AnyArray) -> float:
    """Sum over the sets of cells of what was asked there: 1 - corr^2, |1 - slope|, |variance ratio - 1|, |mean off| / std. deviation."""
    return math.fsum(term for target in targets for term in _terms(target, deviation))


def _terms(target: Target, deviation: AnyArray) -> list[float]:
    own = deviation[target.cells].astype(float)
    now = moments_of(target, own)
    return [
        *([abs(now.sum) / mean_scale(target)] if target.mean else []),
        *([max(0.0, 1 - now.correlation**2)] if target.correlation else []),
        *([abs(1 - now.slope)] if target.slope else []),
        *([abs(now.variance_ratio - 1)] if target.variance else []),
    ]


def mean_scale(target: Target) -> float:
    """What a sum of deviations is measured by: cells times their standard deviation, or their size where they do not vary."""
    spread = math.sqrt(target.variance_before) or abs(float(target.value.mean())) or 1.0
    return target.size * spread


NEGLIGIBLE = 1e-9
"""Relative differences below this are rounding."""


NEXT_TO = 0.005
"""Points of a front that differ by less than this share of its width and of its height are next to each other."""


def non_dominated(*objectives: Sequence[float] | FloatArray) -> IntArray:
    """Numbers of the points that no other point beats: none is as good in every objective and better in one. Of equal points the first.

    All objectives are to be small. The answer is in ascending order of the first objective, then of the others.
    """
    points = np.stack([np.asarray(each, dtype=np.float64) for each in objectives], axis=1)
    order = np.lexsort((np.arange(len(points)), *points.T[::-1]))
    kept: list[int] = []
    for place in order.tolist():  # whatever beats a point comes before it in this order
        if not any((points[other] <= points[place] * (1 + NEGLIGIBLE)).all() for other in kept):
            kept.append(place)
    return np.array(kept, dtype=np.int64)


def knee(change: Sequence[float] | FloatArray, distortion: Sequence[float] | FloatArray) -> int:
    """Number of the point of a front that lies farthest below the straight line between its ends, both objectives scaled to 0..1.

    There a further step saves little distortion for its change. A front of two points, or one that bends nowhere, has its knee where
    the scaled objectives together are least; of several such points at the one with the least change.
    """
    first, second = _scaled(change), _scaled(distortion)
    together = first + second  # the line between (0, 1) and (1, 0) is where this is one
    return int(np.flatnonzero(together <= together.min() + NEGLIGIBLE)[0])


def _scaled(values: Sequence[float] | FloatArray) -> FloatArray:
    given = np.asarray(values, dtype=np.float64)
    width = float(given.max() - given.min())
    return np.asarray((given - given.min()) / width if width > 0 else np.zeros(given.size))


def spread_out(change: Sequence[float] | FloatArray, distortion: Sequence[float] | FloatArray, most: int) -> IntArray:
    """At most so many points of a front (in ascending order of change): its ends, its knee, and others as far apart as can be.

    Points next to one that is chosen are left out: they would say the same again.
    """
    size = len(change)
    places = np.stack([_scaled(change), _scaled(distortion)], axis=1)
    chosen = list(dict.fromkeys([knee(change, distortion), 0, size - 1]))[:most]
    while len(chosen) < min(most, size):
        distance = np.abs(places[:, None, :] - places[None, chosen, :]).max(axis=2).min(axis=1)
        if distance.max() < NEXT_TO:
            break
        chosen.append(int(np.argmax(distance)))
    return np.array(sorted(chosen), dtype=np.int64)
