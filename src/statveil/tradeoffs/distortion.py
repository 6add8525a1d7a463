"""How much the statistics of a table are off: S1's measure of section 4, without the total change."""

from __future__ import annotations

import math
from collections.abc import Sequence

from statveil.arrays import AnyArray
from statveil.protect.quality.keep import Keep, Target
from statveil.protect.quality.moments import moments_of

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
