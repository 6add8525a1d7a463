"""SUPPRESS GH, MOD, OPT and NET: cells that are not published, of one table or of all linked, audited before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.core.arrays import BoolArray
from statveil.core.limits import Limits, OnProgress
from statveil.jobs.batch.results import link
from statveil.jobs.batch.tables import ReadyTable
from statveil.suppress.cells.options import SuppressionOptions
from statveil.suppress.cells.pattern import CellSuppression
from statveil.suppress.cells.suppress import suppress_cells


def suppressed(
    tables: Sequence[ReadyTable], method: str, options: SuppressionOptions, limits: Limits, on_progress: OnProgress | None
) -> CellSuppression:
    """The pattern of all the tables as one."""
    table, sensitivity = link(tables, suppressing=True)
    already = np.zeros(table.size, dtype=np.bool_)
    for view, ready in zip(table.views, tables, strict=True):
        if ready.suppressed is not None:
            np.logical_or.at(already, view.cell, ready.suppressed[ready.table.views[0].cell])
    return suppress_cells(table, sensitivity, method, options=options, already=already, limits=limits, on_progress=on_progress)


def secondary_parts(found: CellSuppression, tables: Sequence[ReadyTable]) -> list[BoolArray]:
    """The secondary cells of each table, by its own cells; what another table calls unsafe and this one does not is secondary here."""
    if len(tables) == 1:
        return [found.secondary]
    table, _ = link(tables)
    parts = []
    for view, ready in zip(table.views, tables, strict=True):
        hidden = np.zeros(ready.table.size, dtype=np.bool_)
        hidden[ready.table.views[0].cell] = found.suppressed[view.cell]
        parts.append(hidden & ~ready.sensitivity.sensitive)
    return parts
