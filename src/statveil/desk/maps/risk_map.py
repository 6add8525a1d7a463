"""The risk map: two dimensions of a table as opened and closed trees, the others held at a code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.publish.formats.numbers import grouped
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.positions import Grid
from statveil.tables.spec import Dimension
from statveil.tables.table import Table, View


class MapTuning(NamedTuple):
    """What is in a page at once: 2,500 cells are drawn in a fifth of a second. By judgement."""

    rows: int = 100
    columns: int = 25


TUNING = MapTuning()


class MapHeading(NamedTuple):
    code: str
    label: str
    depth: int
    opens: bool
    is_open: bool
    below: int = 0
    """Sensitive cells in what is closed here, whatever their other codes."""


class MapCell(NamedTuple):
    """`status`: sensitive, frozen, safe or empty; its letter stands in the cell too, as colour is never alone. `rules`: the places of
    those that find it, counted from 1 as `rule_marks` does; the first one colours it."""

    cell: int
    value: str
    status: str
    why: str
    rules: tuple[int, ...] = ()
    after: str = ""
    """What a run released in its place, and by how much that differs."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What is looked at: row and column dimension, what is open on each, where the others stand, the first row and column shown."""

    rows: str
    columns: str
    open_rows: frozenset[str]
    open_columns: frozenset[str]
    at: Mapping[str, str]
    first_row: int = 0
    first_column: int = 0


class RiskMap(NamedTuple):
    rows: list[MapHeading]
    columns: list[MapHeading]
    cells: list[list[MapCell]]
    all_rows: int
    all_columns: int


def risk_map(table: Table, found: Sensitivity, view: View, place: Place, *, after: Callable[[int], str] | None = None) -> RiskMap:
    """What shows at this place; `after` tells what was released in place of a cell."""
    dimensions = {dimension.name: dimension for dimension in view.dimensions}
    rows = headings(dimensions[place.rows], place.open_rows)
    alone = place.columns == place.rows
    columns = [MapHeading("", "all", 0, False, False)] if alone else headings(dimensions[place.columns], place.open_columns)
    shown_rows = _with_below(rows[place.first_row : place.first_row + TUNING.rows], view, place.rows, found)
    shown_columns = columns[place.first_column : place.first_column + TUNING.columns]
    if not alone:
        shown_columns = _with_below(shown_columns, view, place.columns, found)
    cells = _cells(view, place, [each.code for each in shown_rows], [each.code for each in shown_columns])
    shown = [[_shown(table, found, cell) for cell in line] for line in cells.tolist()]
    if after is not None:
        shown = [[each._replace(after=after(each.cell)) if each.cell >= 0 else each for each in line] for line in shown]
    return RiskMap(shown_rows, shown_columns, shown, len(rows), len(columns))


def headings(dimension: Dimension, opened: Collection[str], *, most: int | None = None) -> list[MapHeading]:
    """The codes that show where these branches are open, depth first; no more than `most`."""
    labels = {code: label for tree in dimension.trees for code, label in tree.labels.items()}
    found: list[MapHeading] = []
    waiting = [(dimension.total, 0)]
    while waiting and (most is None or len(found) < most):
        code, depth = waiting.pop()
        below = dimension.children.get(code, ())
        found.append(MapHeading(code, labels.get(code, code), depth, bool(below), code in opened))
        if code in opened:
            waiting.extend((child, depth + 1) for child in reversed(below))
    return found


def _with_below(shown: Sequence[MapHeading], view: View, name: str, found: Sensitivity) -> list[MapHeading]:
    """The headings with what is hidden behind each that is closed; a cell that stands at several places is counted once."""
    axis = [dimension.name for dimension in view.dimensions].index(name)
    dimension, sensitive = view.dimensions[axis], found.sensitive[view.cell]
    codes, cells = view.coordinates[sensitive, axis], view.cell[sensitive]

    def below(code: str) -> int:
        hidden = [dimension.position[each] for each in _descendants(dimension, code)]
        return int(np.unique(cells[np.isin(codes, hidden)]).size)

    return [each._replace(below=below(each.code)) if each.opens and not each.is_open else each for each in shown]


