"""Where no safe table exists: what clashes, what may give, and what gave."""

from __future__ import annotations

from statveil.formats.rcta import MayGive, Relaxation
from statveil.protect.infeasible.explain import Explanation, explain
from statveil.protect.options import GivingCells, Repair, TableRepair

__all__ = [
    "Explanation",
    "GivingCells",
    "MayGive",
    "Relaxation",
    "Repair",
    "TableRepair",
    "explain",
]
