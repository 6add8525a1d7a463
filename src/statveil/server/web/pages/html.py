"""Tables and forms as HTML: templates, a table of any number of dimensions as rows and columns, its chart.

Nothing is loaded from elsewhere, and everything works without a script.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from statveil.publish.formats.numbers import grouped
from statveil.publish.report.charts import Spec, chart
from statveil.server.engine.answer import AnsweredDimension, AnsweredTable, full_title

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#555555")
"""Okabe and Ito: told apart with any colour vision."""


class PageTuning(NamedTuple):
    """What a page shows; files have all, and the API takes any code. All by judgement."""

    most_cells: int = 10_000
    most_codes: int = 2_000
    """Of a dimension, in the form."""
    widest: int = 24
    """Columns that a page of one table may have; where the last dimension has more codes, they are rows."""
    most_bars: int = 30
    most_colours: int = 8


TUNING = PageTuning()


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A label and how deep it lies below the total."""

    label: str
    depth: int


@dataclass(frozen=True, kw_only=True)
class GridRow:
    headings: Sequence[Heading]
    cells: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class TableGrid:
    """What a page shows. `rows_left_out`: how many rows there are beyond those shown."""

    row_names: Sequence[str]
    column_name: str
    columns: Sequence[Heading]
    rows: Sequence[GridRow]
    rows_left_out: int


def depths(dimension: AnsweredDimension) -> list[int]:
    """Steps below the highest code shown, of each code."""
    parent = dict(zip(dimension.codes, dimension.parents, strict=True))
    found: list[int] = []
    for code in dimension.codes:
        steps, above = 0, parent[code]
        while above is not None:
            steps, above = steps + 1, parent.get(above)
        found.append(steps)
    return found


def headings(dimension: AnsweredDimension) -> list[Heading]:
    return [Heading(label=label, depth=depth) for label, depth in zip(dimension.labels, depths(dimension), strict=True)]


def grid(answer: AnsweredTable, rows: Sequence[str], columns: str | None, *, most_cells: int | None = None) -> TableGrid:
    """The dimensions `rows` downwards, `columns` across."""
    axis = {dimension.id: place for place, dimension in enumerate(answer.dimensions)}
    order = [axis[each] for each in rows] + ([] if columns is None else [axis[columns]])
    across = headings(answer.dimensions[axis[columns]]) if columns is not None else [Heading(label=answer.measure_label, depth=0)]
    values = answer.values.transpose(order).reshape(-1, len(across))
    missing = answer.missing.transpose(order).reshape(-1, len(across))
    down = [headings(answer.dimensions[axis[each]]) for each in rows]
    shown = len(values) if most_cells is None else min(len(values), max(1, most_cells // len(across)))
    made = [
        GridRow(headings=names, cells=[_cell(answer, *cell) for cell in zip(line.tolist(), gone.tolist(), strict=True)])
        for names, line, gone in zip(_first(down, shown), values[:shown], missing[:shown], strict=True)
    ]
    return TableGrid(
        row_names=[answer.dimensions[axis[each]].label for each in rows],
        column_name=answer.dimensions[axis[columns]].label if columns is not None else "",
        columns=across,
        rows=made,
        rows_left_out=len(values) - shown,
    )


def _first(down: Sequence[Sequence[Heading]], count: int) -> list[tuple[Heading, ...]]:
    return [names for names, _ in zip(product(*down), range(count), strict=False)]


def _cell(answer: AnsweredTable, units: int, missing: bool) -> str:
    return answer.withheld if missing else grouped(units, answer.decimals)


def bars(answer: AnsweredTable, rows: Sequence[str], columns: str | None) -> Spec | None:
    """The largest of the finest rows as bars, in the colours of the columns where these are few. None if there is nothing to draw."""
    if len(rows) != 1:
        return None
    axis = {dimension.id: place for place, dimension in enumerate(answer.dimensions)}
    down = answer.dimensions[axis[rows[0]]]
    across = answer.dimensions[axis[columns]] if columns is not None else None
    order = [axis[rows[0]]] + ([] if columns is None else [axis[columns]])
    values = answer.values.transpose(order).reshape(len(down.codes), -1).astype(np.float64) / 10.0**answer.decimals
    fine_rows = _finest(down)
    parts = _finest(across) if across is not None else [0]
    if across is not None and len(parts) > TUNING.most_colours:
        parts, across = [_top(across)], None
    size = np.abs(values[np.ix_(fine_rows, parts)]).sum(axis=1)
    shown = [fine_rows[place] for place in np.argsort(-size, kind="stable")[: TUNING.most_bars]]
    points = [
        {
            "row": down.labels[row],
            "value": _plain(values[row, part]),
            "part": across.labels[part] if across is not None else "",
            "place": part,
        }
        for row in shown
        for part in parts
    ]
    return _spec(answer, down, across, points, parts) if any(point["value"] for point in points) else None


def _plain(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0


def _finest(dimension: AnsweredDimension) -> list[int]:
    above = {parent for parent in dimension.parents if parent is not None}
    return [place for place, code in enumerate(dimension.codes) if code not in above]


def _top(dimension: AnsweredDimension) -> int:
    return next(place for place, parent in enumerate(dimension.parents) if parent is None)


def _spec(
    answer: AnsweredTable, down: AnsweredDimension, across: AnsweredDimension | None, points: list[Spec], parts: Sequence[int]
) -> Spec:
    unit = f"{answer.measure_label} ({answer.unit})" if answer.unit else answer.measure_label
    names = list(dict.fromkeys(point["row"] for point in points))
    encoding: Spec = {
        "y": {"field": "row", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 240}},
        "x": {"field": "value", "type": "quantitative", "title": unit, "axis": {"format": "~s", "tickCount": 8}},
        "tooltip": [{"field": "row", "title": down.label}, {"field": "value", "title": answer.measure_label, "format": ","}],
    }
    if across is not None:
        domain = [across.labels[part] for part in parts]
        colour = {"field": "part", "type": "nominal", "scale": {"domain": domain, "range": list(COLOURS[: len(domain)])}}
        encoding |= {"color": {**colour, "legend": {"columns": 3}}, "order": {"field": "place", "type": "quantitative"}}
        encoding["tooltip"].insert(1, {"field": "part", "title": across.label})
    return chart(points, {"type": "bar", "color": COLOURS[0]}, encoding, height=max(90, 20 * len(names) + 50))


TEMPLATES, STATIC = Path(__file__).with_name("templates"), Path(__file__).with_name("static")


@cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(template: str, **content: Any) -> str:
    return _environment().get_template(template).render(content)


@cache
def style() -> str:
    return (STATIC / "page.css").read_text(encoding="utf-8")


def _style_hash() -> str:
    return base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()


TABLE_POLICY = f"default-src 'none'; style-src 'sha256-{_style_hash()}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For the page of one table: its own style sheet and nothing else."""


def table_page(answer: AnsweredTable) -> str:
    """One table as a page of its own, to keep: a function of the answer alone."""
    columns = _columns(answer)
    rows = [dimension.id for dimension in answer.dimensions if dimension.id != columns]
    return render("table.html", title=full_title(answer), grid=grid(answer, rows, columns), answer=answer, css=Markup(style()))


def _columns(answer: AnsweredTable) -> str | None:
    few: Sequence[str] = [each.id for each in answer.dimensions[1:] if len(each.codes) <= TUNING.widest]
    return few[-1] if few else None
