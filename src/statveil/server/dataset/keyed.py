"""What the key decides for ever: the prints of records, the ids of cells, the factors of holdings (docs/science.md, section 8).

A cell is its set of contributors with a non-zero value, never its labels (docs/threats.md, section 6). The print of a set is the sum
modulo 2^128 of a keyed digest of each of its records (MSet-Add-Hash, Clarke et al. 2003), held in two halves of 64 bits. Totals have the
sum of their parts' prints, and the difference of two prints is the print of the difference.

Every holding has, for each variable, permanent numbers that are drawn from the key and its stable id: how far the floors of cells that it
leads are raised, and who goes first among equals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.secret import SecretKey

_FULL = 2.0**53


def unit_prints(key: SecretKey, dataset: str, units: Iterable[str]) -> AnyArray:
    """Per unit id the two halves (low, high) of its keyed digest."""
    digests = _digests(key.hasher("record", dataset.encode()), (unit.encode() for unit in units))
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2).astype(np.uint64)


def _digests(start: Any, words: Iterable[bytes]) -> bytearray:
    """The digests of the words one after the other, all begun with the same; millions of them are no list of objects."""
    found = bytearray()
    for word in words:
        digest = start.copy()
        digest.update(word)
        found += digest.digest()
    return found


def cell_ids(key: SecretKey, space: bytes, low: AnyArray, high: AnyArray, count: IntArray) -> list[bytes]:
    """The name of each cell in the store: its print and count, mixed with what is tabulated (`space`), under the key."""
    raw = np.stack([low.astype("<u8"), high.astype("<u8"), count.astype("<u8")], axis=1).tobytes()
    found = bytes(_digests(key.hasher("cell", space), (raw[place : place + 24] for place in range(0, len(raw), 24))))
    return [found[place : place + 16] for place in range(0, len(found), 16)]


def space_of(key: SecretKey, measure: str, weights: str = "") -> bytes:
    """What is tabulated, as a keyed digest: variable and weight scheme. Not the dataset: its editions have different ids (T21)."""
    return key.digest("space", measure.encode(), weights.encode(), size=8)


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Per holding: how far its floors are raised (0 to 1), and its rank among equals."""

    floor: FloatArray
    tie: AnyArray


def permanent_ids(key: SecretKey, holdings: Iterable[str]) -> AnyArray:
    """A keyed number for each holding that knows neither the dataset nor the order."""
    digests = _digests(key.hasher("holding", size=8), (holding.encode() for holding in holdings))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def factors(key: SecretKey, variable: str, holdings: AnyArray) -> Factors:
    """The factors of these holdings, by their permanent ids, for one variable: as permanent as these (T21, T23)."""
    raw = holdings.astype("<u8").tobytes()
    digests = _digests(key.hasher("factor", variable.encode(), size=16), (raw[at : at + 8] for at in range(0, len(raw), 8)))
    draws = np.frombuffer(digests, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return Factors(floor=_uniform(draws[:, 0]), tie=draws[:, 1])


def _uniform(draws: AnyArray) -> FloatArray:
    return (draws >> np.uint64(11)).astype(np.float64) / _FULL
