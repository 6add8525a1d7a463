"""Who a cell is: its set of contributors with a non-zero value, never its labels (docs/science.md, section 8; docs/threats.md, section 6).

The print of a set is the sum modulo 2^128 of a keyed digest of each of its records (MSet-Add-Hash, Clarke et al. 2003), held in
two halves of 64 bits. Totals have the sum of their parts' prints, and the difference of two prints is the print of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.secret import SecretKey


def unit_prints(key: SecretKey, dataset: str, units: Sequence[str]) -> AnyArray:
    """Per unit id the two halves (low, high) of its keyed digest."""
    start = key.hasher("record", dataset.encode())
    digests = bytearray()
    for unit in units:
        digest = start.copy()
        digest.update(unit.encode())
        digests += digest.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


def cell_ids(key: SecretKey, space: bytes, low: AnyArray, high: AnyArray, count: IntArray) -> list[bytes]:
    """The name of each cell in the store: its print and count, mixed with what is tabulated (`space`), under the key."""
    start = key.hasher("cell", space)
    raw = np.stack([low.astype("<u8"), high.astype("<u8"), count.astype("<u8")], axis=1).tobytes()
    found = []
    for place in range(0, len(raw), 24):
        digest = start.copy()
        digest.update(raw[place : place + 24])
        found.append(digest.digest())
    return found


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
