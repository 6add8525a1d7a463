"""The classical methods beside adjustment: cell suppression, controlled rounding and the cell key method."""

from __future__ import annotations

from statveil.audit.classical.rounding import RoundingAsked
from statveil.jobs.compare.compare import compare
from statveil.suppress.cell_key.cell_key import PerturbedCounts, cell_key, record_keys
from statveil.suppress.cell_key.magnitudes import PerturbedMagnitudes, cell_key_magnitudes
from statveil.suppress.cell_key.ptable import Ptable, make_ptable
from statveil.suppress.cells.options import HypercubeOptions, ModularOptions, SuppressionOptions
from statveil.suppress.cells.pattern import CellSuppression
from statveil.suppress.cells.suppress import suppress_cells
from statveil.suppress.rounding.round_table import RoundedTable, round_table

__all__ = [
    "CellSuppression",
    "HypercubeOptions",
    "ModularOptions",
    "PerturbedCounts",
    "PerturbedMagnitudes",
    "Ptable",
    "RoundedTable",
    "RoundingAsked",
    "SuppressionOptions",
    "cell_key",
    "cell_key_magnitudes",
    "compare",
    "make_ptable",
    "record_keys",
    "round_table",
    "suppress_cells",
]
