"""The utility section of the internal report: statistics before and after in words and rows. Confidential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.statistics import QUANTILES, Statistics, largest_of, mean_of, quantiles_of, variance_of
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.numbers import grouped, percent
from statveil.publish.report.changes import TUNING, CellChanges, cell_words, depths
from statveil.publish.report.charts import GROUPS, OTHER_COLOUR, SENSITIVE_COLOUR, Spec, chart
from statveil.publish.utility import Kind, Subset, SubsetUtility
from statveil.tables.shown.frames import labels_of
from statveil.tables.shown.positions import public_positions
from statveil.tables.table import ProtectedTable, View


def released_statistics(protected: ProtectedTable) -> list[dict[str, Any]]:
    """For each view: rows of statistics by level, and the ten largest numbers of the finest level."""
    return [_of_view(protected, view) for view in protected.views]


def _of_view(protected: ProtectedTable, view: View) -> dict[str, Any]:
    positions = public_positions(view, protected.value)
    value = positions.pick(protected.value)
    shown = np.flatnonzero(value)
    value, coordinates = value[shown], positions.coordinates[shown]
    depth = [depths(dimension)[coordinates[:, axis]] for axis, dimension in enumerate(view.dimensions)]
    return {
        "name": view.name,
        "shares": [f"{share:.0%}" for share in QUANTILES],
        "rows": [_row(name, value[members], protected.decimals) for name, members in _levels(view, depth, shown.size)],
        "columns": [dimension.name for dimension in view.dimensions],
        "top": _top(view, coordinates, value, protected.decimals),
    }


def _levels(view: View, depth: list[IntArray], size: int) -> list[tuple[str, AnyArray]]:
    """All positions, then each level of each dimension, totals of the dimension first."""
    found: list[tuple[str, AnyArray]] = [("all numbers", np.ones(size, dtype=np.bool_))]
    for dimension, steps in zip(view.dimensions, depth, strict=True):
        deepest = int(depths(dimension).max())
        for level in range(deepest + 1):
            words = "its total" if level == 0 else f"level {level}{' (finest)' if level == deepest else ''}"
            found.append((f"{dimension.name}: {words}", steps == level))
    return [(name, members) for name, members in found if members.any()]


def _row(name: str, units: IntArray, decimals: int) -> list[str]:
    value = units / 10.0**decimals
    spread = variance_of(value) ** 0.5 if (units != units[0]).any() else 0.0
    return [
        name,
        f"{units.size:,}",
        *(amount(each) for each in (mean_of(value), spread, *quantiles_of(value))),
    ]


def _top(view: View, coordinates: IntArray, value: IntArray, decimals: int) -> list[list[str]]:
    """The ten largest released numbers at the finest level of every dimension."""
    finest = np.flatnonzero(np.logical_and.reduce([_is_leaf(view, axis, coordinates) for axis in range(len(view.dimensions))]))
    order = finest[largest_of(value[finest])]
    words = [labels_of(dimension) for dimension in view.dimensions]
    return [
        [*(words[axis][place] for axis, place in enumerate(coordinates[row])), grouped(int(value[row]), decimals)] for row in order.tolist()
    ]


def _is_leaf(view: View, axis: int, coordinates: IntArray) -> AnyArray:
    dimension = view.dimensions[axis]
    leaves = set(dimension.trees[0].leaves)
    return np.array([code in leaves for code in dimension.codes])[coordinates[:, axis]]


EDGE, ROOM = 8, 0.02
"""Pixels, and the share of a scale, between a point and the edge of its chart: one on the edge would be cut in half."""
APART: Spec = {"labelOverlap": "greedy", "labelSeparation": 3}
"""Labels of an axis that would lie on one another are left out."""
MEASURES = (
    ("correlation", "#222222", "circle"),
    ("slope", "#0072B2", "square"),
    ("variance ratio", "#D55E00", "diamond"),
    ("rank correlation", "#009E73", "triangle-up"),
)
"""Okabe and Ito's colours, and a shape each."""


def utility_charts(changes: CellChanges, found: Sequence[SubsetUtility]) -> dict[str, Spec]:
    """The charts that have something to show, by the name of their place in the report."""
    charts = {"measures": measures(found), "sizes": changes_by_size(changes)}
    return {name: spec for name, spec in charts.items() if spec["data"]["values"]}


