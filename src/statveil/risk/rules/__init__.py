"""The sensitivity rules, one a file (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.risk.rules.base import RespondentRule
from statveil.risk.rules.dominance import Dominance
from statveil.risk.rules.manual import Manual, ManualCell, Waiver
from statveil.risk.rules.minimum_frequency import MinimumFrequency
from statveil.risk.rules.p_percent import PPercent
from statveil.risk.rules.prior_posterior import PriorPosterior
from statveil.risk.rules.request import Request
from statveil.risk.rules.zero import ZeroRule

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
