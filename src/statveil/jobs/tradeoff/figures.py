"""The front in figures: rows for files and for the page. Confidential: they are statistics of true values."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

from statveil.jobs.tradeoff.tradeoff import FrontPoint, Tradeoff
from statveil.version import VERSION

STATISTICS = ("mean_off", "correlation", "slope", "variance_ratio")


def front_figures(front: Tradeoff) -> dict[str, Any]:
    """Everything but the tables themselves, under fixed names."""
    return {
        "kept": list(front.words),
        "points": [{"point": number, **point_figures(front, each)} for number, each in enumerate(front.points, start=1)],
        "recommended": front.knee + 1,
        "tighter": [point_figures(front, each) for each in front.tighter],
        "plain": {
            "objective": front.plain.objective,
            "bound": front.plain.bound,
            "gap": front.plain.gap if math.isfinite(front.plain.gap) else None,
            "ending": str(front.plain.ending),
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
    lines.writerow(["point", "recommended", "change", "more_change", "distortion", "cap", "percent", "by", *names])
    for number, point in enumerate(front.points):
        figures = [f"{value:.10g}" for value in (point.change, more_change(front, point), point.distortion, point.cap, point.percent)]
        statistics = [_written(getattr(each, name)) for each in point.outcomes for name in STATISTICS]
        lines.writerow([number + 1, "yes" if number == front.knee else "no", *figures, point.by, *statistics])
    return text.getvalue()