def measures(found: Sequence[SubsetUtility]) -> Spec:
    """Correlation, slope, variance ratio and rank correlation of each set of cells: all are one where nothing changed."""
    shown = [each for each in found if each.subset.kind != "row"]
    values = [
        {"cells": each.subset.name, "measure": name, "value": round(value, 6)}
        for each in shown
        for (name, _, _), value in zip(MEASURES, (each.correlation, each.slope, each.variance_ratio, each.rank_correlation), strict=True)
        if value is not None
    ]
    domain = [name for name, _, _ in MEASURES]
    names = list(dict.fromkeys(row["cells"] for row in values))
    encoding = {
        "y": {"field": "cells", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 260, "grid": True}},
        "x": {"field": "value", "type": "quantitative", "scale": {"zero": False, "padding": EDGE}, "title": "one: nothing changed",
              "axis": {"tickCount": 7}},
        "color": {"field": "measure", "type": "nominal", "sort": domain, "legend": {"columns": 2},
                  "scale": {"domain": domain, "range": [colour for _, colour, _ in MEASURES]}},
        "shape": {"field": "measure", "type": "nominal", "sort": domain, "legend": {"columns": 2},
                  "scale": {"domain": domain, "range": [shape for _, _, shape in MEASURES]}},
        "tooltip": [{"field": "cells"}, {"field": "measure"}, {"field": "value", "format": ".5f"}],
    }  # fmt: skip
    return chart(values, {"type": "point", "filled": True, "size": 70, "opacity": 0.85}, encoding, height=60 + 22 * len(names))


def changes_by_size(changes: CellChanges) -> Spec:
    """Relative change of single cells against their size, both on scales that take any sign."""
    measured = np.isfinite(changes.relative)
    values = [
        row
        for group, members in zip(GROUPS, (changes.sensitive, ~changes.sensitive), strict=True)
        for row in _points(changes, group, _spread_out(changes, members & measured))
    ]
    encoding = {
        "x": {"field": "size", "type": "quantitative", "scale": _signed_scale(values, "size", 10.0),
              "title": "original value (logarithmic)",
              "axis": APART | {"values": _powers(values, "size"), "labelExpr": "format(datum.value, '~s')"}},
        "y": {"field": "percent", "type": "quantitative", "scale": _signed_scale(values, "percent", 0.1),
              "title": "change, % of the original",
              "axis": APART | {"values": _powers(values, "percent"), "labelExpr": "datum.value"}},
        "color": {"field": "group", "type": "nominal", "scale": {"domain": list(GROUPS), "range": [SENSITIVE_COLOUR, OTHER_COLOUR]}},
        "tooltip": [{"field": "group"}, {"field": "size", "format": ",", "title": "original"}, {"field": "percent", "format": "+.3~g"}],
    }  # fmt: skip
    return chart(values, {"type": "point", "filled": True, "size": 16, "opacity": 0.6}, encoding, height=300)


def _signed_scale(values: Sequence[Spec], field: str, constant: float) -> Spec:
    """A logarithmic scale for numbers of either sign, with room at both ends for half a point: Vega's own padding is wrong on it."""
    reached = [0.0, *(row[field] for row in values)]
    low, high = (math.copysign(math.log1p(abs(end) / constant), end) for end in (min(reached), max(reached)))
    room = ROOM * max(high - low, 1.0)
    domain = [math.copysign(constant * math.expm1(abs(end)), end) for end in (low - room, high + room)]
    return {"type": "symlog", "constant": constant, "domain": domain, "nice": False}


def _powers(values: Sequence[Spec], field: str) -> list[float]:
    """Zero and the powers of ten, of either sign, that such a field reaches."""
    reached = max((abs(row[field]) for row in values), default=1.0)
    powers = [10.0**power for power in range(-1 if field == "percent" else 1, 17) if 10.0**power <= max(reached, 1.0)]
    return [*(-power for power in reversed(powers)), 0.0, *powers]


def _spread_out(changes: CellChanges, members: BoolArray) -> IntArray:
    """At most so many of the cells, evenly over their order by size."""
    cells = np.flatnonzero(members)
    if cells.size <= TUNING.points:
        return cells
    ordered = cells[np.argsort(changes.original[cells], kind="stable")]
    return np.asarray(ordered[np.linspace(0, cells.size - 1, TUNING.points).round().astype(np.int64)])


