"""Sets of cells: unions that one holding dominates although no table shows them.

Cells that are safe one by one may not be so together: a holding that is alone in two cells can be moved up in one and down in
the other by the same amount, and what it has in both is then published as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import InputError, RuleError
from statveil.data.microdata import Microdata
from statveil.risk.assess import assess
from statveil.risk.rules.all import Rule, contributions_needed
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.levels import Grid
from statveil.tables.linked import CellSet, Equation
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table, View
from statveil.tables.tabulate.tabulate import tabulate


@dataclass(frozen=True, kw_only=True)
class Links:
    """What links tables beyond the cells they share.

    equations: between measures. sets: cells to be judged as one. search_sets: look for such sets, see `find_sets`.
    """

    equations: Sequence[Equation] = ()
    sets: Sequence[CellSet] = ()
    search_sets: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.search_sets, bool):
            raise InputError("search_sets must be True or False.", hint="Sets that are known are given as sets=[CellSet(...)].")


def judge(
    data: Microdata, specs: Sequence[TableSpec], rules: Sequence[Rule], links: Links, *, tell: Callable[[str], None] = lambda _: None
) -> tuple[Table, Sensitivity]:
    """The tables that the records add up to, and what is sensitive in them; sets of cells that are safe are left out."""
    tell("tabulating")
    sets, top = list(links.sets), max(1, contributions_needed(rules))
    if links.search_sets:
        sets += [found for found in find_sets(data, specs, rules) if found not in sets]
    table = tabulate(data, specs, top=top, equations=links.equations, sets=sets)
    tell("assessing")
    sensitivity = assess(table, rules)
    if table.unions:
        table = _with_unions(table, [place for place, union in enumerate(table.unions) if sensitivity.sensitive[union.cell]])
        sensitivity = assess(table, rules)
    return table, sensitivity


def find_sets(data: Microdata, specs: Sequence[TableSpec], rules: Sequence[Rule]) -> list[CellSet]:
    """Sets that the rules call unsafe: parts of one total that are sensitive and have the same largest holding."""
    if any(spec.holding is None for spec in specs):
        raise RuleError(
            "Sets of cells are searched for by the holding that is the largest in each, and no holding is given.",
            hint="Give the tables a holding column, or name the sets.",
        )
    top = max(1, contributions_needed(rules))
    table = tabulate(data, specs, top=top, leaders=True)
    sets = candidate_sets(table, assess(table, rules))
    judged = tabulate(data, specs, top=top, sets=sets)
    sensitive = assess(judged, rules).sensitive
    unsafe: dict[int, CellSet] = {}
    for each, union in zip(sets, judged.unions, strict=True):  # both by view, and within it in the order of the table
        if sensitive[union.cell] and union.cell >= judged.shown:
            unsafe.setdefault(union.cell, each)
    return list(unsafe.values())


def candidate_sets(table: Table, sensitivity: Sensitivity) -> list[CellSet]:
    """Two or more sensitive parts of one total that share a leader, for every total, in the order of the table."""
    leaders = np.zeros((0, 2), dtype=np.int64) if table.leaders is None else table.leaders
    leaders = leaders[sensitivity.sensitive[leaders[:, 0]]]
    found = [(view, rows) for view in table.views for rows in dict.fromkeys(_shared(view, leaders))]
    return [CellSet(view=view.name, cells=[_labels(view, row) for row in rows]) for view, rows in found]


def _shared(view: View, leaders: IntArray) -> Iterator[tuple[int, ...]]:
    """Rows of the view's positions that have the same total and the same leader, one tuple per set."""
    grid = Grid(dimensions=view.dimensions)
    keys = grid.keys(view.coordinates)
    first, last = (np.searchsorted(leaders[:, 0], view.cell, side=side) for side in ("left", "right"))
    for axis, dimension in enumerate(view.dimensions):
        codes = view.coordinates[:, axis]
        for tree in range(len(dimension.trees)):
            above = dimension.parents(tree)[codes]
            groups: dict[tuple[int, int], list[int]] = {}
            for row in np.flatnonzero((above >= 0) & (last > first)).tolist():
                total = int(keys[row] + grid.strides[axis] * (above[row] - codes[row]))
                for holding in leaders[first[row] : last[row], 1].tolist():
                    groups.setdefault((total, holding), []).append(row)
            yield from sorted({tuple(rows) for rows in groups.values() if len(rows) > 1})


def _labels(view: View, row: int) -> dict[str, str]:
    return {dimension.name: dimension.codes[code] for dimension, code in zip(view.dimensions, view.coordinates[row], strict=True)}


def _with_unions(table: Table, kept: Sequence[int]) -> Table:
    """The table with these of its sets of cells only."""
    unions = [table.unions[place] for place in kept]
    cells = np.array([*range(table.shown), *sorted({union.cell for union in unions if union.cell >= table.shown})], dtype=np.int64)
    arrays: dict[str, Any] = {
        field.name: frozen_array(value[cells])
        for field in fields(table)
        if field.name != "leaders" and isinstance(value := getattr(table, field.name), np.ndarray)
    }
    renumbered = [replace(union, cell=int(np.searchsorted(cells, union.cell))) for union in unions]
    return replace(table, **arrays, unions=tuple(renumbered))
