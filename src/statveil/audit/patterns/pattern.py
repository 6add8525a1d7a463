"""A table with suppressed cells, what readers know beforehand, and what an audit says of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.errors import InputError

NO_BOUND = 2**62
"""A bound that is none."""


@dataclass(frozen=True, kw_only=True)
class SuppressionPattern:
    """Cells in whole units with relations `relations @ value == rhs` between them; which of them are not published, and why.

    lower, upper: what any reader knows of each value beforehand. singleton: cells with one respondent, who knows the value.
    """

    relations: csr_matrix = field(repr=False)
    rhs: IntArray = field(repr=False)
    value: IntArray = field(repr=False)
    suppressed: BoolArray = field(repr=False)
    primary: BoolArray = field(repr=False)
    lower_level: IntArray = field(repr=False)
    upper_level: IntArray = field(repr=False)
    lower: IntArray = field(repr=False)
    upper: IntArray = field(repr=False)
    singleton: BoolArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        size = self.value.size
        named = (self.suppressed, self.primary, self.lower_level, self.upper_level, self.lower, self.upper)
        columns = [*named, *([] if self.singleton is None else [self.singleton])]
        if any(each.shape != (size,) for each in columns) or self.relations.shape != (self.rhs.size, size):
            raise InputError("The columns of a pattern must be as long as its values, and its relations as wide.")
        if not np.issubdtype(self.relations.dtype, np.integer):
            raise InputError("The relations of a pattern must have whole factors.")
        if ((self.lower > self.value) | (self.value > self.upper)).any():
            raise InputError("A value lies outside what readers are said to know of it.", hint="Widen the bounds, or take wider ones.")

    def known_within(self, percent: int) -> SuppressionPattern:
        """The same pattern before readers who know every value to within that percentage."""
        room = -(-np.abs(self.value) * percent // 100)
        return replace(self, lower=frozen_array(self.value - room), upper=frozen_array(self.value + room))


@dataclass(frozen=True, kw_only=True)
class KnowingReader:
    """A respondent, a holding or a coalition: in each of `cells` at least `least` is theirs; `alone` where the whole cell is."""

    name: str
    cells: IntArray = field(repr=False)
    least: IntArray = field(repr=False)
    alone: BoolArray = field(repr=False)

    def narrows(self, pattern: SuppressionPattern) -> SuppressionPattern:
        """The pattern with this reader's knowledge as bounds."""
        lower, upper = pattern.lower.copy(), pattern.upper.copy()
        lower[self.cells] = np.maximum(lower[self.cells], self.least)
        known = self.cells[self.alone]
        lower[known] = upper[known] = pattern.value[known]
        return replace(pattern, lower=frozen_array(lower), upper=frozen_array(upper))


class Disclosure(StrEnum):
    """What a reader gets of a cell."""

    SAFE = "safe"
    PUBLISHED = "published"
    EXACT = "exact"
    INFERENTIAL = "inferential"
    UNPROVED = "unproved"
    SINGLETON = "to a singleton"
    COALITION = "to a coalition"
    UNION = "of a union"
    UNNEEDED = "unneeded"


FAULTS = frozenset(Disclosure) - {Disclosure.SAFE, Disclosure.UNNEEDED}


@dataclass(frozen=True, kw_only=True)
class PatternFinding:
    """One cell and what is wrong with it; `others` are the cells that give it away, `reader` who sees it."""

    cell: int
    kind: Disclosure
    others: tuple[int, ...] = ()
    reader: str = "any reader"


@dataclass(frozen=True, kw_only=True)
class PatternAudit:
    """What any reader gets of each suppressed cell.

    A reader cannot exclude any value between `value - down` and `value + up`: shown by tables that were checked in whole numbers.
    Where `exhausted`, a linear program found no more; elsewhere nothing more was looked for.
    """

    cells: IntArray = field(repr=False)
    """The suppressed cells; all columns here are of these."""
    down: IntArray = field(repr=False)
    up: IntArray = field(repr=False)
    exhausted: BoolArray = field(repr=False)
    verdict: tuple[Disclosure, ...]
    findings: tuple[PatternFinding, ...]
    broken: tuple[int, ...] = ()
    """Relations that do not add up."""
    components: int = 0
    programs: int = 0

    @property
    def faults(self) -> tuple[PatternFinding, ...]:
        """Findings that must not be; a secondary suppression that protects nothing is none."""
        return tuple(each for each in self.findings if each.kind in FAULTS)

    @property
    def passed(self) -> bool:
        return not self.faults and not self.broken

    def count(self, kind: Disclosure) -> int:
        return len({each.cell for each in self.findings if each.kind is kind})
