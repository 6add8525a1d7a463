"""Rules that count: too few respondents, one who asked for protection, and zeros that tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from statveil.risk.rules.exact import Level, Number, between, both_ways, ceil_amount, whole
from statveil.risk.rules.respondents import NO_RESPONDENT, RespondentRule, fewer_than, has_target, times
from statveil.risk.sensitivity import Finding, percent_of_value
from statveil.tables.table import Table


@dataclass(frozen=True)
class MinimumFrequency(RespondentRule):
    """Unsafe if 0 < frequency < n. The level is a percentage of |value|: `level`, or (lower, upper) apart.

    A cell of value zero with too few respondents is unsafe as well; it moves by at least one published unit.
    """

    n: int
    level: Level = field(default=20, kw_only=True)

    def __post_init__(self) -> None:
        whole("MinimumFrequency: n", self.n, 1)
        both_ways("MinimumFrequency: level", self.level)

    @property
    def words(self) -> str:
        return f"minimum frequency rule, n = {self.n}"

    def _find(self, table: Table) -> Finding:
        unsafe = (table.frequency > 0) & fewer_than(table, self.n) & has_target(table)
        return percent_of_value(table, np.flatnonzero(unsafe), self.level)


@dataclass(frozen=True)
class Request(RespondentRule):
    """Protection for those who ask: unsafe if a respondent who asked contributes more than `percent` of T,
    or if one asked and the frequency is below `minimum`. The level is a percentage of |value|."""

    percent: Number
    minimum: int = field(default=0, kw_only=True)
    level: Level = field(default=20, kw_only=True)

    def __post_init__(self) -> None:
        between("Request: percent", self.percent, 0, 100)
        whole("Request: minimum", self.minimum, 0)
        both_ways("Request: level", self.level)

    @property
    def words(self) -> str:
        few = f", minimum = {self.minimum}" if self.minimum else ""
        return f"request rule, {self.percent}%{few}"

    def _find(self, table: Table) -> Finding:
        part = Fraction(str(self.percent)) / 100
        asked = table.largest_requested
        dominates = times(asked, part.denominator) > times(table.magnitude, part.numerator)
        unsafe = (asked != NO_RESPONDENT) & (dominates.astype(bool) | fewer_than(table, self.minimum))
        return percent_of_value(table, np.flatnonzero(unsafe), self.level)


@dataclass(frozen=True)
class ZeroRule(RespondentRule):
    """Unsafe if the value is zero though there are respondents: it would tell that each of them has nothing (T17).

    The level is an amount in the measure's own unit: a percentage of zero protects nobody.
    """

    level: Level

    def __post_init__(self) -> None:
        both_ways("ZeroRule: level", self.level)

    @property
    def words(self) -> str:
        return "zero rule"

    def _find(self, table: Table) -> Finding:
        cells = np.flatnonzero((table.value == 0) & (table.records > 0) & has_target(table))
        lower, upper = (np.full(cells.size, ceil_amount(amount, table.scale)) for amount in both_ways("ZeroRule: level", self.level))
        return Finding(cells=cells, lower=lower, upper=upper)
