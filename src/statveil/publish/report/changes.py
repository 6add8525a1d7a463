"""What the adjustment did to the cells, measured: confidential, for the internal report only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.frames import TableWithRelease, common_units, reasons_by_cell
from statveil.publish.formats.numbers import grouped, percent
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.shown.frames import labels_of
from statveil.tables.spec import Dimension
from statveil.tables.table import View


class ReportTuning(NamedTuple):
    """How much a report shows, so that one file stays small enough to open. All by judgement."""

    rows: int = 2_000
    """Cells in the table of before and after."""
    repairs: int = 200
    """Repairs listed; the file has them all."""
    parameters: int = 200_000
    """Characters of the parameters; the provenance file has them all."""
    level_groups: int = 6
    """Groups of levels; deeper trees share them."""
    codes: int = 100
    """Codes of a dimension in the shown part of a table."""
    positions: int = 60_000
    """Positions in the shown part of a table."""
    columns: int = 16
    """Codes of a dimension that is laid out in columns."""
    subsets: int = 20
    """Rows of a table whose statistics changed most."""
    points: int = 800
    """Points of each group in a chart; spread over the sizes of the cells."""


TUNING = ReportTuning()


def before_and_after(release: AuditedTable, changes: CellChanges, intervals: Mapping[int, str]) -> dict[str, Any]:
    """Sensitive cells first, then the largest relative changes; cells that did not change are left out."""
    shown = np.flatnonzero(changes.sensitive | changes.changed)
    relative = np.nan_to_num(changes.relative[shown], nan=np.inf)
    order = shown[np.lexsort((-relative, ~changes.sensitive[shown]))]
    cells = order[: TUNING.rows]
    names, words = cell_words(release.table.views, cells, changes.original.size)
    return {"columns": names, "rows": _rows(release, changes, cells, words, intervals), "all": int(order.size), "most": TUNING.rows}


def _rows(
    release: AuditedTable, changes: CellChanges, cells: IntArray, words: list[list[str]], intervals: Mapping[int, str]
) -> list[list[str]]:
    reasons, reason = reasons_by_cell(release.sensitivity)
    released, decimals = release.protected.value, release.protected.decimals
    return [
        [
            *labels,
            grouped(int(changes.original[cell]), changes.decimals),
            grouped(int(released[cell]), decimals),
            signed(int(changes.change[cell]), changes.decimals),
            relative_words(float(changes.relative[cell])),
            "sensitive" if changes.sensitive[cell] else "adjusted",
            _level_words(release, int(cell)),
            reasons[reason[cell]].replace(" = ", "\u00a0=\u00a0"),
            intervals.get(cell, ""),
        ]
        for cell, labels in zip(cells.tolist(), words, strict=True)
    ]


def signed(units: int, decimals: int) -> str:
    return ("+" if units > 0 else "") + grouped(units, decimals)


def _level_words(release: AuditedTable, cell: int) -> str:
    """How far the cell had to move, down or up."""
    sensitivity, scale = release.sensitivity, release.table.scale
    if not sensitivity.sensitive[cell]:
        return ""
    return f"-{grouped(int(sensitivity.lower_level[cell]), scale)} / +{grouped(int(sensitivity.upper_level[cell]), scale)}"


def cell_words(views: tuple[View, ...], cells: IntArray, size: int) -> tuple[list[str], list[list[str]]]:
    """Labels of each cell at the first position where it stands; with several views, the view's name and the labels in one."""
    view_of, row_of = _first_positions(views, size)
    labels = [[labels_of(dimension) for dimension in view.dimensions] for view in views]

    def words(cell: int) -> list[str]:
        number = int(view_of[cell])
        places = views[number].coordinates[row_of[cell]].tolist()
        return [axis[place] for axis, place in zip(labels[number], places, strict=True)]

    if len(views) == 1:
        return [dimension.name for dimension in views[0].dimensions], [words(cell) for cell in cells.tolist()]
    return ["table", "cell"], [[views[int(view_of[cell])].name, " · ".join(words(cell))] for cell in cells.tolist()]


def _first_positions(views: tuple[View, ...], size: int) -> tuple[IntArray, IntArray]:
    view_of, row_of = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for number in range(len(views) - 1, -1, -1):
        cell = views[number].cell[::-1]
        view_of[cell] = number
        row_of[cell] = np.arange(cell.size)[::-1]
    return view_of, row_of


def by_level(changes: CellChanges) -> list[list[str]]:
    return [[name, *_spread(changes, members)] for name, members in level_groups(changes)]


def status_groups(changes: CellChanges) -> list[tuple[str, BoolArray]]:
    return [
        ("sensitive", changes.sensitive),
        ("adjusted to keep totals", ~changes.sensitive & changes.changed),
        ("unchanged", ~changes.sensitive & ~changes.changed),
    ]


