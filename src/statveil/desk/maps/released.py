"""What a run released, beside what was there: before and after."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from statveil.core.arrays import IntArray
from statveil.desk.maps.risk_map import cells_at
from statveil.publish.formats.files import guard
from statveil.tables.table import Table, View


class Released(NamedTuple):
    """The published numbers of a view as a run wrote them, and the line of each cell; -1 where it has none."""

    text: Any
    line: IntArray

    def after(self, table: Table, cell: int) -> str:
        """The published number and its change, in words."""
        if self.line[cell] < 0:
            return ""
        number = str(self.text[int(self.line[cell])])
        return f"{Decimal(number):,} ({changed_by(int(table.value[cell]), table.scale, number)})"


def read_released(path: Path, table: Table, view: View) -> Released:
    """From the internal edition of a run, which names every position, with codes guarded against spreadsheets that would run them."""
    names = [guard(dimension.name) for dimension in view.dimensions]
    kinds = {name: pa.string() for name in (*names, "adjusted")}
    how = pa_csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, strings_can_be_null=False)
    lines = pa_csv.read_csv(path, convert_options=how)
    spots = [
        pc.index_in(lines[name], value_set=pa.array([guard(code) for code in each.codes])).to_numpy(zero_copy_only=False)
        for name, each in zip(names, view.dimensions, strict=True)
    ]
    cells = cells_at(view, np.stack(spots, axis=1).astype(np.int64))
    line = np.full(table.size, -1, dtype=np.int64)
    line[cells[cells >= 0]] = np.flatnonzero(cells >= 0)
    return Released(lines["adjusted"].combine_chunks(), line)


def changed_by(value: int, scale: int, released: str) -> str:
    """The change of a cell in percent of its original, signed."""
    original = Decimal(value).scaleb(-scale)
    change = Decimal(released) - original
    return f"{float(100 * change / abs(original)):+.2f}%" if original else f"{float(change):+.3g}" if change else "+0.00%"
