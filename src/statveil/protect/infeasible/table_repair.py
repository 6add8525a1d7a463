"""Repairs of tables made from records: what may give, by labels, and what never does.

Sums never give. Where a total is off, the total less its other parts is a second number for a cell of that sum; for a sensitive
cell it may be the true one. Signs and zeros stay, and no cell vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.errors import InputError
from statveil.formats.repairs import MayGive
from statveil.protect.infeasible.repair import Giving, Kept, Repair
from statveil.risk.labels import find_cell
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.table import Table

DEFAULT_TABLE_ORDER: tuple[Giving, ...] = ("cap", "inner", "margins")


@dataclass(frozen=True, kw_only=True)
class GivingCells:
    """Cells whose bounds may give, or with `protection` whose protection may.

    cells: {dimension: code} each; a dimension left out means its total. view: which of several linked tables is meant.
    """

    cells: Sequence[Mapping[str, str]]
    view: str | None = None
    protection: bool = False

    def __post_init__(self) -> None:
        listed = isinstance(self.cells, Sequence) and not isinstance(self.cells, str)
        if not listed or not all(isinstance(labels, Mapping) for labels in self.cells):
            raise InputError("The cells that may give must be a list of {dimension: code}.", hint='For example: [{"region": "A"}].')


@dataclass(frozen=True, kw_only=True)
class TableRepair:
    """What may give where a table from records has no safe release, first things first: bounds of sensitive cells (`cap`), of
    `inner` cells, of `margins`, and `protection`, the last only if `weaken_protection` says so as well.

    `only` narrows it down to single cells; without it all may give but frozen ones.
    """

    order: tuple[Giving, ...] = DEFAULT_TABLE_ORDER
    only: tuple[GivingCells, ...] = ()
    weaken_protection: bool = False

    def __post_init__(self) -> None:
        Repair(order=self.order, weaken_protection=self.weaken_protection)
        if "relations" in self.order:
            raise InputError(
                "The sums of a table from records do not give: a total less its other parts would tell of a sensitive cell.",
                hint="Leave 'relations' out of the repair order.",
            )
        if not all(isinstance(each, GivingCells) for each in self.only):
            raise InputError("What alone may give must be a list of GivingCells.")


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
