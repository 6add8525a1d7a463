"""Rows of the internal report's tables: before and after, by status, by level, by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.publish.formats.frames import labels_of, reasons_by_cell
from statveil.publish.formats.numbers import grouped, percent
from statveil.publish.report.changes import Changes, level_groups
from statveil.tables.table import View

if TYPE_CHECKING:
    from statveil.publish.release import Release

MOST_ROWS = 2_000


def before_and_after(release: Release, changes: Changes) -> dict[str, Any]:
    """Sensitive cells first, then the largest relative changes; cells that did not change are left out."""
    shown = np.flatnonzero(changes.sensitive | changes.changed)
    relative = np.nan_to_num(changes.relative[shown], nan=np.inf)
    order = shown[np.lexsort((-relative, ~changes.sensitive[shown]))]
    cells = order[:MOST_ROWS]
    names, words = cell_words(release.table.views, cells, changes.original.size)
    return {"columns": names, "rows": _rows(release, changes, cells, words), "all": int(order.size), "most": MOST_ROWS}


def _rows(release: Release, changes: Changes, cells: IntArray, words: list[list[str]]) -> list[list[str]]:
    reasons, reason = reasons_by_cell(release.sensitivity)
    released, decimals = release.protected.value, release.protected.decimals
    return [
        [
            *labels,
            grouped(int(changes.original[cell]), changes.decimals),
            grouped(int(released[cell]), decimals),
            _signed(int(changes.change[cell]), changes.decimals),
            _share(float(changes.relative[cell])),
            "sensitive" if changes.sensitive[cell] else "adjusted",
            _levels(release, int(cell)),
            reasons[reason[cell]],
        ]
        for cell, labels in zip(cells.tolist(), words, strict=True)
    ]


def _signed(units: int, decimals: int) -> str:
    return ("+" if units > 0 else "") + grouped(units, decimals)


def _levels(release: Release, cell: int) -> str:
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


def by_level(changes: Changes) -> list[list[str]]:
    return [[name, *_spread(changes, members)] for name, members in level_groups(changes)]


def by_status(changes: Changes) -> list[list[str]]:
    groups = (
        ("sensitive", changes.sensitive),
        ("adjusted to keep totals", ~changes.sensitive & changes.changed),
        ("unchanged", ~changes.sensitive & ~changes.changed),
    )
    return [[name, count(members), _sum_of_changes(changes, members), *_quantiles(changes, members)] for name, members in groups]


def by_reason(release: Release) -> list[list[str]]:
    return [[words, count(found)] for words, found in release.sensitivity.reasons.items() if found.any()]


def count(members: BoolArray) -> str:
    return f"{int(members.sum()):,}"


def total_change(changes: Changes, members: BoolArray) -> int:
    return int(np.abs(changes.change[members]).astype(object).sum())


def _sum_of_changes(changes: Changes, members: BoolArray) -> str:
    return grouped(total_change(changes, members), changes.decimals)


def _spread(changes: Changes, members: BoolArray) -> list[str]:
    counts = (members, members & changes.sensitive, members & changes.changed)
    return [*(count(each) for each in counts), *_quantiles(changes, members)]


def _quantiles(changes: Changes, members: BoolArray) -> list[str]:
    relative = changes.relative[members & np.isfinite(changes.relative)]
    return [percent(float(np.quantile(relative, q))) for q in (0.5, 0.9, 1.0)] if relative.size else ["", "", ""]


def _share(relative: float) -> str:
    return percent(relative) if np.isfinite(relative) else "from zero"
