"""One released linear system, and what its attacker and its scorer know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.attacks.public import PublicTable, sums_of
from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.tables.spec import Dimension

ENDLESS = np.inf


@dataclass(frozen=True, kw_only=True)
class Published:
    """Public: released numbers and the relations they keep. `low` and `high` bound the true values as the public knows them."""

    relations: csr_matrix
    rhs: IntArray
    released: IntArray
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    known_bounds: bool
    """Whether `low` and `high` are more than "nothing is negative"."""


@dataclass(frozen=True, kw_only=True)
class Originals:
    """Secret: the true values, which are sensitive, and how far each had to move."""

    value: IntArray = field(repr=False)
    sensitive: BoolArray = field(repr=False)
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Backwards:
    """What the attacker of T12 is granted: the released system, which cells are sensitive, their levels, and bounds."""

    published: Published
    sensitive: BoolArray
    lower: IntArray
    upper: IntArray


Reverse = Callable[[Backwards], IntArray | None]
"""Adjusts a released system as if it were the original; None where that fails. The solver of adjustments is given from outside."""


def published_table(table: PublicTable, dimensions: Mapping[str, Dimension], most_change: float | None) -> Published:
    """An answer as a linear system. What is not shown is left out of it."""
    size, shown = table.values.size, table.shown.reshape(-1)
    rows, columns, signs, count = [], [], [], 0
    for sums in sums_of(table, dimensions):
        complete = np.flatnonzero(shown[sums.total] & shown[sums.parts].all(axis=0))
        number = count + np.arange(complete.size)
        parts = sums.parts[:, complete]
        rows += [np.tile(number, parts.shape[0]), number]
        columns += [parts.reshape(-1), sums.total[complete]]
        signs += [np.ones(parts.size, dtype=np.int64), -np.ones(complete.size, dtype=np.int64)]
        count += complete.size
    none = [np.zeros(0, dtype=np.int64)]
    entries = (np.concatenate(none + signs), (np.concatenate(none + rows), np.concatenate(none + columns)))
    released = np.where(shown, table.values.reshape(-1), 0)
    low, high = around(released, most_change)
    return Published(
        relations=csr_matrix(entries, shape=(count, size)),
        rhs=np.zeros(count, dtype=np.int64),
        released=released,
        low=low,
        high=np.where(shown, high, ENDLESS),
        known_bounds=most_change is not None,
    )


def around(released: IntArray, most_change: float | None) -> tuple[FloatArray, FloatArray]:
    """What is known of values that moved by at most this share of themselves; zeros are zero, and what is published as positive is."""
    zero = released == 0
    if most_change is None:
        return np.where(released < 0, -ENDLESS, 0.0), np.where(zero, 0.0, ENDLESS)
    low = np.floor(released / (1 + most_change))
    high = np.ceil(released / (1 - most_change)) if most_change < 1 else np.full(released.size, ENDLESS)
    return np.maximum(np.where(zero, 0.0, low), 0.0), np.where(zero, 0.0, high)
