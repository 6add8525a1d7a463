"""The dominance or (n, k) rule (docs/science.md, section 2; Handbook on SDC, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from statveil.core.errors import RuleError
from statveil.risk.rules.base import Finding, Number, RespondentRule, above, excess_finding, has_target, times, whole
from statveil.tables.table import Table


@dataclass(frozen=True)
class Dominance(RespondentRule):
    """The (n, k) rule: unsafe if x1 + ... + xn > k% of T and one of those n has not waived protection.

    Upper level: 100/k (x1 + ... + xn) - T. With n = 1, k = 70 that is x1/0.7 - T, the rule of Cox and Kelly (S1).
    n: how many of the largest respondents. k: in percent of the cell. lower_factor: the lower level, in multiples of the upper one.

    >>> Dominance(1, 70).words
    'dominance rule, n = 1, k = 70'
    """

    n: int
    k: Number
    lower_factor: Number = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        whole("Dominance: n", self.n, 1)
        if above("Dominance: k", self.k, 0, up_to=100) == 100:
            raise RuleError("Dominance: k must be less than 100: no cell's largest respondents exceed the whole of it.")
        above("Dominance: lower_factor", self.lower_factor, 0)

    @property
    def words(self) -> str:
        return f"dominance rule, n = {self.n}, k = {self.k}"

    @property
    def contributions_needed(self) -> int:
        return self.n

    def figure(self, table: Table, cell: int) -> str:
        share = 100 * int(table.top[cell, : self.n].sum()) / max(int(table.magnitude[cell]), 1)
        largest = "the largest has" if self.n == 1 else f"the {self.n} largest have"
        return f"{largest} {share:.3g}%; up to {self.k}% allowed"

    def _find(self, table: Table) -> Finding:
        part = Fraction(str(self.k)) / 100
        largest = table.top[:, : self.n].sum(axis=1)
        excess = times(largest, part.denominator) - times(table.magnitude, part.numerator)
        target_among_them = has_target(table) & (table.largest_unwaived >= table.top[:, self.n - 1])
        return excess_finding(table, np.where(target_among_them, excess, 0), part.numerator, self.lower_factor)
