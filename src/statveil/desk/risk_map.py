"""The risk map: two dimensions of a table as opened and closed trees, the others held at a code; and the card of a cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.publish.formats.numbers import grouped, percent
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
    """`status`: sensitive, frozen, safe or empty; its letter stands in the cell too, as colour is never alone."""

    cell: int
    value: str
    status: str
    why: str


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


def risk_map(table: Table, found: Sensitivity, view: View, place: Place) -> RiskMap:
    dimensions = {dimension.name: dimension for dimension in view.dimensions}
    rows = headings(dimensions[place.rows], place.open_rows)
    alone = place.columns == place.rows
    columns = [MapHeading("", "all", 0, False, False)] if alone else headings(dimensions[place.columns], place.open_columns)
    shown_rows = _with_below(rows[place.first_row : place.first_row + TUNING.rows], view, place.rows, found)
    shown_columns = columns[place.first_column : place.first_column + TUNING.columns]
    if not alone:
        shown_columns = _with_below(shown_columns, view, place.columns, found)
    cells = _cells(view, place, [each.code for each in shown_rows], [each.code for each in shown_columns])
    return RiskMap(
        shown_rows, shown_columns, [[_shown(table, found, cell) for cell in line] for line in cells.tolist()], len(rows), len(columns)
    )


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


def _cells(view: View, place: Place, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """The number of the cell at each position shown; -1 where it is empty."""
    wanted = np.zeros((len(rows), len(columns), len(view.dimensions)), dtype=np.int64)
    for axis, dimension in enumerate(view.dimensions):
        if dimension.name == place.rows:
            wanted[:, :, axis] = np.array([dimension.position[code] for code in rows])[:, None]
        elif dimension.name == place.columns:
            wanted[:, :, axis] = np.array([dimension.position[code] for code in columns])[None, :]
        else:
            wanted[:, :, axis] = dimension.position.get(place.at.get(dimension.name, dimension.total), 0)
    grid = Grid(dimensions=view.dimensions)
    keys, asked = grid.keys(view.coordinates), grid.keys(wanted.reshape(-1, len(view.dimensions)))
    spot = np.minimum(np.searchsorted(keys, asked), max(keys.size - 1, 0))
    cells = np.where(keys[spot] == asked, view.cell[spot], -1) if keys.size else np.full(asked.shape, -1)
    return np.asarray(cells).reshape(len(rows), len(columns))


def _shown(table: Table, found: Sensitivity, cell: int) -> MapCell:
    if cell < 0:
        return MapCell(-1, "", "empty", "no record")
    value = grouped(int(table.value[cell]), table.scale)
    if found.sensitive[cell]:
        return MapCell(cell, value, "sensitive", "; ".join(found.reasons_of(cell)))
    return MapCell(cell, value, "frozen" if found.frozen[cell] else "safe", "")


def labels_of(view: View, cell: int) -> dict[str, str]:
    """The codes at which a cell stands first."""
    row = int(np.flatnonzero(view.cell == cell)[0])
    return {each.name: each.codes[code] for each, code in zip(view.dimensions, view.coordinates[row], strict=True)}


def card(table: Table, found: Sensitivity, view: View, cell: int) -> dict[str, str]:
    """All that is known of a cell, in words. Confidential."""
    magnitude = int(table.magnitude[cell])
    shares = [percent(int(each) / magnitude) for each in table.top[cell] if each > 0 and magnitude]
    sensitive = bool(found.sensitive[cell])
    levels = [grouped(int(level[cell]), table.scale) for level in (found.lower_level, found.upper_level)]
    return {
        **labels_of(view, cell),
        "value": grouped(int(table.value[cell]), table.scale),
        "records": f"{int(table.records[cell]):,}",
        "respondents": f"{int(table.respondents[cell]):,}",
        "shares of the largest": ", ".join(shares[:3]) or "none",
        "status": "sensitive" if sensitive else "frozen" if found.frozen[cell] else "safe",
        "why": "; ".join(found.reasons_of(cell)) or "no rule finds it",
        "must move by": f"{levels[0]} down or {levels[1]} up, at least" if sensitive else "nothing",
    }
