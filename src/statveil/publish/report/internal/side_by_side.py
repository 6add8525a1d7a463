"""Two releases of the same table on one page: what each costs, and the cells in which they differ. Confidential: it shows originals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from statveil.core.errors import InputError
from statveil.publish.formats.files import write_bytes
from statveil.publish.formats.numbers import grouped, percent
from statveil.publish.report.changes import CellChanges, MeasuredRelease, cell_words, measure, relative_words, signed, status_groups
from statveil.publish.report.page import asset, render
from statveil.publish.report.utility_tables import statistics_row
from statveil.publish.utility import cell_subsets, utility_of
from statveil.tables.table import Table
from statveil.version import VERSION


class NamedRelease(MeasuredRelease, Protocol):
    @property
    def name(self) -> str: ...


class SideBySideTuning(NamedTuple):
    cells: int = 500
    """Cells listed, the largest differences first: by judgement."""


TUNING = SideBySideTuning()


def write_side_by_side(one: NamedRelease, other: NamedRelease, path: Path) -> Path:
    return write_bytes(path, side_by_side_html(one, other).encode())


def side_by_side_html(one: NamedRelease, other: NamedRelease) -> str:
    """Both must be releases of the same records in the same table."""
    if not _same_table(one.table, other.table):
        raise InputError("The two folders are not releases of the same table.", hint="Records, dimensions and measure must be the same.")
    first, second = measure(one), measure(other)
    cells, differ = _cells(one, first, second)
    names = [one.name, other.name] if one.name != other.name else [f"{one.name} (first)", f"{other.name} (second)"]
    return render(
        "side_by_side.html",
        {
            "title": " and ".join(names),
            "axes": [(view.name, " × ".join(dimension.name for dimension in view.dimensions)) for view in one.table.views],
            "software": f"statveil {VERSION}",
            "release_hash": "",
            "css": asset("templates/report.css"),
            "script": "",
            "page_data": "{}",
            "names": names,
            "all": first.original.size,
            "differ": differ,
            "changes": [row for changes, name in zip((first, second), names, strict=True) for row in _changes(changes, name)],
            "statistics": _statistics(first, second, names),
            "columns": cell_words(one.table.views, np.zeros(0, dtype=np.int64), first.original.size)[0],
            "cells": cells,
        },
    )


def _same_table(one: Table, other: Table) -> bool:
    if len(one.views) != len(other.views) or one.value.shape != other.value.shape or one.scale != other.scale:
        return False
    axes = [[(axis.name, tuple(axis.codes)) for view in table.views for axis in view.dimensions] for table in (one, other)]
    pairs = zip(one.views, other.views, strict=True)
    same = all(np.array_equal(a.coordinates, b.coordinates) and np.array_equal(a.cell, b.cell) for a, b in pairs)
    return axes[0] == axes[1] and same and bool((one.value == other.value).all())


def _changes(changes: CellChanges, name: str) -> list[tuple[str, ...]]:
    """Cells and change by status."""
    rows = []
    for words, members in status_groups(changes):
        relative = changes.relative[members & np.isfinite(changes.relative)]
        total = grouped(int(np.abs(changes.change[members]).astype(object).sum()), changes.decimals)
        spread = [percent(float(np.quantile(relative, q))) if relative.size else "" for q in (0.5, 0.9, 1.0)]
        rows.append((f"{name}: {words}", f"{int(members.sum()):,}", total, *spread))
    return rows


def _statistics(first: CellChanges, second: CellChanges, names: list[str]) -> list[list[str]]:
    """Statistics of the same sets of cells, a row for each release."""
    rows = []
    for subset in cell_subsets(first):
        for changes, name in zip((first, second), names, strict=True):
            rows.append([f"{subset.name}: {name}", *statistics_row(utility_of(changes, subset))[1:]])
    return rows


def _cells(one: NamedRelease, first: CellChanges, second: CellChanges) -> tuple[list[list[Any]], int]:
    """The cells that differ, in the finer of both units, and how many there are."""
    decimals = max(first.decimals, second.decimals)
    original, *released = (
        values * 10 ** (decimals - each.decimals)
        for values, each in ((first.original, first), (first.original + first.change, first), (second.original + second.change, second))
    )
    apart = released[1] - released[0]
    order = np.argsort(-np.abs(apart), kind="stable")[: min(TUNING.cells, int((apart != 0).sum()))]
    _, words = cell_words(one.table.views, order, original.size)
    rows = [
        [
            *labels,
            *(grouped(int(each[cell]), decimals) for each in (original, *released)),
            signed(int(apart[cell]), decimals),
            *(relative_words(float(each.relative[cell])) for each in (first, second)),
            "sensitive" if first.sensitive[cell] or second.sensitive[cell] else "",
        ]
        for cell, labels in zip(order.tolist(), words, strict=True)
    ]
    return rows, int((apart != 0).sum())
