"""Cells named by their labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from statveil.core.errors import RuleError
from statveil.tables.table import Table, View


def find_cell(table: Table, labels: Mapping[str, str], view: str | None) -> int:
    """The number of the cell that stands at those labels."""
    chosen = _choose_view(table, view)
    _check_labels(chosen, labels)
    start, end = 0, chosen.cell.size
    for axis, dimension in enumerate(chosen.dimensions):
        wanted = dimension.position[labels.get(dimension.name, dimension.total)]
        column = chosen.coordinates[start:end, axis]
        start, end = start + int(np.searchsorted(column, wanted, "left")), start + int(np.searchsorted(column, wanted, "right"))
    if start == end:
        raise RuleError(
            f"The cell {in_words(labels)} of {chosen.name!r} is empty.", hint="Take it off the list: an empty cell is never released."
        )
    return int(chosen.cell[start])


def in_words(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {code}" for name, code in labels.items()) or "grand total"


def _choose_view(table: Table, view: str | None) -> View:
    names = [each.name for each in table.views]
    if view is None and len(names) == 1:
        return table.views[0]
    if view not in names:
        asked = "Several tables are linked, and a cell does not say which is meant." if view is None else f"There is no table {view!r}."
        raise RuleError(asked, hint=f"Known: {', '.join(names)}.")
    return table.views[names.index(view)]


def _check_labels(view: View, labels: Mapping[str, str]) -> None:
    dimensions = {dimension.name: dimension for dimension in view.dimensions}
    strangers = [name for name in labels if name not in dimensions]
    if strangers:
        raise RuleError(f"{strangers[0]!r} is not a dimension of {view.name!r}.", hint=f"Known: {', '.join(dimensions)}.")
    unknown = [f"{name} = {code}" for name, code in labels.items() if code not in dimensions[name].position]
    if unknown:
        raise RuleError(f"Cells of {view.name!r} are named by unknown codes: {', '.join(unknown)}.", hint="Use codes of the hierarchy.")
