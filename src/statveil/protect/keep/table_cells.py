"""Sets of cells in the words of a table: rows and levels by the codes of its dimensions, and two-way layouts for measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.keep.tabu.measures import LAID_OUT, Measure, Shown, TwoWay
from statveil.protect.keep.wishes import NAMED, Cells, Keep, Where
from statveil.tables.spec import Dimension
from statveil.tables.table import Table, View

TABLE = "table"
"""The key that says which of several linked tables is meant."""


def keep_of(keep: Keep, table: Table, sensitive: BoolArray | None = None) -> Keep:
    """The same wishes with rows and levels as lists of cells, and each two-way measure laid out on the table.

    Statistics are those of cells that a reader sees: sums of sets of cells that no view shows are left out. Without `sensitive`
    the sensitive cells stay unresolved, as for tables whose sensitive cells differ; they must show all that is sensitive.
    """
    shown = np.ones(table.shown, dtype=np.bool_)
    seen = {"all": shown} if sensitive is None else {"all": shown, "sensitive": sensitive[: table.shown]}

    def resolve(where: Where) -> Where:
        if isinstance(where, Mapping):
            return cells_at(where, table)
        named = seen.get(where) if isinstance(where, str) else None
        return where if named is None else Cells(tuple(np.flatnonzero(named).tolist()), NAMED[str(where)])

    settled = keep.settled(resolve)
    measures = [_laid_out(each, table) if isinstance(each, Measure) and each.two_way else each for each in keep.measures]
    if table.shown < table.size:
        measures = [Measure(each.name, Shown(each.function, table.shown)) for each in measures if isinstance(each, Measure)]
    return dataclasses.replace(settled, measures=measures)


def cells_at(where: Mapping[str, Any], table: Table) -> Cells:
    """The cells of a row ({dimension: code}) or a level ({dimension: depth}); dimensions that are not named stand at their finest codes."""
    view = _view(where.get(TABLE), table)
    names = {dimension.name for dimension in view.dimensions}
    unknown = sorted(set(where) - names - {TABLE})
    if unknown:
        raise InputError(f"Keep: {unknown[0]!r} is no dimension of {view.name!r}.", hint=f"Known: {', '.join(sorted(names))}.")
    inside = np.ones(view.cell.size, dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        inside &= _chosen(dimension, where.get(dimension.name))[view.coordinates[:, axis]]
    words = ", ".join(f"{name} {choice if isinstance(choice, str) else f'level {choice}'}" for name, choice in where.items())
    return Cells(tuple(np.unique(view.cell[inside]).tolist()), f"the cells of {words}")


def _view(name: Any, table: Table) -> View:
    found = [view for view in table.views if name in (None, view.name)]
    if not found or (name is None and len(table.views) > 1):
        known = ", ".join(view.name for view in table.views)
        raise InputError("Keep: say which of the tables the cells are of.", hint=f'Give "{TABLE}": one of {known}.')
    return found[0]


def _chosen(dimension: Dimension, choice: Any) -> BoolArray:
    """Which codes of a dimension are meant: one by name, all of a depth by number, the finest where nothing is said."""
    depth = _depths(dimension)
    if choice is None:
        leaves = set(dimension.trees[0].leaves)
        return np.array([code in leaves for code in dimension.codes])
    if isinstance(choice, str):
        if choice not in dimension.position:
            raise InputError(f"Keep: {choice!r} is no code of {dimension.name!r}.")
        return np.asarray(np.arange(len(dimension.codes)) == dimension.position[choice])
    if isinstance(choice, bool) or not isinstance(choice, int | np.integer) or not (depth == choice).any():
        raise InputError(f"Keep: {dimension.name!r} has no level {choice!r}.", hint=f"Levels go from 0 (total) to {int(depth.max())}.")
    return np.asarray(depth == choice)


def _depths(dimension: Dimension) -> IntArray:
    """How deep below the total each code lies in the first tree that has it."""
    depth = np.full(len(dimension.codes), -1, dtype=np.int64)
    depth[dimension.position[dimension.total]] = 0
    for tree in range(len(dimension.trees)):
        parent = dimension.parents(tree)
        for _ in range(len(dimension.codes)):
            new = (depth < 0) & (parent >= 0) & (depth[parent] >= 0)
            if not new.any():
                break
            depth[new] = depth[parent[new]] + 1
    return depth


def _laid_out(measure: Measure, table: Table) -> Measure:
    """A measure of a two-way table on the finest codes of a table that is one."""
    view = table.views[0]
    if len(table.views) > 1 or len(view.dimensions) != 2:
        raise InputError(f"Keep: {measure.name} is of a table with two dimensions.", hint="Lay the cells out yourself: chi_square(layout).")
    rows, columns = (np.flatnonzero(_chosen(dimension, None)) for dimension in view.dimensions)
    layout = np.full((rows.size, columns.size), -1, dtype=np.int64)
    place = {(int(row), int(column)): int(cell) for (row, column), cell in zip(view.coordinates, view.cell, strict=True)}
    for r, row in enumerate(rows.tolist()):
        for c, column in enumerate(columns.tolist()):
            layout[r, c] = place.get((row, column), -1)
    return Measure(measure.name, TwoWay(LAID_OUT[measure.name], layout))
