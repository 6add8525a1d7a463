"""Repairs of tables made from records: what may give, by labels, and what never does.

Sums never give. Where a total is off, the total less its other parts is a second number for a cell of that sum; for a sensitive
cell it may be the true one. Signs and zeros stay, and no cell vanishes.
"""

from __future__ import annotations

import numpy as np

from statveil.formats.rcta import MayGive
from statveil.protect.infeasible.repair import Kept
from statveil.protect.options import Repair, TableRepair
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table, find_cell


def repair_of(asked: TableRepair, table: Table) -> Repair:
    """The same with the table's own cell numbers."""
    if not asked.only:
        return Repair(order=asked.order, weaken_protection=asked.weaken_protection)
    bounds, protection = (
        frozenset(find_cell(table, labels, each.view) for each in asked.only if each.protection == chosen for labels in each.cells)
        for chosen in (False, True)
    )
    named = MayGive(lower=bounds, upper=bounds, protection=protection)
    return Repair(order=asked.order, weaken_protection=asked.weaken_protection, may_give=named)


def kept_of(sensitivity: Sensitivity) -> Kept:
    """Frozen cells stay unless they are named; no cell vanishes or changes its sign."""
    return Kept(cells=np.asarray(sensitivity.frozen), from_zero=1)
