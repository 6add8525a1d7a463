"""What one rule says about a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.arrays import IntArray
from statveil.risk.exact import Level, both_ways, share
from statveil.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The numbers of the cells that a rule calls unsafe, and how far each must move, in the table's units of 10**-scale."""

    cells: IntArray
    lower: IntArray
    upper: IntArray


def percent_of_value(table: Table, cells: IntArray, level: Level) -> Finding:
    """Levels that are a percentage of |value|."""
    lower, upper = (share(np.abs(table.value[cells]), percent / 100) for percent in both_ways("level", level))
    return Finding(cells=cells, lower=lower, upper=upper)
