"""Safe files: how records are recoded and suppressed."""

from __future__ import annotations

from statveil.jobs.records.explore import RecodingExplorer, explore_recoding
from statveil.jobs.records.tradeoff import FileTradeoff, FileTradeoffPoint, tradeoff_file
from statveil.publish.audited_file import EarlierReleases
from statveil.records.keys import EditRule
from statveil.records.loss import FieldLoss, FileLoss
from statveil.records.models import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    HouseholdRisk,
    IndividualRisk,
    RecursiveDiversity,
)
from statveil.records.recode.local_search import RecodingSearchOptions
from statveil.records.recode.recodings import Extremes, Intervals, Menu, Recoding
from statveil.records.risk import UnsafeCombinations
from statveil.records.risk_curve import RiskUtilityPoint, risk_utility
from statveil.records.suppress.problem import Suppression
from statveil.records.suppress.suppress import suppress

__all__ = [
    "Closeness",
    "DistinctDiversity",
    "EarlierReleases",
    "EditRule",
    "EntropyDiversity",
    "Extremes",
    "FieldLoss",
    "FileLoss",
    "FileTradeoff",
    "FileTradeoffPoint",
    "HouseholdRisk",
    "IndividualRisk",
    "Intervals",
    "Menu",
    "Recoding",
    "RecodingExplorer",
    "RecodingSearchOptions",
    "RecursiveDiversity",
    "RiskUtilityPoint",
    "Suppression",
    "UnsafeCombinations",
    "explore_recoding",
    "risk_utility",
    "suppress",
    "tradeoff_file",
]
