"""The prior-posterior or (p, q) rule (docs/science.md, section 2; Handbook on SDC, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from statveil.core.errors import RuleError
from statveil.risk.rules.base import Finding, Number, RespondentRule, above, against, rest_in_words, too_close, whole
from statveil.tables.table import Table


@dataclass(frozen=True)
class PriorPosterior(RespondentRule):
    """The (p, q) rule: unsafe if respondents who know each other to q% can learn the target's contribution to p%.

    With rest = T - target - (the `coalition` largest others): unsafe if q% of rest < p% of the target.
    Upper level: p/q target - rest. No smaller respondent is in more danger: the rest grows and p% shrinks as the target shrinks.
    p, q: in percent, p below q. coalition: how many respondents attack together.
    lower_factor: the lower level, in multiples of the upper one.

    >>> PriorPosterior(10, 50, coalition=2).words
    'prior-posterior rule, p = 10, q = 50, coalition of 2'
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
        return f"prior-posterior rule, p = {self.p}, q = {self.q}{against(self.coalition)}"

    @property
    def contributions_needed(self) -> int:
        return self.coalition + 1

    def figure(self, table: Table, cell: int) -> str:
        return rest_in_words(table, cell, self.coalition, 100 * Fraction(str(self.p)) / Fraction(str(self.q)))

    def _find(self, table: Table) -> Finding:
        ratio = Fraction(str(self.p)) / Fraction(str(self.q))
        return too_close(table, ratio, self.coalition, self.lower_factor)
