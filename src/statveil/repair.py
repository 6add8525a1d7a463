"""Where no safe table exists: what clashes, what may give, and what gave."""

from __future__ import annotations

from statveil.formats.repairs import MayGive, Relaxation
from statveil.protect.infeasible.explain import Explanation, explain
from statveil.protect.infeasible.repair import Repair, Repaired
from statveil.protect.infeasible.table_repair import GivingCells, TableRepair

__all__ = [
    "Explanation",
    "GivingCells",
    "MayGive",
    "Relaxation",
    "Repair",
    "Repaired",
    "TableRepair",
    "explain",
]
