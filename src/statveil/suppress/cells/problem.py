"""The suppression problem of docs/suppression.md in integer units: any linear system of cells, with no solver in sight.

A reader of a pattern S knows M y = b, y = a outside S, lower <= y <= upper. S is safe if for each primary cell some such y lies at
a - lower_level or below, and some at a + upper_level or above (Fischetti and Salazar 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, IntArray
from statveil.core.errors import InfeasibleProblem, InputError
from statveil.suppress.cells.methods.shape import GridShape

ENDLESS = 2**62
"""Stands for "no bound" in integer arrays."""
COST_UNITS = 1000
"""Costs are whole numbers of thousandths, so that bounds can be added up exactly."""


@dataclass(frozen=True, kw_only=True)
class SuppressionProblem:
    """relations: M; relations @ value is the right-hand side, whatever it is. lower, upper: what readers know of each cell beforehand.
    primary: must be suppressed, with the levels that protect it. candidate: may be suppressed; a cell that is none is published.
    hidden: published nowhere or suppressed already, at no cost. single: cells of one respondent, who knows them.
    cost: of suppressing each cell, in thousandths. shapes: where the cells stand, for methods that must know it. respondents: of each cell
    (-1: not known), for rules about sums of cells.

    >>> none = np.zeros(3, dtype=bool)
    >>> whole = np.array([0, 0, 0])
    >>> problem = SuppressionProblem(
    ...     relations=csr_matrix([[1, 1, -1]]), value=np.array([5, 7, 12]), lower=whole, upper=whole + ENDLESS,
    ...     primary=np.array([True, False, False]), candidate=~none, hidden=none, single=none,
    ...     lower_level=np.array([2, 0, 0]), upper_level=np.array([2, 0, 0]), cost=whole + 1000)
    >>> problem.size
    3
    """

    relations: csr_matrix = field(repr=False)
    value: IntArray = field(repr=False)
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)
    primary: BoolArray = field(repr=False)
    candidate: BoolArray = field(repr=False)
    hidden: BoolArray = field(repr=False)
    single: BoolArray = field(repr=False)
    lower_level: IntArray = field(repr=False)
    upper_level: IntArray = field(repr=False)
    cost: IntArray = field(repr=False)
    shapes: tuple[GridShape, ...] = field(default=(), repr=False)
    respondents: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if any(
            getattr(self, name).shape != self.value.shape for name in ("lower", "upper", "primary", "candidate", "hidden", "single", "cost")
        ):
            raise InputError("The arrays of a suppression problem must have one entry per cell.")
        if self.relations.shape[1] != self.value.size:
            raise InputError("The relations of a suppression problem must have one column per cell.")
        if (np.abs(self.value) >= LARGEST_EXACT).any():
            raise InputError("A cell is too large to be computed exactly (2^53 units or more).", hint="Publish with fewer decimals.")
        if (self.cost < 0).any() or (self.lower_level < 0).any() or (self.upper_level < 0).any():
            raise InputError("Costs and protection levels must not be below zero.")
        if ((self.lower > self.value) | (self.upper < self.value)).any():
            raise InputError("What readers know of a cell beforehand must include its value.")
        self._check_levels()

    def _check_levels(self) -> None:
        """A reader who already knows more than the levels allow cannot be kept from it by any pattern."""
        too_low = self.primary & (self.lower_level > np.minimum(self.value - self.lower, LARGEST_EXACT))
        too_high = self.primary & (self.upper_level > np.minimum(self.upper - self.value, LARGEST_EXACT))
        found = np.flatnonzero(too_low | too_high)
        if found.size:
            raise InfeasibleProblem(
                f"Readers know more of cell {found[0]} beforehand than its protection level allows ({found.size} such cells).",
                hint="Widen what is known beforehand, or lower the level.",
            )

    @property
    def size(self) -> int:
        return int(self.value.size)

    def with_suppressed(self, cells: BoolArray) -> SuppressionProblem:
        """These are suppressed already; a cell that must be published cannot be."""
        if cells.shape != self.value.shape:
            raise InputError("What is suppressed already must have one entry per cell.")
        if (cells & ~(self.candidate | self.primary | self.hidden)).any():
            raise InputError("A cell that must be published is to be suppressed already.", hint="Frozen cells and zeros are published.")
        return replace(self, hidden=self.hidden | (cells & ~self.primary), candidate=self.candidate & ~cells)

    @cached_property
    def columns(self) -> csc_matrix:
        """The relations, cell by cell."""
        return csc_matrix(self.relations)


def keeps_sums(relations: csr_matrix, move: AnyArray) -> bool:
    """Whether relations @ move is zero, in integers without end."""
    terms = relations.data.astype(object) * move[relations.indices]
    ends = np.append(0, np.cumsum(terms)) if terms.size else np.zeros(1, dtype=object)
    return not (ends[relations.indptr[1:]] - ends[relations.indptr[:-1]]).any()
