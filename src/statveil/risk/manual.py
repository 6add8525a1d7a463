"""What the office decides itself, cell by cell: a-priori statuses, levels, costs and bounds, and waivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from statveil.arrays import IntArray
from statveil.risk.exact import Level, Number, both_ways, ceil_amount
from statveil.risk.finding import Finding, percent_of_value
from statveil.risk.labels import find_cell
from statveil.risk.manual_cell import ManualCell
from statveil.risk.manual_csv import read_cells
from statveil.table.table import Table


@dataclass(frozen=True)
class Manual:
    """An a-priori list. `level` (percent of |value|) serves the sensitive cells for which no level is given."""

    cells: Sequence[ManualCell]
    level: Level = field(default=20, kw_only=True)

    def __post_init__(self) -> None:
        both_ways("Manual: level", self.level)

    @property
    def words(self) -> str:
        return "manual status"

    @classmethod
    def from_csv(cls, path: str | Path, *, level: Level = 20) -> Manual:
        """A file with a column per dimension (empty: the total) and any of status, lower, upper, level, cost, minimum, maximum, view."""
        return cls(read_cells(Path(path)), level=level)

    def find(self, table: Table) -> Finding:
        """The cells declared sensitive. It asks nothing about respondents, so that it serves ready tables too."""
        declared = [said for said in self.cells if said.status == "sensitive"]
        cells = np.array([find_cell(table, said.cell, said.view) for said in declared], dtype=np.int64)
        by_percent = [percent_of_value(table, cells[[i]], said.level or self.level) for i, said in enumerate(declared)]
        return Finding(
            cells=cells,
            lower=_levels(table, [said.lower for said in declared], [found.lower for found in by_percent]),
            upper=_levels(table, [said.upper for said in declared], [found.upper for found in by_percent]),
        )


def _levels(table: Table, amounts: Sequence[Number | None], by_percent: Sequence[IntArray]) -> IntArray:
    """The amount where one was given, else the percentage."""
    pairs = zip(amounts, by_percent, strict=True)
    return np.array([percent[0] if amount is None else ceil_amount(amount, table.scale) for amount, percent in pairs], dtype=np.int64)


@dataclass(frozen=True)
class Waiver:
    """Cells ({dimension: code}) whose respondents have all permitted publication: no rule makes them sensitive."""

    cells: Sequence[Mapping[str, str]]
    view: str | None = field(default=None, kw_only=True)

    @property
    def words(self) -> str:
        return "waiver"
