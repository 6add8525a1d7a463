"""SUPPRESS RND: controlled rounding as a batch file asks for it, and whether it hides what the rules say must be hidden.

Rounding does not look at sensitive cells. So what a reader can derive from the rounded table, its sums and the base is audited like a
table in which every cell is suppressed and known to within the base; where that is too narrow for a sensitive cell, nothing is written.
"""

from __future__ import annotations

import numpy as np

from statveil.audit.patterns.audit import audit_pattern
from statveil.audit.patterns.pattern import NO_BOUND, SuppressionPattern
from statveil.audit.patterns.tree_sums import tree_sums
from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import AuditFailed
from statveil.jobs.batch.rounding_wish import RoundingWish
from statveil.jobs.batch.tables import ReadyTable
from statveil.suppress.rounding.round_table import RoundedTable, round_table
from statveil.tables.table import ProtectedTable


def rounded(ready: ReadyTable, wish: RoundingWish, *, seconds: float) -> tuple[ProtectedTable, RoundedTable]:
    """The rounded table, additive, near, and wide enough around every sensitive cell: all of it audited."""
    found = round_table(ready.table, wish.base, most_steps=wish.steps, seconds=min(seconds, 60.0 * wish.minutes))
    _require_hidden(ready, found.released, wish.base * (found.steps + 1))
    return ProtectedTable(views=ready.table.views, value=frozen_array(found.released), decimals=ready.table.decimals), found


def _require_hidden(ready: ReadyTable, released: IntArray, near: int) -> None:
    table, view, sensitivity = ready.table, ready.table.views[0], ready.sensitivity
    unit = 10 ** (table.scale - table.decimals)
    value, shown, reach = table.value[view.cell], released[view.cell] * unit, near * unit - 1
    relations = tree_sums(view.dimensions, view.coordinates)
    pattern = SuppressionPattern(
        relations=relations,
        rhs=np.zeros(relations.shape[0], dtype=np.int64),
        value=value,
        suppressed=np.ones(value.size, dtype=np.bool_),
        primary=sensitivity.sensitive[view.cell],
        lower_level=sensitivity.lower_level[view.cell],
        upper_level=sensitivity.upper_level[view.cell],
        lower=np.maximum(shown - reach, 0 if (value >= 0).all() else -NO_BOUND),
        upper=shown + reach,
        singleton=table.respondents[view.cell] == 1,
    )
    audit = audit_pattern(pattern)
    if not audit.passed:
        raise AuditFailed(
            f"Table {ready.plan.number}: rounding leaves {len(audit.faults)} sensitive cells in too narrow an interval; nothing written.",
            hint="Take a larger base, at least twice the highest protection level.",
        )
