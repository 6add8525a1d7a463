"""Rules that say which cells are sensitive, and what was found."""

from __future__ import annotations

from statveil.risk.assess import assess
from statveil.risk.levels import Floors
from statveil.risk.rules import Dominance, Manual, ManualCell, MinimumFrequency, PPercent, PriorPosterior, Request, Waiver, ZeroRule
from statveil.risk.sensitivity import Sensitivity

__all__ = [
    "Dominance",
    "Floors",
    "Manual",
    "ManualCell",
    "MinimumFrequency",
    "PPercent",
    "PriorPosterior",
    "Request",
    "Sensitivity",
    "Waiver",
    "ZeroRule",
    "assess",
]
