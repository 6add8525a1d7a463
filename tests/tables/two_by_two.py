"""A table of two rows and two columns, to be added up by hand."""

from __future__ import annotations

from typing import Any

from statveil.data.hierarchy import Hierarchy
from statveil.tables.from_cells import table_from_cells

ROWS = Hierarchy.flat(["a", "b"])
COLUMNS = Hierarchy.flat(["x", "y"])
INNER = {("a", "x"): 1, ("a", "y"): 2, ("b", "x"): 3, ("b", "y"): 4}


def two_by_two(cells: dict[tuple[str, ...], Any], **options: Any) -> Any:
    return table_from_cells({"row": ROWS, "column": COLUMNS}, cells, **options)
