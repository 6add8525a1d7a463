"""The minimum frequency rule: too few respondents."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from statveil.risk.rules.base import Finding, Level, RespondentRule, both_ways, fewer_than, has_target, percent_of_value, whole
from statveil.tables.table import Table


@dataclass(frozen=True)
class MinimumFrequency(RespondentRule):
    """Unsafe if 0 < frequency < n. The level is a percentage of |value|: `level`, or (lower, upper) apart.

    A cell of value zero with too few respondents is unsafe as well; it moves by at least one published unit.

    n: the least number of respondents that is safe.

    >>> MinimumFrequency(3).n
    3
    """

    n: int
    level: Level = field(default=20, kw_only=True)

    def __post_init__(self) -> None:
        whole("MinimumFrequency: n", self.n, 1)
        both_ways("MinimumFrequency: level", self.level)

    @property
    def words(self) -> str:
        return f"minimum frequency rule, n = {self.n}"

    def figure(self, table: Table, cell: int) -> str:
        return f"{int(table.frequency[cell]) / 10**table.frequency_scale:g} of at least {self.n} respondents"

    def _find(self, table: Table) -> Finding:
        unsafe = (table.frequency > 0) & fewer_than(table, self.n) & has_target(table)
        return percent_of_value(table, np.flatnonzero(unsafe), self.level)
