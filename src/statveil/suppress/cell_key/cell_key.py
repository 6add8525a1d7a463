"""The cell key method for counts: the same records give the same noise, in whatever table they stand together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from statveil.audit.classical.cell_key import audit_cell_key
from statveil.audit.report import AuditReport
from statveil.core.arrays import IntArray
from statveil.core.errors import AuditFailed, InputError
from statveil.core.secret import SecretKey
from statveil.suppress.cell_key.ptable import Ptable

KEY_BITS = 31
"""Of a record key: sums over two thousand million records fit into 64 bits."""
PURPOSE = "record key"


@dataclass(frozen=True, kw_only=True)
class PerturbedCounts:
    """Counts with noise, audited. They do not add up: totals have noise of their own.

    released: a count for each that was given. audit: the independent audit, which they passed.

    >>> from statveil.suppress.cell_key.ptable import make_ptable
    >>> made = cell_key(np.array([0, 40]), np.array([0, 2**30]), make_ptable(2, 1.0))
    >>> int(made.released[0]), made.audit.passed
    (0, True)
    """

    released: IntArray = field(repr=False)
    audit: AuditReport = field(repr=False)


def record_keys(identifiers: Iterable[str], key: SecretKey) -> IntArray:
    """A key for each record, from its identifier and the office's secret: the same for ever, and nobody else can work it out.

    identifiers: one a record. key: the secret.

    >>> record_keys(["firm 1", "firm 1"], SecretKey(bytes(32))).tolist()[0] < 2**31
    True
    """
    start = key.hasher(PURPOSE, size=4)
    found = []
    for identifier in identifiers:
        digest = start.copy()
        digest.update(identifier.encode())
        found.append(int.from_bytes(digest.digest(), "little") >> (32 - KEY_BITS))
    return np.array(found, dtype=np.int64)


def cell_key(counts: IntArray, key_sums: IntArray, ptable: Ptable) -> PerturbedCounts:
    """Perturb counts by their cell keys.

    counts: records of each cell, whole and not negative. key_sums: the sum of the record keys of each cell, as `tabulate` adds up a
        column of them. ptable: of `make_ptable`.

    It hides whether a record is in a cell only as far as the noise reaches: at most D. Many overlapping tables average the noise away, and
    bounds of D together with sums that must hold may leave a single value. It is no protection of magnitudes.

    >>> from statveil.suppress.cell_key.ptable import make_ptable
    >>> made = cell_key(np.array([3, 40, 3]), np.array([2**30, 5, 2**30]), make_ptable(2, 1.0))  # equal records, equal noise
    >>> int(made.released[0] - made.released[2]), bool(abs(made.released[1] - 40) <= 2)
    (0, True)
    """
    counts, sums = (np.ascontiguousarray(each, dtype=np.int64) for each in (counts, key_sums))
    if counts.shape != sums.shape or (counts < 0).any() or (sums < 0).any():
        raise InputError("Counts and sums of record keys must be of the same cells and not negative.")
    released = _perturbed(counts, sums & (2**KEY_BITS - 1), np.ascontiguousarray(ptable.cumulative), ptable.D, 2.0**-KEY_BITS)
    report = audit_cell_key(counts, sums, released, ptable.p, js=ptable.js, bits=KEY_BITS)
    if not report.passed:
        raise AuditFailed("The audit of the perturbed counts found faults.", hint=str(report))
    return PerturbedCounts(released=released, audit=report)


@njit(cache=True)
def _perturbed(counts, keys, cumulative, largest, unit):  # type: ignore[no-untyped-def]
    """The first noise whose cumulative probability exceeds the key; an empty cell stays empty."""
    released = np.zeros_like(counts)
    rows, columns = cumulative.shape
    for i in range(counts.size):
        if counts[i] == 0:
            continue
        row, key = min(counts[i], rows) - 1, keys[i] * unit
        v, last = 0, -1
        while v < columns - 1 and cumulative[row, v] <= key:
            v += 1
        last = v
        while last > 0 and cumulative[row, last] == cumulative[row, last - 1]:  # the last cumulative may be just below one
            last -= 1
        released[i] = counts[i] + last - largest
    return released
