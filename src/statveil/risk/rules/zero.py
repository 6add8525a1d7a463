"""The zero rule: zeros that tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.risk.rules.base import Finding, Level, RespondentRule, both_ways, ceil_amount, has_target
from statveil.tables.table import Table


@dataclass(frozen=True)
class ZeroRule(RespondentRule):
    """Unsafe if the value is zero though there are respondents: it would tell that each of them has nothing (T17).

    level: an amount in the measure's own unit, one number or the lower and the upper: a percentage of zero protects nobody.

    >>> ZeroRule(5).level
    5
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
