"""The risk-utility curve of a file as a page: what each threshold leaves and keeps. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statveil.publish.formats.files import write_bytes
from statveil.publish.report.charts import chart
from statveil.publish.report.files.charts import AFTER, HEIGHT
from statveil.publish.report.page import VEGA, asset, json_for_page, render
from statveil.records.risk_curve import RiskUtilityPoint
from statveil.version import VERSION

COLUMNS = ("threshold", "expected re-id.", "largest risk", "information kept", "blanks", "fields recoded", "from best possible")


def curve_rows(points: Sequence[RiskUtilityPoint]) -> list[tuple[str, ...]]:
    """The curve in words, one row a threshold, as `COLUMNS` names them."""
    return [
        (
            f"{point.threshold:,}" if point.threshold else "as it is",
            f"{point.expected:.3%}",
            f"{point.largest:.1%}",
            f"{point.kept:.1%}",
            f"{point.blanks:,}",
            f"{point.recoded:,}",
            _gap(point),
        )
        for point in points
    ]


def _gap(point: RiskUtilityPoint) -> str:
    if not point.threshold:
        return "-"
    if point.cost <= point.bound * (1 + 1e-9) + 1e-9:
        return "proved best"
    return f"at most {point.cost / point.bound - 1:.2%}" if point.bound > 0 else "not known"


def write_risk_curve(points: Sequence[RiskUtilityPoint], title: str, fields: Sequence[str], path: Path) -> Path:
    """The page as one HTML file that needs no network."""
    context = {
        "title": title,
        "axes": [("", " × ".join(fields))],
        "software": f"statveil {VERSION}",
        "css": asset("templates/report.css"),
        "script": asset("templates/charts.js"),
        "vega": [asset(f"static/{name}") for name in VEGA],
        "columns": COLUMNS,
        "rows": curve_rows(points),
        "charts": ["curve"],
        "page_data": json_for_page({"charts": {"curve": _drawn(points)}}),
    }
    return write_bytes(path, render("risk_curve.html", context).encode())


def _drawn(points: Sequence[RiskUtilityPoint]) -> dict[str, Any]:
    """One line through the thresholds, each point with its threshold beside it."""
    names = [row[0] for row in curve_rows(points)]
    values = [
        {"name": name, "expected": point.expected, "kept": point.kept, "place": place}
        for place, (name, point) in enumerate(zip(names, points, strict=True))
    ]
    encoding: dict[str, Any] = {
        "x": {"field": "expected", "type": "quantitative", "title": "expected share of records re-identified", "axis": {"format": ".2%"}},
        "y": {"field": "kept", "type": "quantitative", "title": "information kept", "axis": {"format": ".0%"}, "scale": {"zero": False}},
        "order": {"field": "place"},
    }
    drawn = chart(values, {"type": "line", "point": True, "color": AFTER}, encoding, height=HEIGHT)
    mark = {"type": "text", "align": "left", "dx": 7, "dy": -7, "fontSize": 11}
    layers = [{"mark": drawn.pop("mark"), "encoding": drawn.pop("encoding")}]
    layers.append({"mark": mark, "encoding": {**encoding, "text": {"field": "name"}}})
    return {**drawn, "layer": layers}
