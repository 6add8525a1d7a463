"""The columns of a view as an Arrow table: codes, labels, and exact numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.core.show import CONFIDENTIAL, MOST_ROWS, Preview, ViewFrameExports
from statveil.core.show.frames import marked, whole_numbers
from statveil.tables.shown.positions import GridPositions, all_positions, public_positions
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, Table, View

DECIMAL_DIGITS = 38


def choose_view(views: Sequence[View], name: str | None) -> View:
    """The view of that name; without one, the only one there is."""
    if name is None and len(views) == 1:
        return views[0]
    known = ", ".join(repr(each.name) for each in views)
    found = next((each for each in views if each.name == name), None)
    if found is None:
        asked = "There are several tables, and none is named." if name is None else f"There is no table {name!r}."
        raise InputError(asked, hint=f"Name one of them: {known}.")
    return found


def view_columns(view: View, positions: GridPositions) -> dict[str, pa.Array]:
    """Codes by dimension, and labels where they say more; no name stands twice."""
    columns: dict[str, pa.Array] = {}
    for axis, dimension in enumerate(view.dimensions):
        index = pa.array(positions.coordinates[:, axis])
        columns[free_name(columns, dimension.name)] = pa.array(dimension.codes, pa.string()).take(index)
        if has_labels(dimension):
            columns[free_name(columns, f"{dimension.name}_label")] = pa.array(labels_of(dimension), pa.string()).take(index)
    return columns


def free_name(taken: Mapping[str, object], name: str) -> str:
    while name in taken:
        name += "_"
    return name


def has_labels(dimension: Dimension) -> bool:
    return labels_of(dimension) != list(dimension.codes)


def labels_of(dimension: Dimension) -> list[str]:
    return [dimension.label(code) for code in dimension.codes]


def amounts(units: IntArray, decimals: int, missing: BoolArray) -> pa.Array:
    """Exact numbers, `units * 10**-decimals`; null where missing."""
    plain = pa.array(units, mask=missing).cast(pa.decimal128(19, 0))
    if decimals <= 0:
        return pc.multiply(plain, pa.scalar(Decimal(10**-decimals), pa.decimal128(18, 0))).cast(pa.decimal128(DECIMAL_DIGITS, 0))
    return pa.Array.from_buffers(pa.decimal128(DECIMAL_DIGITS, decimals), len(plain), plain.buffers())


def table_of_columns(columns: Mapping[str, pa.Array], more: Mapping[str, pa.Array], metadata: Mapping[str, str]) -> pa.Table:
    """Both kinds of columns beside each other; of equal names the later one gets an underscore."""
    together = dict(columns)
    for name, column in more.items():
        together[free_name(together, name)] = column
    return whole_numbers(marked(pa.table(together), metadata))


def protected_frame(protected: ProtectedTable, view: str | None, metadata: Mapping[str, str]) -> pa.Table:
    """The released numbers of a view: the columns of its public CSV file."""
    chosen = choose_view(protected.views, view)
    positions = public_positions(chosen, protected.value)
    return table_of_columns(view_columns(chosen, positions), {"value": _released(protected, positions)}, metadata)


def _released(protected: ProtectedTable, positions: GridPositions) -> pa.Array:
    return amounts(positions.pick(protected.value), protected.decimals, positions.structural)


def protected_preview(protected: ProtectedTable) -> Preview | None:
    """The first released numbers of the first view."""
    if not protected.views:
        return None
    view = protected.views[0]
    every = public_positions(view, protected.value)
    few = GridPositions(coordinates=every.coordinates[:MOST_ROWS], cell=every.cell[:MOST_ROWS], is_grid=False)
    shown = table_of_columns(view_columns(view, few), {"value": _released(protected, few)}, {})
    rows = [["" if field is None else str(field) for field in row.values()] for row in shown.to_pylist()]
    return Preview(shown.column_names, rows, int(every.cell.size))


class InternalTable(ViewFrameExports):
    """The true cells of a table. Confidential: they stay in the office."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"InternalTable (confidential): the true values of {self._table.size:,} cells, records and respondents of each"

    def to_arrow(self, view: str | None = None) -> pa.Table:
        """Codes, labels, value, records and respondents (null where nobody knows), position by position. Confidential."""
        table, chosen = self._table, choose_view(self._table.views, view)
        positions = all_positions(chosen)
        absent = ~positions.filled
        counts = {name: positions.pick(getattr(table, name)) for name in ("records", "respondents")}
        numbers = {"value": amounts(positions.pick(table.value), table.scale, absent)}
        numbers |= {name: pa.array(each, mask=absent | (each < 0)) for name, each in counts.items()}
        return table_of_columns(view_columns(chosen, positions), numbers, CONFIDENTIAL)
