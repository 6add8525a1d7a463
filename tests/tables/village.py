"""A village small enough to add up by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

TOWNS = Hierarchy.from_dict({"Flevoland": ["Urk", "Almere"], "Gelderland": ["Ede"]})
TRADES = Hierarchy.flat(["vet", "baker"])
VILLAGE = {
    "town": ["Urk", "Urk", "Almere", "Almere", "Ede"],
    "trade": ["vet", "baker", "baker", "baker", "baker"],
    "turnover": ["10.50", "20", "-5.25", "5.25", "7"],
    "weight": ["1", "1.5", "2", "1", "1"],
    "owner": ["Jansen", "Bakker", "Bakker", "Visser", "Visser"],
    "waived": ["no", "Yes", "no", "TRUE", "1"],
}


def build(columns: dict[str, Any] | None = None, **spec: Any) -> Table:
    spec = {"dimensions": {"town": TOWNS, "trade": TRADES}, "measure": "turnover"} | spec
    return tabulate(read_microdata(pa.table(columns or VILLAGE)), TableSpec(**spec))


def cell(table: Table, *codes: str, view: int = 0) -> int:
    seen = table.views[view]
    wanted = [axis.position[code] for axis, code in zip(seen.dimensions, codes, strict=True)]
    return int(seen.cell[np.flatnonzero((seen.coordinates == wanted).all(axis=1))[0]])