def _points(changes: CellChanges, group: str, cells: IntArray) -> list[Spec]:
    size = changes.original[cells] / 10.0**changes.decimals
    moved = np.sign(changes.change[cells]) * changes.relative[cells] * 100
    return [{"group": group, "size": float(x), "percent": float(f"{y:.4g}")} for x, y in zip(size.tolist(), moved.tolist(), strict=True)]


NOT_DEFINED = "n/d"
LARGE = 10_000.0
KINDS: Sequence[tuple[tuple[Kind, ...], str]] = (
    (("cells", "level"), "Sets of cells, and levels of aggregation (steps below the grand total)"),
    (("dimension",), "Levels of each dimension"),
    (("row",), "Rows that changed most (all cells of one code)"),
)


def utility_section(release: AuditedTable, changes: CellChanges, found: Sequence[SubsetUtility]) -> dict[str, Any]:
    """Everything that the section's template shows."""
    main = [each for each in found if each.subset.kind in ("cells", "level")]
    return {
        "sentence": _sentence(found[0]) if found else "The table has no cells.",
        "tables": [(caption, [statistics_row(each) for each in found if each.subset.kind in kinds]) for kinds, caption in KINDS],
        "undefined": [f"{each.subset.name}: {each.why_undefined}" for each in found if each.why_undefined],
        "shares": [f"{share:.0%}" for share in QUANTILES],
        "quantiles": [(each.subset.name, *_quantile_rows(each.statistics)) for each in main],
        "tops": [top_cells(release, changes, each.subset) for each in main if each.statistics.cells > 1],
    }


def _sentence(every: SubsetUtility) -> str:
    mean = every.statistics.mean
    moved = "is unchanged" if mean.before == mean.after else f"moves by {_relative(mean.before, mean.after)}"
    if every.correlation is None or every.slope is None or every.variance_ratio is None:
        return f"Over all cells the mean {moved}; correlation and slope are not defined ({every.why_undefined})."
    return (
        f"Over all cells the mean {moved}, the variance becomes {near_one(every.variance_ratio)} of what it was, "
        f"released and true values correlate at {near_one(every.correlation)} with a slope of {near_one(every.slope)}."
    )


def _relative(before: float, after: float) -> str:
    return percent((after - before) / abs(before)) if before else f"{amount(after)} from zero"


def statistics_row(each: SubsetUtility) -> list[str]:
    """Name, cells, mean and standard deviation before and after, then what compares the two."""
    found, top = each.statistics, each.statistics.top
    deviations = (found.variance.before**0.5, found.variance.after**0.5)
    compared = (each.variance_ratio, each.correlation, each.slope, each.rank_correlation)
    return [
        each.subset.name,
        f"{found.cells:,}",
        *(amount(value) for value in (*found.mean, *deviations)),
        *(NOT_DEFINED if value is None else near_one(value) for value in compared),
        f"{top.kept} of {top.size}",
        f"{top.in_place} of {top.size}",
    ]


def amount(value: float) -> str:
    """A mean or a deviation: whole where it is large, else four digits."""
    return f"{value:,.0f}" if abs(value) >= LARGE or value == int(value) else f"{value:,.{max(0, 4 - len(str(int(abs(value)))))}f}"


def near_one(value: float) -> str:
    """Five decimals: what is kept well differs from one in the last of them."""
    return f"{value:,.5f}" if abs(value) < LARGE else f"{value:,.0f}"


def _quantile_rows(found: Statistics) -> tuple[list[str], list[str]]:
    before, after = zip(*(each for _, each in found.quantiles), strict=True)
    return [amount(value) for value in before], [amount(value) for value in after]


def top_cells(release: AuditedTable, changes: CellChanges, subset: Subset) -> tuple[str, list[str], list[list[str]]]:
    """The ten largest cells before: what they are, their values and ranks before and after. Equal values rank in order of the cells."""
    original = changes.original[subset.cells]
    released = original + changes.change[subset.cells]
    first = largest_of(original)
    names, words = cell_words(release.table.views, subset.cells[first], changes.original.size)
    rows = [
        [
            *labels,
            grouped(int(original[place]), changes.decimals),
            grouped(int(released[place]), changes.decimals),
            f"{rank}",
            f"{_rank(released, place)}",
        ]
        for rank, (place, labels) in enumerate(zip(first.tolist(), words, strict=True), start=1)
    ]
    return subset.name, names, rows


def _rank(values: IntArray, place: int) -> int:
    """1 for the largest; of equal values the earlier cell is the larger."""
    return 1 + int((values > values[place]).sum()) + int((values[:place] == values[place]).sum())
