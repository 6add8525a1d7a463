"""The p% rule (docs/science.md, section 2; Handbook on SDC, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from statveil.risk.rules.base import Finding, Number, RespondentRule, above, against, rest_in_words, too_close, whole
from statveil.tables.table import Table


@dataclass(frozen=True)
class PPercent(RespondentRule):
    """The p% rule: unsafe if the `coalition` largest others can learn the target's contribution to within p%.

    It is the (p, 100) rule: nothing but the total is known beforehand. Coalition 0 is an attacker from outside.
    p: in percent of the target's contribution. coalition: how many respondents attack together.
    lower_factor: the lower level, in multiples of the upper one.

    >>> PPercent(10, coalition=2).coalition
    2
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
        return f"p% rule, p = {self.p}{against(self.coalition)}"

    @property
    def contributions_needed(self) -> int:
        return self.coalition + 1

    def figure(self, table: Table, cell: int) -> str:
        return rest_in_words(table, cell, self.coalition, Fraction(str(self.p)))

    def _find(self, table: Table) -> Finding:
        return too_close(table, Fraction(str(self.p)) / 100, self.coalition, self.lower_factor)
