"""The table problem of docs/science.md, section 1 (S0 section 2, S2 and S3 section 2), in integer units, with no solver in sight.

min sum w|z|   s.t.   A z = b - A a,   lower - a <= z <= upper - a,
                      and for each sensitive cell   z <= -lower_level   or   z >= upper_level
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.options import NO_LIMIT, Norm, Variant

NEAR_LARGEST = LARGEST_EXACT // 8
"""Values from which on cells without a bound have one: what is released must be below 2^53."""


class Interval(NamedTuple):
    """Deviations allowed, from `low` to `high`, cell by cell; empty where low > high."""

    low: IntArray
    high: IntArray


@dataclass(frozen=True, kw_only=True)
class ProtectionProblem:
    """Any linear system of cells to protect. All amounts are integers in units of the published decimal.

    `lower` and `upper` bound the released value (minus or plus `NO_LIMIT`: none). The levels are distances from the value and
    mean something only where `sensitive`. `weight` is the cost of one unit of change (of its square under norm "l2").
    value: of each cell. relations, rhs: what must hold of released values: relations @ released = rhs.
    lower_level, upper_level: the least move down, and up. variant: "exact" moves sensitive cells by exactly their level.
    norm: the sum of absolute ("l1") or squared ("l2") changes is least.

    >>> levels = {"lower_level": np.array([5, 0, 0]), "upper_level": np.array([5, 0, 0])}
    >>> bounds = {"lower": np.zeros(3, dtype=int), "upper": np.full(3, 1000)}
    >>> problem = ProtectionProblem(relations=csr_matrix([[1, 1, -1]]), rhs=np.zeros(1, dtype=int), value=np.array([20, 80, 100]),
    ...     weight=np.ones(3), sensitive=np.array([True, False, False]), **bounds, **levels)
    >>> problem.all_up().tolist()
    [1, 0, 0]
    """

    relations: csr_matrix
    rhs: IntArray
    value: IntArray
    weight: FloatArray
    lower: IntArray
    upper: IntArray
    sensitive: BoolArray
    lower_level: IntArray
    upper_level: IntArray
    variant: Variant = "at-least"
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        self._check_shapes()
        if not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            raise InputError("Every cell's weight must be a positive number.")
        if (np.abs(self.value) >= LARGEST_EXACT).any():
            raise InputError(
                "A cell is too large to be computed exactly (2^53 units or more).", hint="Publish with fewer decimals, or in thousands."
            )
        if (self.lower > self.upper).any():
            raise InputError("A cell's lower bound is above its upper bound.")
        levels = np.minimum(self.lower_level, self.upper_level)[self.sensitive]
        if (levels < 0).any():
            raise InputError("A protection level is below zero.")

    def _check_shapes(self) -> None:
        cells = self.value.size
        for name in ("weight", "lower", "upper", "sensitive", "lower_level", "upper_level"):
            if getattr(self, name).shape != (cells,):
                raise InputError(f"{name} must have one entry per cell ({cells}).")
        if self.relations.shape != (self.rhs.size, cells):
            raise InputError("The relations must have one column per cell and one row per right-hand side.")

    @property
    def size(self) -> int:
        return int(self.value.size)

    @cached_property
    def residual(self) -> IntArray:
        """b - A a: zero for an additive table; what the deviations must bring when it is not."""
        return np.asarray(self.rhs - self.relations @ self.value, dtype=np.int64)

    @cached_property
    def free(self) -> Interval:
        """Deviations allowed by the bounds alone. A cell near the largest number that can be released exactly cannot pass it."""
        lower = np.where(self.value <= -NEAR_LARGEST, np.maximum(self.lower, 1 - LARGEST_EXACT), self.lower)
        upper = np.where(self.value >= NEAR_LARGEST, np.minimum(self.upper, LARGEST_EXACT - 1), self.upper)
        return Interval(_minus(lower, self.value), _minus(upper, self.value))

    @cached_property
    def down(self) -> Interval:
        """Deviations allowed to a sensitive cell that goes down."""
        low = np.maximum(self.free.low, -self.lower_level) if self.variant == "exact" else self.free.low
        return Interval(low, np.minimum(-self.lower_level, self.free.high))

    @cached_property
    def up(self) -> Interval:
        """Deviations allowed to a sensitive cell that goes up."""
        high = np.minimum(self.free.high, self.upper_level) if self.variant == "exact" else self.free.high
        return Interval(np.maximum(self.upper_level, self.free.low), high)

    @cached_property
    def can_go_down(self) -> BoolArray:
        return np.asarray(self.sensitive & (self.down.low <= self.down.high))

    @cached_property
    def can_go_up(self) -> BoolArray:
        return np.asarray(self.sensitive & (self.up.low <= self.up.high))

    @cached_property
    def choices(self) -> IntArray:
        """The cells that may go either way."""
        return np.flatnonzero(self.can_go_up & self.can_go_down)

    def all_up(self) -> IntArray:
        """Senses: every cell up where it can go up. With free upper bounds this is always feasible: scale the table up."""
        return np.where(self.sensitive, np.where(self.can_go_up, 1, -1), 0).astype(np.int64)

    def all_down(self) -> IntArray:
        """Senses: every cell down where it can go down. Whole tables may lack the room; where costs are values it is the cheaper way."""
        return np.where(self.sensitive, np.where(self.can_go_down, -1, 1), 0).astype(np.int64)

    def allowed(self, senses: IntArray) -> Interval:
        """Deviations allowed to every cell once the senses are chosen (+1 up, -1 down, 0 not sensitive)."""
        low = np.where(senses > 0, self.up.low, np.where(senses < 0, self.down.low, self.free.low))
        high = np.where(senses > 0, self.up.high, np.where(senses < 0, self.down.high, self.free.high))
        return Interval(low, high)

    def restricted(self, senses: IntArray, open_cells: IntArray) -> ProtectionProblem:
        """The problem in which all sensitive cells but the open ones are plain cells, bounded so that they keep their sense."""
        closed = self.sensitive.copy()
        closed[open_cells] = False
        allowed = self.allowed(np.where(closed, senses, 0))
        return replace(
            self, lower=_plus(allowed.low, self.value), upper=_plus(allowed.high, self.value), sensitive=self.sensitive & ~closed
        )

    def cost(self, deviation: IntArray) -> float:
        """The objective of a deviation: weighted sum of absolute or squared changes."""
        size = np.abs(deviation).astype(np.float64)
        return float(self.weight @ (size if self.norm == "l1" else size * size))

    def accepts(self, deviation: IntArray) -> bool:
        """Whether the deviation is safe, additive and within bounds: exact integers, no tolerance."""
        down = (deviation >= self.down.low) & (deviation <= self.down.high)
        up = (deviation >= self.up.low) & (deviation <= self.up.high)
        inside = (deviation >= self.free.low) & (deviation <= self.free.high)
        safe = ~self.sensitive | down | up
        return bool(inside.all() and safe.all() and (self.relations @ deviation == self.residual).all())

    def senses_of(self, deviation: IntArray) -> IntArray:
        """The senses that a deviation shows."""
        up = (deviation >= self.up.low) & (deviation <= self.up.high)
        return np.where(self.sensitive, np.where(up, 1, -1), 0).astype(np.int64)


def _minus(bound: IntArray, value: AnyArray) -> IntArray:
    """bound - value, where a bound that stands for "none" stays so."""
    return np.where(np.abs(bound) >= NO_LIMIT, bound, bound - value).astype(np.int64)


def _plus(deviation: IntArray, value: IntArray) -> IntArray:
    """deviation + value, where a bound that stands for "none" stays so."""
    return np.where(np.abs(deviation) >= NO_LIMIT, deviation, deviation + value).astype(np.int64)
