"""The request rule: a respondent who asked for protection."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from statveil.risk.rules.base import (
    NO_RESPONDENT,
    Finding,
    Level,
    Number,
    RespondentRule,
    between,
    both_ways,
    fewer_than,
    percent_of_value,
    times,
    whole,
)
from statveil.tables.table import Table


@dataclass(frozen=True)
class Request(RespondentRule):
    """Protection for those who ask: unsafe if a respondent who asked contributes more than `percent` of T,
    or if one asked and the frequency is below `minimum`.

    percent: of T. minimum: the frequency, 0 for none. level: in percent of |value|, one number or the lower and the upper.

    >>> Request(70, minimum=3).words
    'request rule, 70%, minimum = 3'
    """

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
