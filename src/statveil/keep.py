"""Statistics that a protected table keeps, what became of them, and what keeping them costs."""

from __future__ import annotations

from statveil.core.statistics import Statistics, statistics_of
from statveil.jobs.tables.protect import ReleasesTogether
from statveil.jobs.tradeoff.tradeoff import FrontPoint, TableTradeoff, Tradeoff, tradeoff, tradeoff_table
from statveil.protect.keep.result import Quality
from statveil.protect.keep.tabu.measures import Measure, chi_square, cramers_v
from statveil.protect.keep.variables import Together
from statveil.protect.keep.wishes import Cells, Coefficients, Keep
from statveil.publish.utility import SubsetUtility, utility

__all__ = [
    "Cells",
    "Coefficients",
    "FrontPoint",
    "Keep",
    "Measure",
    "Quality",
    "ReleasesTogether",
    "Statistics",
    "SubsetUtility",
    "TableTradeoff",
    "Together",
    "Tradeoff",
    "chi_square",
    "cramers_v",
    "statistics_of",
    "tradeoff",
    "tradeoff_table",
    "utility",
]
