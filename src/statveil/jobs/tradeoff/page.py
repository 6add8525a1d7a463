"""A trade-off to be read: the page (the front as a chart, the recommended point, every point), and the front in figures. Confidential."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any

from statveil.jobs.adjust import bound_figures
from statveil.jobs.tradeoff.tradeoff import FrontPoint, Tradeoff
from statveil.protect.keep.result import NOTHING_TO_TELL
from statveil.publish.formats.numbers import percent
from statveil.publish.report.charts import OTHER_COLOUR, SENSITIVE_COLOUR, Spec, chart
from statveil.publish.report.page import ENDINGS, VEGA, asset, json_for_page, render
from statveil.publish.report.utility_tables import near_one
from statveil.version import VERSION

STATISTICS = ("mean_off", "correlation", "slope", "variance_ratio")
FRONT, RECOMMENDED, TIGHTER = "on the front", "recommended", "smaller caps"
KINDS = (FRONT, RECOMMENDED, TIGHTER)
COLOURS = (OTHER_COLOUR, SENSITIVE_COLOUR, "#999999")
SHAPES = ("circle", "diamond", "triangle-down")
MEASURES = (("correlation", "#222222", "circle"), ("slope", "#0072B2", "square"), ("variance ratio", "#D55E00", "diamond"))


def tradeoff_html(front: Tradeoff, *, title: str) -> str:
    charts = {"front": front_chart(front), "statistics": statistics_chart(front), "caps": caps_chart(front)}
    context = {
        "title": title,
        "axes": [("", "; ".join(front.words))],
        "software": f"statveil {VERSION}",
        "release_hash": hashlib.sha256(front_json(front).encode()).hexdigest(),
        "css": asset("templates/report.css"),
        "script": asset("templates/charts.js"),
        "vega": [asset(f"static/{name}") for name in VEGA],
        "charts": list(charts),
        "sentences": sentences(front),
        "figures": key_figures(front),
        "several": len(front.words) > 1,
        "kept": front.words,
        "points": [(str(number), number - 1 == front.knee, _row(front, each)) for number, each in enumerate(front.points, start=1)],
        "tighter": [_row(front, each) for each in front.tighter],
        "front": front,
        "ending": ENDINGS[front.plain.ending],
        "page_data": json_for_page({"charts": charts}),
    }
    return render("tradeoff.html", context)


def sentences(front: Tradeoff) -> list[str]:
    """The front in a few sentences."""
    first, last = front.points[0], front.points[-1]
    if len(front.points) == 1 and not front.complete:
        return ["Until the search was stopped no table was found with less distortion than the plain one.", _audited(front)]
    if len(front.points) == 1:
        return ["One table was found that has both the least change and the least distortion: there is nothing to trade.", _audited(front)]
    ends = (
        f"From the least change to the least distortion, total change grows by {percent(more_change(front, last))} "
        f"while distortion falls from {_short(first.distortion)} to {_short(last.distortion)}."
    )
    return [ends, _advice(front), *_possible(front), _audited(front)]


def _advice(front: Tradeoff) -> str:
    best, first = front.recommended, front.points[0]
    if best is None or front.knee is None:
        return f"None is recommended: {len(front.points)} points say too little. Give more time, or choose one of them."
    saved = percent(1 - best.distortion / first.distortion) if first.distortion else "0%"
    return (
        f"Recommended is point {front.knee + 1}: with {percent(more_change(front, best))} more change than the least, "
        f"it removes {saved} of the distortion."
    )


def _possible(front: Tradeoff) -> list[str]:
    """How far the front could go at the most, where that is proved."""
    first = front.points[0]
    if not front.least_possible or not first.distortion:
        return []
    return [f"No table can remove more than {percent(1 - front.least_possible / first.distortion)}: that is proved."]


def _audited(front: Tradeoff) -> str:
    audited = "Every table on the front passed the independent audit."
    return audited if front.complete else f"The search was stopped before its end; what was found until then is shown. {audited}"


def key_figures(front: Tradeoff) -> list[tuple[str, str, str]]:
    """Name, figure, remark."""
    best = front.recommended
    if best is None or front.knee is None:
        return [("Recommended", "none", f"of {len(front.points)} points: too few; {front.tried} tables tried")]
    kept = [("Correlation", _near_one(first.correlation), f"slope {_near_one(first.slope)}") for first in best.outcomes[:1]]
    return [
        ("Recommended", f"point {front.knee + 1}", f"of {len(front.points)}; {front.tried} tables tried"),
        ("More change", percent(more_change(front, best)), "than the least on the front"),
        (
            "Distortion",
            _short(best.distortion),
            f"from {_short(front.points[0].distortion)}; {percent(front.reached(best))} of the possible",
        ),
        *kept,
        ("Cap", f"{best.cap:.2f}", "times its level, for a sensitive cell"),
        ("Percentage", f"{best.percent:.3g}%", "of its value, for any other cell"),
    ]


def _row(front: Tradeoff, point: FrontPoint) -> list[str]:
    statistics = [
        [
            f"{each.mean_off:+,}" if each.mean_off else "kept",
            _near_one(each.correlation),
            _near_one(each.slope),
            _near_one(each.variance_ratio),
        ]
        for each in point.outcomes
    ]
    figures = [
        f"{point.change:,.6g}",
        percent(more_change(front, point)),
        _short(point.distortion),
        percent(front.reached(point)),
        f"{point.cap:.2f}",
        f"{point.percent:.3g}%",
    ]
    return [*figures, *(value for group in statistics for value in group), point.by]


def _near_one(value: float | None) -> str:
    return NOTHING_TO_TELL if value is None else near_one(value)


def _short(value: float) -> str:
    return f"{value:.4g}" if value >= 1e-4 or value == 0 else f"{value:.1e}"


def front_chart(front: Tradeoff) -> Spec:
    """Distortion against change: the front as a line with its points, the recommended one apart, tables with smaller caps beside it."""
    values = _points(front, front.points, lambda number: RECOMMENDED if number == front.knee else FRONT)
    beside = _points(front, front.tighter, lambda _: TIGHTER)
    axes = {
        "x": {"field": "more", "type": "quantitative", "title": "total change, % above the least on the front",
              "scale": {"zero": True, "nice": True}, "axis": {"tickCount": 12}},
        "y": {"field": "distortion", "type": "quantitative", "title": "distortion", "scale": {"zero": False, "nice": True},
              "axis": {"format": "~g"}},
    }  # fmt: skip
    kind = {"field": "kind", "type": "nominal", "sort": list(KINDS)}
    tooltip = [{"field": "name", "title": "point"}, {"field": "more", "title": "more change, %", "format": ".2f"},
               {"field": "distortion", "format": ".4~g"}, {"field": "cap", "format": ".2f"},
               {"field": "percent", "title": "others, %", "format": ".3~g"}]  # fmt: skip
    dots = {
        **axes,
        "color": kind | {"scale": {"domain": list(KINDS), "range": list(COLOURS)}},
        "shape": kind | {"scale": {"domain": list(KINDS), "range": list(SHAPES)}},
        "size": {"value": 70, "condition": [{"test": f"datum.kind === '{RECOMMENDED}'", "value": 240},
                                            {"test": f"datum.kind === '{TIGHTER}'", "value": 40}]},
        "tooltip": tooltip,
    }  # fmt: skip
    spec = chart([*values, *beside], {"type": "point", "filled": True, "opacity": 0.95}, dots, height=380)
    line = {"mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "color": OTHER_COLOUR}, "encoding": axes,
            "transform": [{"filter": f"datum.kind !== '{TIGHTER}'"}]}  # fmt: skip
    words = {"mark": {"type": "text", "align": "left", "dx": 10, "dy": -10, "fontWeight": 600, "fontSize": 12},
             "encoding": axes | {"text": {"field": "name"}}, "transform": [{"filter": f"datum.kind === '{RECOMMENDED}'"}]}  # fmt: skip
    return _layered(spec, [line, {"mark": spec["mark"], "encoding": spec["encoding"]}, words])


def _layered(spec: Spec, layers: list[Spec]) -> Spec:
    return {name: part for name, part in spec.items() if name not in ("mark", "encoding")} | {"layer": layers}


def _points(front: Tradeoff, points: Sequence[FrontPoint], kind: Any) -> list[Spec]:
    return [
        {
            "name": f"point {number + 1}" if kind(number) != TIGHTER else TIGHTER,
            "kind": kind(number),
            "more": round(100 * more_change(front, each), 6),
            "distortion": float(f"{each.distortion:.6g}"),
            "cap": round(each.cap, 4),
            "percent": float(f"{each.percent:.5g}"),
        }
        for number, each in enumerate(points)
    ]


def _along(front: Tradeoff) -> Spec:
    return {"field": "more", "type": "quantitative", "title": "total change, % above the least", "scale": {"zero": True}}


def statistics_chart(front: Tradeoff) -> Spec:
    """Correlation, slope and variance ratio of the first set of cells along the front."""
    values = [
        {"more": round(100 * more_change(front, point), 6), "measure": name, "value": round(value, 6), "name": f"point {number}"}
        for number, point in enumerate(front.points, start=1)
        for (name, _, _), value in zip(MEASURES, _three(point), strict=True)
        if value is not None
    ]
    domain = [name for name, _, _ in MEASURES]
    measure = {"field": "measure", "type": "nominal", "sort": domain}
    encoding = {
        "x": _along(front),
        "y": {"field": "value", "type": "quantitative", "scale": {"zero": False}, "title": "one: nothing changed"},
        "color": measure | {"scale": {"domain": domain, "range": [colour for _, colour, _ in MEASURES]}},
        "shape": measure | {"scale": {"domain": domain, "range": [shape for _, _, shape in MEASURES]}},
        "tooltip": [{"field": "name", "title": "point"}, {"field": "measure"}, {"field": "value", "format": ".5f"}],
    }
    return chart(values, {"type": "line", "point": {"filled": True, "size": 45}, "strokeWidth": 1.5}, encoding)


def _three(point: FrontPoint) -> tuple[float | None, float | None, float | None]:
    first = point.outcomes[0] if point.outcomes else None
    return (first.correlation, first.slope, first.variance_ratio) if first else (None, None, None)


def caps_chart(front: Tradeoff) -> Spec:
    """The percentages that each point needs: how far a sensitive cell moves in levels, and any other cell in percent of its value."""
    names = ("sensitive cells, times their level", "other cells, % of their value")
    values = [
        {"more": round(100 * more_change(front, point), 6), "cap": name, "value": round(value, 5), "name": f"point {number}"}
        for number, point in enumerate(front.points, start=1)
        for name, value in zip(names, (point.cap, point.percent), strict=True)
        if value > 0
    ]
    encoding = {
        "x": _along(front),
        "y": {
            "field": "value",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "largest move (logarithmic)",
            "axis": {"format": "~g"},
        },
        "color": {"field": "cap", "type": "nominal", "sort": list(names), "scale": {"domain": list(names), "range": list(COLOURS[1::-1])}},
        "tooltip": [{"field": "name", "title": "point"}, {"field": "cap"}, {"field": "value", "format": ".3~g"}],
    }
    return chart(values, {"type": "line", "point": {"filled": True, "size": 45}, "strokeWidth": 1.5}, encoding)


def front_figures(front: Tradeoff) -> dict[str, Any]:
    """Everything but the tables themselves, under fixed names."""
    return {
        "kept": list(front.words),
        "points": [{"point": number, **point_figures(front, each)} for number, each in enumerate(front.points, start=1)],
        "recommended": None if front.knee is None else front.knee + 1,
        "least_possible": front.least_possible,
        "tighter": [point_figures(front, each) for each in front.tighter],
        "plain": {
            "objective": front.plain.objective,
            **bound_figures(front.plain),
        },
        "tried": front.tried,
        "seed": front.seed,
        "seconds": round(front.seconds, 3),
        "complete": front.complete,
        "software": {"statveil": VERSION},
    }


def point_figures(front: Tradeoff, point: FrontPoint) -> dict[str, Any]:
    return {
        "change": point.change,
        "more_change": more_change(front, point),
        "distortion": point.distortion,
        "reached": front.reached(point),
        "cap": point.cap,
        "percent": point.percent,
        "by": point.by,
        "sets": [{"cells": each.words, **{name: getattr(each, name) for name in STATISTICS}} for each in point.outcomes],
        "audit": point.audit.passed,
    }


def more_change(front: Tradeoff, point: FrontPoint) -> float:
    """By what share the change is above the least on the front."""
    least = front.points[0].change
    return point.change / least - 1 if least else 0.0


def front_json(front: Tradeoff) -> str:
    return json.dumps(front_figures(front), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _written(statistic: float | None) -> str:
    return "" if statistic is None else f"{statistic:.10g}"


def front_csv(front: Tradeoff) -> str:
    """A line for each point of the front, the statistics of each set of cells in columns of their own."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    several = len(front.words) > 1
    names = [f"{name}_{number}" if several else name for number in range(1, len(front.words) + 1) for name in STATISTICS]
    lines.writerow(["point", "recommended", "change", "more_change", "distortion", "reached", "cap", "percent", "by", *names])
    for number, point in enumerate(front.points):
        told = (point.change, more_change(front, point), point.distortion, front.reached(point), point.cap, point.percent)
        figures = [f"{value:.10g}" for value in told]
        statistics = [_written(getattr(each, name)) for each in point.outcomes for name in STATISTICS]
        lines.writerow([number + 1, "yes" if number == front.knee else "no", *figures, point.by, *statistics])
    return text.getvalue()