def by_status(changes: CellChanges) -> list[list[str]]:
    return [
        [name, count(members), _sum_of_changes(changes, members), *_quantiles(changes, members)] for name, members in status_groups(changes)
    ]


def by_reason(release: AuditedTable) -> list[list[str]]:
    return [[words, count(found)] for words, found in release.sensitivity.reasons.items() if found.any()]


def count(members: BoolArray) -> str:
    return f"{int(members.sum()):,}"


def total_change(changes: CellChanges, members: BoolArray) -> int:
    return int(np.abs(changes.change[members]).astype(object).sum())


def _sum_of_changes(changes: CellChanges, members: BoolArray) -> str:
    return grouped(total_change(changes, members), changes.decimals)


def _spread(changes: CellChanges, members: BoolArray) -> list[str]:
    counts = (members, members & changes.sensitive, members & changes.changed)
    return [*(count(each) for each in counts), *_quantiles(changes, members)]


def _quantiles(changes: CellChanges, members: BoolArray) -> list[str]:
    relative = changes.relative[members & np.isfinite(changes.relative)]
    return [percent(float(np.quantile(relative, q))) for q in (0.5, 0.9, 1.0)] if relative.size else ["", "", ""]


def relative_words(relative: float) -> str:
    return percent(relative) if np.isfinite(relative) else "from zero"


@dataclass(frozen=True, kw_only=True)
class CellChanges:
    """Per cell, in units of 10**-decimals. `relative` is |change| / |original|, NaN where the original is zero.

    A cell is `changed` when it moved by a published unit or more; less than that is rounding.
    """

    original: IntArray
    change: IntArray
    decimals: int
    relative: FloatArray
    changed: BoolArray
    sensitive: BoolArray
    level: IntArray
    """Steps below the grand total, over all dimensions."""


class MeasuredRelease(TableWithRelease, Protocol):
    @property
    def sensitivity(self) -> Sensitivity: ...


def measure(release: MeasuredRelease) -> CellChanges:
    original, released, decimals = common_units(release)
    original, released = original[: release.table.shown], released[: release.table.shown]  # sums of sets of cells are not published
    change = released - original
    size = np.abs(original).astype(np.float64)
    relative = np.divide(np.abs(change), size, out=np.full(size.size, np.nan), where=size > 0)
    unit = 10 ** (decimals - release.protected.decimals)
    return CellChanges(
        original=original,
        change=change,
        decimals=decimals,
        relative=relative,
        changed=np.greater_equal(np.abs(change), unit),
        sensitive=release.sensitivity.sensitive[: release.table.shown],
        level=_levels(release.table.views, original.size),
    )


def depths(dimension: Dimension) -> IntArray:
    """Depth of each code below the total, in the first tree that has it."""
    found = [next(tree.depth[code] for tree in dimension.trees if code in tree.depth) for code in dimension.codes]
    return np.array(found, dtype=np.int64)


def _levels(views: tuple[View, ...], size: int) -> IntArray:
    level = np.full(size, np.iinfo(np.int64).max)
    for view in views:
        steps = sum((depths(dimension)[view.coordinates[:, axis]] for axis, dimension in enumerate(view.dimensions)), start=np.int64(0))
        np.minimum.at(level, view.cell, steps)
    return level


def level_groups(changes: CellChanges) -> list[tuple[str, BoolArray]]:
    """At most six groups of neighbouring levels with their names, from the grand total down."""
    present = np.unique(changes.level)
    groups = np.array_split(present, min(TUNING.level_groups, max(present.size, 1)))
    return [(_level_name(group, present), np.isin(changes.level, group)) for group in groups if group.size]


def _level_name(group: IntArray, present: IntArray) -> str:
    first, last = int(group[0]), int(group[-1])
    words = f"level {first}" if first == last else f"levels {first} to {last}"
    if last == 0:
        return f"{words} (grand total)"
    return f"{words} (finest)" if last == present[-1] else words


def ecdf(relative: FloatArray, *, points: int, floor: float) -> list[tuple[float, float]]:
    """At most so many (x, share of cells at or below x), x in percent and not below the floor."""
    ordered = np.maximum(np.sort(relative[np.isfinite(relative)]) * 100, floor)
    if not ordered.size:
        return []
    ranks = np.unique(np.linspace(0, ordered.size - 1, min(points, ordered.size)).round().astype(np.int64))
    xs = np.unique(ordered[ranks])
    return [(float(x), float(share)) for x, share in zip(xs, np.searchsorted(ordered, xs, side="right") / ordered.size, strict=True)]
