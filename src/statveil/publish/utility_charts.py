"""Charts of the utility section of the internal report. Confidential."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.arrays import BoolArray, IntArray
from statveil.publish.changes import Changes
from statveil.publish.charts import GROUPS, OTHER_COLOUR, SENSITIVE_COLOUR, Spec, chart
from statveil.publish.utility import SubsetUtility

MOST_POINTS = 800
"""Of each group; spread over the sizes of the cells."""
MEASURES = (
    ("correlation", "#222222", "circle"),
    ("slope", "#0072B2", "square"),
    ("variance ratio", "#D55E00", "diamond"),
    ("rank correlation", "#009E73", "triangle-up"),
)
"""Okabe and Ito's colours, and a shape each."""


def utility_charts(changes: Changes, found: Sequence[SubsetUtility]) -> dict[str, Spec]:
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
        "x": {"field": "value", "type": "quantitative", "scale": {"zero": False}, "title": "one: nothing changed"},
        "color": {"field": "measure", "type": "nominal", "sort": domain,
                  "scale": {"domain": domain, "range": [colour for _, colour, _ in MEASURES]}},
        "shape": {"field": "measure", "type": "nominal", "sort": domain,
                  "scale": {"domain": domain, "range": [shape for _, _, shape in MEASURES]}},
        "tooltip": [{"field": "cells"}, {"field": "measure"}, {"field": "value", "format": ".5f"}],
    }  # fmt: skip
    return chart(values, {"type": "point", "filled": True, "size": 70, "opacity": 0.85}, encoding, height=60 + 22 * len(names))


def changes_by_size(changes: Changes) -> Spec:
    """Relative change of single cells against their size, both on scales that take any sign."""
    measured = np.isfinite(changes.relative)
    values = [
        row
        for group, members in zip(GROUPS, (changes.sensitive, ~changes.sensitive), strict=True)
        for row in _points(changes, group, _spread_out(changes, members & measured))
    ]
    encoding = {
        "x": {"field": "size", "type": "quantitative", "scale": {"type": "symlog", "constant": 10},
              "title": "original value (logarithmic)",
              "axis": {"values": _powers(values, "size"), "labelExpr": "format(datum.value, '~s')"}},
        "y": {"field": "percent", "type": "quantitative", "scale": {"type": "symlog", "constant": 0.1},
              "title": "change, % of the original", "axis": {"values": _powers(values, "percent"), "labelExpr": "datum.value"}},
        "color": {"field": "group", "type": "nominal", "scale": {"domain": list(GROUPS), "range": [SENSITIVE_COLOUR, OTHER_COLOUR]}},
        "tooltip": [{"field": "group"}, {"field": "size", "format": ",", "title": "original"}, {"field": "percent", "format": "+.3~g"}],
    }  # fmt: skip
    return chart(values, {"type": "point", "filled": True, "size": 16, "opacity": 0.6}, encoding, height=300)


def _powers(values: Sequence[Spec], field: str) -> list[float]:
    """Zero and the powers of ten, of either sign, that such a field reaches."""
    reached = max((abs(row[field]) for row in values), default=1.0)
    powers = [10.0**power for power in range(-1 if field == "percent" else 1, 17) if 10.0**power <= max(reached, 1.0)]
    return [*(-power for power in reversed(powers)), 0.0, *powers]


def _spread_out(changes: Changes, members: BoolArray) -> IntArray:
    """At most so many of the cells, evenly over their order by size."""
    cells = np.flatnonzero(members)
    if cells.size <= MOST_POINTS:
        return cells
    ordered = cells[np.argsort(changes.original[cells], kind="stable")]
    return np.asarray(ordered[np.linspace(0, cells.size - 1, MOST_POINTS).round().astype(np.int64)])


def _points(changes: Changes, group: str, cells: IntArray) -> list[Spec]:
    size = changes.original[cells] / 10.0**changes.decimals
    moved = np.sign(changes.change[cells]) * changes.relative[cells] * 100
    return [{"group": group, "size": float(x), "percent": float(f"{y:.4g}")} for x, y in zip(size.tolist(), moved.tolist(), strict=True)]
