"""The cell key method for magnitudes: noise in proportion to the largest contributions (Giessing and Tent 2019).

y = x + sum over the k largest contributions x_j of m * eps_j * |x_j| * v_j, with v_j drawn from one row of a table of probabilities by
the cell's key, which is turned by some of its bits from one contribution to the next. m does not depend on the size of the contribution:
their function that flattens, and their separate table for small cells, are not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from statveil.audit.classical.cell_key import MagnitudeNoise, audit_cell_key_magnitudes
from statveil.audit.report import AuditReport
from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import AuditFailed, InputError
from statveil.suppress.cell_key.cell_key import KEY_BITS
from statveil.suppress.cell_key.ptable import Ptable

TURN = 10
"""Bits by which the key is turned for the next contribution."""


@dataclass(frozen=True, kw_only=True)
class PerturbedMagnitudes:
    """Magnitudes with noise, audited. They do not add up.

    released: in the units that were given. audit: the independent audit, which they passed.

    >>> from statveil.suppress.cell_key.ptable import make_ptable
    >>> cell_key_magnitudes(np.array([100]), np.array([[60]]), np.array([2**30]), make_ptable(2, 1.0)).audit.passed
    True
    """

    released: IntArray = field(repr=False)
    audit: AuditReport = field(repr=False)


def cell_key_magnitudes(
    values: IntArray, top: IntArray, key_sums: IntArray, ptable: Ptable, *, scale: float = 0.1, shares: Sequence[float] = (1.0,)
) -> PerturbedMagnitudes:
    """Perturb magnitudes by their cell keys.

    values: of the cells, whole, in published units. top: the largest contributions to each in the same units, largest first. key_sums: sums
        of record keys. ptable: its last row is drawn from. scale: m, what noise of one is as a share of a contribution.
    shares: eps_1, eps_2, ...: what the largest contributions count for.

    >>> from statveil.suppress.cell_key.ptable import make_ptable
    >>> made = cell_key_magnitudes(np.array([100, 0]), np.array([[60], [0]]), np.array([2**30, 0]), make_ptable(2, 1.0))
    >>> abs(int(made.released[0]) - 100) <= 12, int(made.released[1])
    (True, 0)
    """
    values, top, sums = (np.asarray(each, dtype=np.int64) for each in (values, top, key_sums))
    if top.ndim != 2 or top.shape[0] != values.size or sums.shape != values.shape or top.shape[1] < len(shares) or (sums < 0).any():
        raise InputError("Values, largest contributions and sums of record keys must be of the same cells, the sums not negative.")
    if not 0 < scale * ptable.D * sum(shares) < 1:
        raise InputError("scale times D times the shares must lie between 0 and 1.", hint="Noise must not reach a contribution itself.")
    noise = sum(
        (scale * share * np.abs(top[:, place]) * drawn(sums, ptable, place) for place, share in enumerate(shares)), np.zeros(values.size)
    )
    moved = np.rint(noise).astype(np.int64)
    released = np.where(values > 0, np.maximum(values + moved, 0), np.where(values < 0, np.minimum(values + moved, 0), 0))
    asked = MagnitudeNoise(most=ptable.D * scale, shares=tuple(shares))
    report = audit_cell_key_magnitudes(values, top, released, asked)
    if not report.passed:
        raise AuditFailed("The audit of the perturbed magnitudes found faults.", hint=str(report))
    return PerturbedMagnitudes(released=released, audit=report)


def drawn(key_sums: IntArray, ptable: Ptable, place: int) -> FloatArray:
    """The noise of each cell for its contribution of that place, from the last row of the table."""
    bits, turn = KEY_BITS, (TURN * place) % KEY_BITS
    key = key_sums & (2**bits - 1)
    turned = ((key << turn) | (key >> (bits - turn))) & (2**bits - 1)
    upper = ptable.cumulative[-1]
    last = int(np.flatnonzero(ptable.p[-1] > 0)[-1])
    return np.asarray(np.minimum(np.searchsorted(upper, turned / 2.0**bits, side="right"), last) - ptable.D, dtype=np.float64)
