"""All the rules, by name."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.risk.rules.concentration import Dominance, PPercent, PriorPosterior
from statveil.risk.rules.frequency import MinimumFrequency, Request, ZeroRule
from statveil.risk.rules.manual import Manual, ManualCell, Waiver
from statveil.risk.rules.respondents import RespondentRule

__all__ = [
    "Dominance",
    "Manual",
    "ManualCell",
    "MinimumFrequency",
    "PPercent",
    "PriorPosterior",
    "Request",
    "Rule",
    "Waiver",
    "ZeroRule",
    "contributions_needed",
]

Rule = RespondentRule | Manual | Waiver


def contributions_needed(rules: Sequence[Rule]) -> int:
    """How many of each cell's largest contributions these rules look at."""
    return max((rule.contributions_needed for rule in rules if isinstance(rule, RespondentRule)), default=0)
