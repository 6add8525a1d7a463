"""Safe files: how records are recoded and suppressed."""

from __future__ import annotations

from statveil.jobs.records.explore import RecodingExplorer
from statveil.jobs.records.tradeoff import FileTradeoff, FileTradeoffPoint, tradeoff_file
from statveil.publish.audited_file import EarlierReleases
from statveil.records.keys import EditRule
from statveil.records.loss import FieldLoss, FileLoss
from statveil.records.recode.local_search import RecodingSearchOptions
from statveil.records.recode.recodings import Extremes, Intervals, Menu, Recoding
from statveil.records.risk import UnsafeCombinations
from statveil.records.suppress.problem import Suppression
from statveil.records.suppress.suppress import suppress

__all__ = [
    "EarlierReleases",
    "EditRule",
    "Extremes",
    "FieldLoss",
    "FileLoss",
    "FileTradeoff",
    "FileTradeoffPoint",
    "Intervals",
    "Menu",
    "Recoding",
    "RecodingExplorer",
    "RecodingSearchOptions",
    "Suppression",
    "UnsafeCombinations",
    "suppress",
    "tradeoff_file",
]
