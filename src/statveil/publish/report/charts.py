"""Charts as data: Vega-Lite specifications, filled here and drawn by the report's own copy of Vega."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray
from statveil.protect.adjustment import Adjustment
from statveil.publish.report.changes import CellChanges, ecdf, level_groups

Spec = dict[str, Any]
SENSITIVE_COLOUR, OTHER_COLOUR = "#D55E00", "#0072B2"  # Okabe and Ito: told apart with any colour vision
GROUPS = ("sensitive cells", "other cells")
FLOOR = 0.001
BIN_EDGES = (0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
BIN_NAMES = ("0", "≤ 0.01", "≤ 0.1", "≤ 0.3", "≤ 1", "≤ 3", "≤ 10", "≤ 30", "≤ 100", "> 100")
CONFIG: Spec = {
    "font": "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "labelColor": "#333", "titleColor": "#333",
             "gridColor": "#e6e6e6", "domainColor": "#999", "tickColor": "#999"},
    "legend": {"orient": "top", "labelFontSize": 11, "title": None, "labelLimit": 260, "symbolStrokeWidth": 3},
}  # fmt: skip


def all_charts(changes: CellChanges, adjustment: Adjustment) -> dict[str, Spec]:
    """The charts that have something to show, by the name of their place in the report."""
    charts = {
        "distribution": distribution(changes),
        "ecdf": ecdf_by_group(changes),
        "levels": ecdf_by_level(changes),
        "balance": balance(changes, amounts=False),
        "amounts": balance(changes, amounts=True),
        "trace": trace(adjustment),
    }
    return {name: spec for name, spec in charts.items() if spec["data"]["values"]}


def chart(values: list[Spec], mark: Any, encoding: Spec, *, height: int = 230) -> Spec:
    """A chart as wide as its place in a report."""
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": values},
        "mark": mark,
        "encoding": encoding,
        "config": CONFIG,
    }


def _group_colour() -> Spec:
    return {"field": "group", "type": "nominal", "scale": {"domain": list(GROUPS), "range": [SENSITIVE_COLOUR, OTHER_COLOUR]}}


def _groups(changes: CellChanges) -> Iterable[tuple[str, BoolArray]]:
    return zip(GROUPS, (changes.sensitive, ~changes.sensitive), strict=True)


def distribution(changes: CellChanges) -> Spec:
    """Share of each group's cells by size of their relative change."""
    values = [row for group, members in _groups(changes) for row in _binned(changes, group, members)]
    encoding = {
        "x": {
            "field": "bin",
            "type": "ordinal",
            "scale": {"domain": list(BIN_NAMES)},
            "title": "relative change, %",
            "axis": {"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 3},
        },
        "xOffset": {"field": "group", "sort": list(GROUPS)},
        "y": {"field": "share", "type": "quantitative", "title": "share of the group's cells", "axis": {"format": "%"}},
        "color": _group_colour(),
        "tooltip": [{"field": "group"}, {"field": "bin", "title": "relative change, %"}, {"field": "cells", "format": ","}],
    }
    return chart(values, "bar", encoding)


def _binned(changes: CellChanges, group: str, members: BoolArray) -> list[Spec]:
    percent = changes.relative[members & np.isfinite(changes.relative)] * 100
    counts = np.bincount(np.searchsorted(BIN_EDGES, percent, side="left"), minlength=len(BIN_NAMES)).tolist()
    return [{"group": group, "bin": name, "cells": n, "share": n / percent.size} for name, n in zip(BIN_NAMES, counts, strict=True) if n]


def _ecdf_encoding(colour: Spec) -> Spec:
    return {
        "x": {"field": "x", "type": "quantitative", "scale": {"type": "log", "nice": False},
              "title": "relative change, % (logarithmic)", "axis": {"format": "~g", "values": [10.0**power for power in range(-3, 7)]}},
        "y": {"field": "share", "type": "quantitative", "scale": {"domain": [0, 1]},
              "title": "share of cells at or below", "axis": {"format": "%"}},
        "color": colour,
        "order": {"field": "share", "type": "quantitative"},
        "tooltip": [{"field": "group"}, {"field": "x", "title": "change, %", "format": ".3~g"}, {"field": "share", "format": ".1%"}],
    }  # fmt: skip


def _ecdf_rows(changes: CellChanges, groups: Iterable[tuple[str, BoolArray]]) -> list[Spec]:
    found = [(name, ecdf(changes.relative[members], points=160, floor=FLOOR)) for name, members in groups]
    right = max((points[-1][0] for _, points in found if points), default=FLOOR)
    closed = [(name, [(FLOOR, 0.0), *points, (right, 1.0)]) for name, points in found if points]
    return [{"group": name, "x": float(f"{x:.5g}"), "share": round(share, 5)} for name, points in closed for x, share in points]


LINE: Spec = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}


