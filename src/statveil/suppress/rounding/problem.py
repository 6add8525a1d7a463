"""Controlled rounding as a program in whole numbers: which multiple of the base each cell becomes (Salazar-Gonzalez et al. 2004)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.tables.relations import relations
from statveil.tables.spec import is_whole
from statveil.tables.table import Table

MOST_BASE = 2**40
"""Bases and values up to here keep every product of the checker within 64 bits."""


@dataclass(frozen=True, kw_only=True)
class RoundingProblem:
    """A cell becomes base * (floor + z), z whole, low <= z <= high, and M z = -M floor: then every total is the sum of its parts.

    base, value: in the table's own units. rest: value - base * floor, at least 0 and below the base.
    """

    base: int
    value: IntArray = field(repr=False)
    relations: csr_matrix = field(repr=False)
    low: IntArray = field(repr=False)
    high: IntArray = field(repr=False)

    @property
    def floor(self) -> IntArray:
        return np.asarray(self.value // self.base)

    @property
    def rest(self) -> IntArray:
        return np.asarray(self.value % self.base)

    @property
    def right(self) -> IntArray:
        return np.asarray(-(self.relations @ self.floor))

    def cost(self, z: IntArray) -> int:
        """How far all cells move together."""
        return int(np.abs(self.base * z - self.rest).astype(object).sum())

    def accepts(self, z: IntArray) -> bool:
        return bool((z >= self.low).all() and (z <= self.high).all() and np.array_equal(self.relations @ z, self.right))

    def released(self, z: IntArray) -> IntArray:
        return np.asarray(self.base * (self.floor + z))


def rounding_problem(table: Table, base: int, *, zero_restricted: bool, steps: int) -> RoundingProblem:
    """The problem of a table; the base counts published units. With `steps` K a cell may go K bases further, but never change its sign."""
    if not is_whole(base) or base < 1:
        raise InputError("The base must be a whole number of published units, at least 1.", hint="Usual: 3, 5 or 10.")
    if not is_whole(steps) or steps < 0:
        raise InputError("steps must be a whole number, at least 0.")
    own = int(base) * 10 ** (table.scale - table.decimals)
    if own > MOST_BASE or int(np.abs(table.value).max(initial=0)) > 2**60:
        raise InputError("The base or a value is too large to be rounded exactly.", hint="Publish fewer decimals.")
    low, high = allowed_steps(table.value, own, zero_restricted=zero_restricted, steps=steps)
    return RoundingProblem(base=own, value=table.value, relations=relations(table), low=low, high=high)


def allowed_steps(value: IntArray, base: int, *, zero_restricted: bool, steps: int) -> tuple[IntArray, IntArray]:
    """The least and largest z. Zero-restricted: a multiple of the base stays. A zero always stays."""
    floor, multiple = value // base, value % base == 0
    around = steps + (0 if zero_restricted else 1)
    low = np.where(multiple, -around, -steps)
    high = np.where(multiple, around, steps + 1)
    low, high = np.where(value >= 0, np.maximum(low, -floor), low), np.where(value <= 0, np.minimum(high, -floor), high)
    return np.where(value == 0, 0, low), np.where(value == 0, 0, high)
