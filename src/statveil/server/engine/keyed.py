"""What the key decides for ever: the prints of records, the ids of cells, the factors of holdings (docs/science.md, section 8).

A cell is its set of contributors with a non-zero value, never its labels (docs/threats.md, section 6). The print of a set is the sum
modulo 2^128 of a keyed digest of each of its records (MSet-Add-Hash, Clarke et al. 2003), held in two halves of 64 bits. Totals have the
sum of their parts' prints, and the difference of two prints is the print of the difference.

The anchor of the anchored mode: every holding's values are changed once and for ever (docs/threats.md, section 5). A holding has one secret
factor per variable, drawn from the key and its stable id: a sign, and a size between two percentages. Any number of sums of the
changed values tells at most the changed values, and each of those is at least the smaller percentage away from the truth, for it is
rounded away from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.secret import SecretKey
from statveil.risk.rules.base import share

_FULL = 2.0**53


def unit_prints(key: SecretKey, dataset: str, units: Sequence[str]) -> AnyArray:
    """Per unit id the two halves (low, high) of its keyed digest."""
    digests = _digests(key.hasher("record", dataset.encode()), (unit.encode() for unit in units))
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


def _digests(start: Any, words: Iterable[bytes]) -> list[bytes]:
    """The digest of each word, all begun with the same."""
    found = []
    for word in words:
        digest = start.copy()
        digest.update(word)
        found.append(digest.digest())
    return found


def cell_ids(key: SecretKey, space: bytes, low: AnyArray, high: AnyArray, count: IntArray) -> list[bytes]:
    """The name of each cell in the store: its print and count, mixed with what is tabulated (`space`), under the key."""
    raw = np.stack([low.astype("<u8"), high.astype("<u8"), count.astype("<u8")], axis=1).tobytes()
    return _digests(key.hasher("cell", space), (raw[place : place + 24] for place in range(0, len(raw), 24)))


def space_of(key: SecretKey, dataset: str, measure: str, weights: str = "") -> bytes:
    """What is tabulated, as a keyed digest: dataset, variable and weight scheme."""
    return key.digest("space", dataset.encode(), measure.encode(), weights.encode(), size=8)


def subtract(low: AnyArray, high: AnyArray, other_low: AnyArray, other_high: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Prints minus prints modulo 2^128."""
    borrow = (low < other_low).astype(np.uint64)
    return low - other_low, high - other_high - borrow


def among(known_low: AnyArray, known_high: AnyArray, low: AnyArray, high: AnyArray) -> BoolArray:
    """Which of these prints are among the known ones, which are in the order of their low halves."""
    if not known_low.size:
        return np.zeros(low.size, np.bool_)
    place = np.minimum(np.searchsorted(known_low, low), known_low.size - 1)
    found: BoolArray = (known_low[place] == low) & (known_high[place] == high)
    return found


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Per holding: the direction of its change (+1, -1), where in the range its size lies and how far its floors are raised (0 to 1)."""

    sign: IntArray
    size: FloatArray
    floor: FloatArray
    tie: AnyArray


def factors(key: SecretKey, variable: str, holdings: Sequence[str]) -> Factors:
    """The factors of these holdings for one variable: permanent, for they know neither the dataset nor the order (T21, T23)."""
    digests = _digests(key.hasher("factor", variable.encode(), size=32), (holding.encode() for holding in holdings))
    draws = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 4).astype(np.uint64)
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
