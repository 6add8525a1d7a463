"""The anchor of the anchored mode: every holding's values are changed once and for ever (docs/science.md, section 8; docs/threats.md,
section 5).

A holding has one secret factor per variable, drawn from the key and its stable id: a sign, and a size between two percentages.
Any number of sums of the changed values tells at most the changed values, and each of those is at least the smaller percentage
away from the truth, for it is rounded away from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.secret import SecretKey
from statveil.risk.rules.exact import share

_FULL = 2.0**53


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Per holding: the direction of its change (+1, -1), where in the range its size lies and how far its floors are raised (0 to 1)."""

    sign: IntArray
    size: FloatArray
    floor: FloatArray
    tie: AnyArray


def factors(key: SecretKey, variable: str, holdings: Sequence[str]) -> Factors:
    """The factors of these holdings for one variable: permanent, for they know neither the dataset nor the order (T21, T23)."""
    start = key.hasher("factor", variable.encode(), size=32)
    digests = bytearray()
    for holding in holdings:
        digest = start.copy()
        digest.update(holding.encode())
        digests += digest.digest()
    draws = np.frombuffer(bytes(digests), dtype="<u8").reshape(-1, 4).astype(np.uint64)
    return Factors(
        sign=np.where(draws[:, 0] & np.uint64(1), 1, -1).astype(np.int64),
        size=_uniform(draws[:, 1]),
        floor=_uniform(draws[:, 2]),
        tie=draws[:, 3],
    )


def noised(values: IntArray, sign: IntArray, size: FloatArray, *, least: float, most: float) -> IntArray:
    """The changed values: value + sign x (a share between `least` and `most` percent of it), rounded away from the value."""
    percent = least + (most - least) * size
    change = np.maximum(np.ceil(values * (percent / 100)).astype(np.int64), share(values, Fraction(str(least)) / 100))
    return values + sign * np.minimum(change, values)


def _uniform(draws: AnyArray) -> FloatArray:
    return (draws >> np.uint64(11)).astype(np.float64) / _FULL
