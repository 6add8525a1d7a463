"""A comparison to be read: one chart, one table, one recommendation; and the same in figures. Confidential."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from statveil.jobs.compare.compare import Comparison, MethodRow
from statveil.publish.formats.numbers import percent
from statveil.publish.report.charts import OTHER_COLOUR, SENSITIVE_COLOUR, Spec, chart
from statveil.publish.report.internal.methods import MethodsSection
from statveil.publish.report.page import VEGA, asset, json_for_page, render
from statveil.version import VERSION

SAFE, UNSAFE = "no sensitive cell learned", "sensitive cells disclosed"
LABEL_GAP, PERCENT_HIGH = 16.0, 2.0
"""Pixels between names in the chart, and of a percent of its height."""
HEADINGS = (
    "Method", "Cells suppressed", "Cells moved", "Lost", "Total change", "Broken sums", "Correlation",
    "Slope", "Variance ratio", "Too close", "Known exactly", "Bounds too narrow", "Cut by sums", "Attacks failed", "Seconds",
)  # fmt: skip


def methods_section(found: Comparison) -> MethodsSection:
    """What a page shows of it."""
    return MethodsSection(
        reason=found.reason,
        headings=HEADINGS,
        rows=[(row.name == found.recommended, fields_of(row)) for row in found.rows],
        remarks=[(row.words, _remark(row)) for row in found.rows],
        attacks=[
            (row.words, [(each.threat.id, each.threat.name, each.status.value, each.number) for each in row.attacks])
            for row in found.rows
            if row.attacks
        ],
        chart=methods_chart(found),
    )


def compare_html(found: Comparison) -> str:
    methods = methods_section(found)
    return render(
        "compare.html",
        {
            "title": found.title,
            "axes": [("", f"{found.cells:,} cells, {found.sensitive:,} of them sensitive")],
            "software": f"statveil {VERSION}",
            "release_hash": "",
            "css": asset("templates/report.css"),
            "script": asset("templates/charts.js"),
            "vega": [asset(f"static/{name}") for name in VEGA],
            "charts": ["methods"],
            "methods": methods,
            "page_data": json_for_page({"charts": {"methods": methods.chart}}),
        },
    )


def _remark(row: MethodRow) -> str:
    return f"failed: {row.failed}" if row.failed else "; ".join(part for part in (row.parameters, row.quality) if part)


def fields_of(row: MethodRow) -> list[str]:
    """A line of the table, in words."""
    loss, risk = row.loss, row.risk
    if loss is None or risk is None:
        return [row.words, *[""] * (len(HEADINGS) - 2), f"{row.seconds:.1f}"]
    statistics = [_near(each) for each in (loss.correlation, loss.slope, loss.variance_ratio)]
    counts = [
        f"{loss.suppressed:,}",
        f"{loss.moved:,}",
        percent(loss.lost),
        percent(loss.change),
        f"{loss.broken:,}",
    ]
    attacks = ", ".join(row.failed_attacks) or (f"none of {len(row.attacks)}" if row.attacks else "by the audit")
    looks = [f"{risk.close:,} of {risk.sensitive:,}", f"{risk.exact:,}", f"{risk.narrow:,}", f"{risk.cut:,} of {risk.looked:,}", attacks]
    return [row.words, *counts, *statistics, *looks, f"{row.seconds:.1f}"]


def _near(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


def methods_chart(found: Comparison) -> Spec:
    """Each method as a point: what is lost, and how many sensitive cells a reader learns."""
    values: list[Spec] = [
        {"method": row.words, "lost": round(100 * row.loss.lost, 6), "disclosed": round(100 * row.risk.disclosed, 6),
         "kind": SAFE if row.safe else UNSAFE, "seconds": round(row.seconds, 1)}
        for row in found.rows if row.loss is not None and row.risk is not None
    ]  # fmt: skip
    axes = {
        "x": {"field": "lost", "type": "quantitative", "title": "lost of a cell on average, %", "scale": {"zero": True, "nice": True}},
        "y": {
            "field": "disclosed",
            "type": "quantitative",
            "title": "sensitive cells disclosed, %",
            "scale": {"domain": [0, 130]},
            "axis": {"values": [0, 25, 50, 75, 100]},
        },
    }
    one_below = {"columns": 1}  # so that both fit on a telephone
    colour = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": [SAFE, UNSAFE], "range": [OTHER_COLOUR, SENSITIVE_COLOUR]},
        "legend": one_below,
    }
    shape = {"field": "kind", "type": "nominal", "scale": {"domain": [SAFE, UNSAFE], "range": ["circle", "diamond"]}, "legend": one_below}
    tooltip = [{"field": "method"}, {"field": "lost", "title": "lost, %", "format": ".3~g"},
               {"field": "disclosed", "title": "disclosed, %", "format": ".3~g"}, {"field": "seconds"}]  # fmt: skip
    spec = chart(
        values, {"type": "point", "filled": True, "size": 160}, axes | {"color": colour, "shape": shape, "tooltip": tooltip}, height=320
    )
    dots = {"mark": spec.pop("mark"), "encoding": spec.pop("encoding")}
    middle = max((each["lost"] for each in values), default=0.0) / 2
    words = [_label(each, axes, lift, right=each["lost"] > middle) for each, lift in zip(values, _lifts(values), strict=True)]
    return spec | {"layer": [dots, *words]}


def _label(value: Spec, axes: Spec, lift: float, *, right: bool) -> Spec:
    """The name of one point, above it, towards the middle of the chart."""
    mark = {"type": "text", "align": "right" if right else "left", "dx": 9 if right else -9, "dy": -lift, "fontSize": 12}
    return {"data": {"values": [value]}, "mark": mark, "encoding": axes | {"text": {"field": "method"}}}


def _lifts(values: list[Spec]) -> list[float]:
    """How far above its point each name stands, so that no two names lie at one height: whatever the width of the page, none overlap."""
    taken, lifts = list[float](), dict[int, float]()
    for place in sorted(range(len(values)), key=lambda at: (values[at]["disclosed"], values[at]["lost"])):
        height = values[place]["disclosed"] * PERCENT_HIGH + LABEL_GAP
        while any(abs(height - other) < LABEL_GAP for other in taken):
            height += 1
        taken.append(height)
        lifts[place] = height - values[place]["disclosed"] * PERCENT_HIGH
    return [lifts[place] for place in range(len(values))]


def figures_of(found: Comparison) -> dict[str, Any]:
    """Everything under fixed names."""
    return {
        "table": found.title,
        "cells": found.cells,
        "sensitive": found.sensitive,
        "recommended": found.recommended or None,
        "reason": found.reason,
        "seconds": round(found.seconds, 3),
        "seed": found.seed,
        "methods": [_figures(row) for row in found.rows],
        "software": {"statveil": VERSION},
    }


def _figures(row: MethodRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "words": row.words,
        "seconds": round(row.seconds, 3),
        "parameters": row.parameters,
        "quality": row.quality,
        "failed": row.failed or None,
        "safe": row.safe,
        "loss": None if row.loss is None else dataclasses.asdict(row.loss),
        "risk": None if row.risk is None else dataclasses.asdict(row.risk),
        "attacks": [{"id": each.threat.id, "status": each.status.value, "number": each.number} for each in row.attacks],
    }


def compare_json(found: Comparison) -> str:
    return json.dumps(figures_of(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
