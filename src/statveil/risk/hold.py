"""Headline totals that stay as they are, or within a share of their value: frozen cells, or own bounds, which the audit checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from statveil.core.arrays import frozen_array
from statveil.core.errors import InfeasibleProblem
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.headlines import Held, held_cells
from statveil.tables.table import Table


def hold_totals(table: Table, found: Sensitivity, hold: Sequence[Held], within: float = 0.0) -> Sensitivity:
    """The verdict with these totals held: to the published unit, or `within` a share of their value. A sensitive one must move."""
    if not hold:
        return found
    named = held_cells(table, hold)
    clash = [words for cell, words in named.items() if found.sensitive[cell]]
    if clash:
        raise InfeasibleProblem(
            f"Hold: {clash[0]} is sensitive itself and must move, so it cannot be held.",
            hint="Hold other totals; or publish less detail, so that this one is safe.",
        )
    cells = np.array(sorted(named), dtype=np.int64)
    if not within:
        frozen = found.frozen.copy()
        frozen[cells] = True
        return replace(found, frozen=frozen_array(frozen))
    share, half = Fraction(str(within)), 10 ** (table.scale - table.decimals) // 2
    minimum, maximum = found.minimum.copy(), found.maximum.copy()
    for cell in cells.tolist():
        value = int(table.value[cell])
        reach = max(int(share * abs(value)), half)  # the nearest number that can be published is always inside
        minimum[cell], maximum[cell] = max(int(minimum[cell]), value - reach), min(int(maximum[cell]), value + reach)
    return replace(found, minimum=frozen_array(minimum), maximum=frozen_array(maximum))