def _descendants(dimension: Dimension, code: str) -> set[str]:
    found, waiting = set[str](), [code]
    while waiting:
        fresh = set(dimension.children.get(waiting.pop(), ())) - found
        found |= fresh
        waiting.extend(fresh)
    return found


def _cells(view: View, place: Place, rows: Sequence[str], columns: Sequence[str]) -> IntArray:
    """The number of the cell at each position shown; -1 where it is empty."""
    wanted = np.zeros((len(rows), len(columns), len(view.dimensions)), dtype=np.int64)
    for axis, dimension in enumerate(view.dimensions):
        if dimension.name == place.rows:
            wanted[:, :, axis] = np.array([dimension.position[code] for code in rows])[:, None]
        elif dimension.name == place.columns:
            wanted[:, :, axis] = np.array([dimension.position[code] for code in columns])[None, :]
        else:
            wanted[:, :, axis] = dimension.position.get(place.at.get(dimension.name, dimension.total), 0)
    return cells_at(view, wanted.reshape(-1, len(view.dimensions))).reshape(len(rows), len(columns))


def cells_at(view: View, coordinates: IntArray) -> IntArray:
    """The number of the cell at each of these positions; -1 where it is empty."""
    grid = Grid(dimensions=view.dimensions)
    keys, asked = grid.keys(view.coordinates), grid.keys(coordinates)
    spot = np.minimum(np.searchsorted(keys, asked), max(keys.size - 1, 0))
    return np.asarray(np.where(keys[spot] == asked, view.cell[spot], -1) if keys.size else np.full(asked.shape, -1))


def _shown(table: Table, found: Sensitivity, cell: int) -> MapCell:
    if cell < 0:
        return MapCell(-1, "", "empty", "no record")
    value = grouped(int(table.value[cell]), table.scale)
    if found.sensitive[cell]:
        reasons = found.reasons_of(cell)
        return MapCell(cell, value, "sensitive", "; ".join(reasons), tuple(rule_marks(found)[words] for words in reasons))
    return MapCell(cell, value, "frozen" if found.frozen[cell] else "safe", "")


def rule_marks(found: Sensitivity) -> dict[str, int]:
    """A number for each reason why a cell is sensitive: the first is 1."""
    return {words: place for place, words in enumerate(found.reasons, 1)}


def labels_of(view: View, cell: int) -> dict[str, str]:
    """The codes at which a cell stands first."""
    row = int(np.flatnonzero(view.cell == cell)[0])
    return {each.name: each.codes[code] for each, code in zip(view.dimensions, view.coordinates[row], strict=True)}


def place_of(view: View, cell: int, place: Place) -> Place:
    """The same map where this cell shows: the branches that lead to it open, the other dimensions at its codes."""
    codes, dimensions = labels_of(view, cell), {dimension.name: dimension for dimension in view.dimensions}
    rows, columns = dimensions[place.rows], dimensions[place.columns]
    open_rows, open_columns = place.open_rows | _above(rows, codes[rows.name]), place.open_columns | _above(columns, codes[columns.name])
    return replace(
        place,
        open_rows=open_rows,
        open_columns=open_columns,
        at={name: code for name, code in codes.items() if name not in (place.rows, place.columns)},
        first_row=_page_of(rows, open_rows, codes[rows.name], TUNING.rows),
        first_column=0 if columns is rows else _page_of(columns, open_columns, codes[columns.name], TUNING.columns),
    )


def _above(dimension: Dimension, code: str) -> set[str]:
    """All that a code is part of, in every tree."""
    found, waiting = set[str](), [code]
    while waiting:
        child = waiting.pop()
        fresh = {tree.parent[child] for tree in dimension.trees if child in tree.parent} - found
        found |= fresh
        waiting.extend(fresh)
    return found


def _page_of(dimension: Dimension, opened: Collection[str], code: str, size: int) -> int:
    codes = [each.code for each in headings(dimension, opened)]
    return codes.index(code) // size * size
