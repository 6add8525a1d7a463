"""Rules that measure concentration: dominance, p% and prior-posterior (docs/science.md, section 2; Handbook on SDC, chapter 4).

All arithmetic is exact, in whole numbers and fractions; levels are rounded up to the table's unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.errors import RuleError
from statveil.risk.rules.exact import Number, above, ceiling, product, share, whole, wide
from statveil.risk.rules.respondents import RespondentRule, has_target, times
from statveil.risk.sensitivity import Finding
from statveil.tables.table import Table


@dataclass(frozen=True)
class Dominance(RespondentRule):
    """The (n, k) rule: unsafe if x1 + ... + xn > k% of T and one of those n has not waived protection.

    Upper level: 100/k (x1 + ... + xn) - T. With n = 1, k = 70 that is S1's x1/0.7 - T.
    Lower level: `lower_factor` times the upper.
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

    def _find(self, table: Table) -> Finding:
        part = Fraction(str(self.k)) / 100
        largest = table.top[:, : self.n].sum(axis=1)
        excess = times(largest, part.denominator) - times(table.magnitude, part.numerator)
        target_among_them = has_target(table) & (table.largest_unwaived >= table.top[:, self.n - 1])
        return _excess(table, np.where(target_among_them, excess, 0), part.numerator, self.lower_factor)


@dataclass(frozen=True)
class PriorPosterior(RespondentRule):
    """The (p, q) rule: unsafe if respondents who know each other to q% can learn the target's contribution to p%.

    With rest = T - target - (the `coalition` largest others): unsafe if q% of rest < p% of the target.
    Upper level: p/q target - rest. Lower level: `lower_factor` times the upper.
    No smaller respondent is in more danger: the rest grows and p% shrinks as the target shrinks.
    """

    p: Number
    q: Number
    coalition: int = field(default=1, kw_only=True)
    lower_factor: Number = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if above("PriorPosterior: p", self.p, 0, up_to=100) >= above("PriorPosterior: q", self.q, 0, up_to=100):
            raise RuleError(f"PriorPosterior: p must be less than q, and p = {self.p}, q = {self.q}.")
        whole("PriorPosterior: coalition", self.coalition, 0)
        above("PriorPosterior: lower_factor", self.lower_factor, 0)

    @property
    def words(self) -> str:
        return f"prior-posterior rule, p = {self.p}, q = {self.q}{_against(self.coalition)}"

    @property
    def contributions_needed(self) -> int:
        return self.coalition + 1

    def _find(self, table: Table) -> Finding:
        ratio = Fraction(str(self.p)) / Fraction(str(self.q))
        return _too_close(table, ratio, self.coalition, self.lower_factor)


@dataclass(frozen=True)
class PPercent(RespondentRule):
    """The p% rule: unsafe if the `coalition` largest others can learn the target's contribution to within p%.

    It is the (p, 100) rule: nothing but the total is known beforehand. Coalition 0 is an attacker from outside.
    """

    p: Number
    coalition: int = field(default=1, kw_only=True)
    lower_factor: Number = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        above("PPercent: p", self.p, 0, up_to=100)
        whole("PPercent: coalition", self.coalition, 0)
        above("PPercent: lower_factor", self.lower_factor, 0)

    @property
    def words(self) -> str:
        return f"p% rule, p = {self.p}{_against(self.coalition)}"

    @property
    def contributions_needed(self) -> int:
        return self.coalition + 1

    def _find(self, table: Table) -> Finding:
        return _too_close(table, Fraction(str(self.p)) / 100, self.coalition, self.lower_factor)


def _against(coalition: int) -> str:
    return "" if coalition == 1 else f", coalition of {coalition}"


def _too_close(table: Table, ratio: Fraction, coalition: int, lower_factor: Number) -> Finding:
    """Cells whose rest is less than ratio x target: the p% and the (p, q) rule."""
    target = np.maximum(table.largest_unwaived, 0)
    largest = table.top[:, :coalition].sum(axis=1)
    next_largest = table.top[:, coalition]
    others = np.where(target >= next_largest, largest + next_largest - target, largest)
    rest = table.magnitude - target - others
    excess = times(target, ratio.numerator) - times(rest, ratio.denominator)
    return _excess(table, np.where(has_target(table), excess, 0), ratio.denominator, lower_factor)


def _excess(table: Table, numerator: AnyArray, denominator: int, lower_factor: Number) -> Finding:
    """Unsafe where the excess is positive; the excess is the upper level, in the contributions' unit."""
    cells = np.flatnonzero(numerator > 0)
    lower_part = Fraction(str(lower_factor)) / denominator
    return Finding(
        cells=cells,
        lower=_in_table_units(table, cells, numerator[cells], lower_part),
        upper=_in_table_units(table, cells, numerator[cells], Fraction(1, denominator)),
    )


def _in_table_units(table: Table, cells: IntArray, amount: AnyArray, part: Fraction) -> IntArray:
    """part x amount of the contributions, in the value's unit; of a shadow variable the same share of |value| instead."""
    if table.has_shadow:
        scaled = product(wide(amount, part.numerator) * part.numerator, np.abs(table.value[cells]))
        return ceiling(scaled, wide(table.magnitude[cells], part.denominator) * part.denominator)
    return share(amount, part * Fraction(10) ** (table.scale - table.rule_scale))
