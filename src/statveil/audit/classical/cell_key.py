"""The independent check of counts perturbed by cell keys: noise within the table of probabilities, the same records the same noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.audit.report import AuditReport, Check
from statveil.core.arrays import BoolArray, FloatArray, IntArray


def audit_cell_key(counts: IntArray, key_sums: IntArray, released: IntArray, p: FloatArray, *, js: int, bits: int) -> AuditReport:
    """p: a row for each count, the last for all larger ones; columns from -D to D. js: counts of 1 to js must not appear."""
    noise, largest = released - counts, p.shape[1] // 2
    filled = counts > 0
    row = np.minimum(counts, p.shape[0]) - 1
    within = np.abs(noise) <= largest
    possible = p[row, np.clip(noise, -largest, largest) + largest] > 0
    return AuditReport(
        checks=(
            _check("zeros", "An empty cell stays empty", ~filled & (released != 0)),
            _check("noise", "Noise is within the table of probabilities", filled & ~(within & possible)),
            _check("signs", "No count is negative", released < 0),
            _check("small", "No count of 1 to js appears", (released >= 1) & (released <= js)),
            _check("keys", "Noise is drawn by the key", filled & _off_the_key(noise, key_sums % 2**bits / 2**bits, row, p)),
            _table_check(p),
        )
    )


def _off_the_key(noise: IntArray, key: FloatArray, row: IntArray, p: FloatArray) -> BoolArray:
    """The key lies in the interval of its noise; a thousand-millionth on each side is left to rounding."""
    largest = p.shape[1] // 2
    place = np.clip(noise, -largest, largest) + largest
    upper = np.cumsum(p, axis=1)
    return np.asarray((key > upper[row, place] + 1e-9) | (key < upper[row, place] - p[row, place] - 1e-9))


def _table_check(p: FloatArray) -> Check:
    """Probabilities that add up to one and have no bias."""
    v = np.arange(p.shape[1]) - p.shape[1] // 2
    wrong = (p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > 1e-9) | (np.abs(p @ v) > 1e-9)
    return _check("table", "Every row of the table of probabilities adds up to one and has no bias", wrong)


def _check(name: str, words: str, wrong: BoolArray) -> Check:
    return Check(name=name, words=words, checked=int(wrong.size), faults=int(wrong.sum()))


@dataclass(frozen=True, kw_only=True)
class MagnitudeNoise:
    """What noise of magnitudes may be: `most` of a contribution, by the share that each of the largest ones counts for."""

    most: float
    shares: tuple[float, ...]


def audit_cell_key_magnitudes(values: IntArray, top: IntArray, released: IntArray, asked: MagnitudeNoise) -> AuditReport:
    """Zeros, signs, and no number further away than its largest contributions allow; half a unit is left to rounding."""
    room = asked.most * np.abs(top[:, : len(asked.shares)]) @ np.array(asked.shares)
    return AuditReport(
        checks=(
            _check("zeros", "A zero stays zero", (values == 0) & (released != 0)),
            _check("signs", "No number changes its sign", np.sign(values) * np.sign(released) < 0),
            _check("noise", "Noise is within what the largest contributions allow", np.abs(released - values) > room * (1 + 1e-9) + 0.5),
        )
    )