def ecdf_by_group(changes: CellChanges) -> Spec:
    return chart(_ecdf_rows(changes, _groups(changes)), LINE, _ecdf_encoding(_group_colour()))


def ecdf_by_level(changes: CellChanges) -> Spec:
    groups = level_groups(changes)
    colour = {"field": "group", "type": "ordinal", "sort": [name for name, _ in groups], "scale": {"scheme": "viridis"}}
    return chart(_ecdf_rows(changes, groups), LINE, _ecdf_encoding({**colour, "legend": {"columns": 2}}))


def balance(changes: CellChanges, *, amounts: bool) -> Spec:
    """Cells (or amounts) moved up to the right, down to the left."""
    values = [row for group, members in _groups(changes) for row in _balance_rows(changes, group, members, amounts)]
    title = "sum of changes: down | up" if amounts else "cells: down | up"
    encoding = {
        "y": {"field": "group", "type": "nominal", "title": None, "sort": list(GROUPS), "axis": {"labelLimit": 120}},
        "x": {"field": "signed", "type": "quantitative", "title": title, "axis": {"format": "~s", "tickCount": 6}},
        "color": _group_colour() | {"legend": None},
        "opacity": {"field": "way", "type": "ordinal", "scale": {"domain": ["down", "up"], "range": [0.55, 1]}, "legend": None},
        "tooltip": [{"field": "group"}, {"field": "way"}, {"field": "size", "format": ","}],
    }
    return chart(values, {"type": "bar", "size": 26}, encoding, height=130)


def _balance_rows(changes: CellChanges, group: str, members: BoolArray, amounts: bool) -> list[Spec]:
    moved = changes.change[members & changes.changed].astype(np.float64) / 10.0**changes.decimals
    sizes = [float(np.abs(part).sum()) if amounts else part.size for part in (moved[moved < 0], moved[moved > 0])]
    return [
        {"group": group, "way": way, "size": size, "signed": sign * size}
        for way, sign, size in zip(("down", "up"), (-1, 1), sizes, strict=True)
        if size
    ]


def trace(adjustment: Adjustment) -> Spec:
    """Best table and best bound known, second by second, held to the end of the run."""
    rows: list[Spec] = []
    for name, field in (("best table", "objective"), ("lower bound", "bound")):
        known = [(point.seconds, getattr(point, field)) for point in adjustment.trace if math.isfinite(getattr(point, field))]
        final = getattr(adjustment, field)
        last = [(max(adjustment.seconds, known[-1][0] if known else 0.0), final)] if math.isfinite(final) else []
        rows += [{"line": name, "seconds": seconds, "value": value} for seconds, value in [*known, *last]]
    colour = {"field": "line", "type": "nominal", "scale": {"domain": ["best table", "lower bound"], "range": ["#222222", "#009E73"]}}
    encoding = {
        "x": {"field": "seconds", "type": "quantitative", "title": "seconds", "scale": {"zero": True, "nice": False}},
        "y": {"field": "value", "type": "quantitative", "title": "weighted change", "scale": {"zero": False}, "axis": {"format": "~s"}},
        "color": colour,
        "strokeDash": {"field": "line", "type": "nominal", "scale": {"domain": ["best table", "lower bound"], "range": [[1, 0], [5, 3]]}},
        "tooltip": [{"field": "line"}, {"field": "seconds", "format": ".2f"}, {"field": "value", "format": ",.6~g"}],
    }
    return chart(rows, LINE | {"point": {"size": 18}}, encoding)
