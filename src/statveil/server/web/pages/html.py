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

from statveil.core.arrays import BoolArray, IntArray
from statveil.publish.formats.numbers import grouped
from statveil.publish.report.charts import Spec, chart
from statveil.publish.report.page import HERE as REPORT
from statveil.server.engine.answer import AnsweredDimension, AnsweredTable, full_title, measure_words
from statveil.server.engine.notes import notes

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
    heading: Heading
    cells: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """The rows of the last dimension that goes down, for one combination of the codes of those before it."""

    title: str
    rows: Sequence[GridRow]


@dataclass(frozen=True, kw_only=True)
class TableGrid:
    """What a page shows: `across` is the dimension of the columns. `rows_left_out`: how many rows there are beyond those shown."""

    row_name: str
    across: str
    columns: Sequence[Heading]
    groups: Sequence[RowGroup]
    rows_left_out: int

    @property
    def rows(self) -> list[GridRow]:
        return [row for group in self.groups for row in group.rows]


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
    """The dimensions `rows` downwards, the last one within the others; `columns` across."""
    axis = {dimension.id: place for place, dimension in enumerate(answer.dimensions)}
    order = [axis[each] for each in rows] + ([] if columns is None else [axis[columns]])
    across = headings(answer.dimensions[axis[columns]]) if columns is not None else [Heading(label=answer.measure_label, depth=0)]
    *outer, inner = [headings(answer.dimensions[axis[each]]) for each in rows]
    outer_names = [answer.dimensions[axis[each]].label for each in rows[:-1]]
    values, missing = (array.transpose(order).reshape(-1, len(inner), len(across)) for array in (answer.values, answer.missing))
    whole = len(values) * len(inner)
    left = shown = whole if most_cells is None else min(whole, max(1, most_cells // len(across)))
    groups = []
    for names, block, gone in zip(product(*outer), values, missing, strict=True):
        lines = zip(inner[:left], block, gone, strict=False)
        made = [GridRow(heading=heading, cells=_texts(answer, line, absent)) for heading, line, absent in lines]
        title = " · ".join(f"{name}: {each.label}" for name, each in zip(outer_names, names, strict=True))
        groups.append(RowGroup(title=title, rows=made))
        left -= len(made)
        if left <= 0:
            break
    return TableGrid(
        row_name=" · ".join(answer.dimensions[axis[each]].label for each in rows),
        across=answer.dimensions[axis[columns]].label if columns is not None else "",
        columns=across,
        groups=groups,
        rows_left_out=whole - shown,
    )


def _texts(answer: AnsweredTable, values: IntArray, missing: BoolArray) -> list[str]:
    """Numbers as they are shown."""
    cells = zip(values.ravel().tolist(), missing.ravel().tolist(), strict=True)
    return [answer.withheld if gone else grouped(units, answer.decimals) for units, gone in cells]


def pivot_data(answer: AnsweredTable, chosen_rows: Sequence[str], columns: str | None) -> dict[str, Any]:
    """What the page needs to put other dimensions across without asking again."""
    return {
        "dimensions": [
            {"id": each.id, "label": each.label, "headings": [[heading.label, heading.depth] for heading in headings(each)]}
            for each in answer.dimensions
        ],
        "cells": _texts(answer, answer.values, answer.missing),
        "measure": answer.measure_label,
        "rows": list(chosen_rows),
        "columns": columns,
    }


def bars(answer: AnsweredTable, rows: Sequence[str], columns: str | None) -> Spec | None:
    """The largest of the finest rows as bars, in the colours of the columns where these are few. None if there is nothing to draw.

    Of several dimensions of rows the last is drawn, at the totals of the others.
    """
    axis = {dimension.id: place for place, dimension in enumerate(answer.dimensions)}
    if any(len(_tops(answer.dimensions[axis[each]])) != 1 for each in rows[:-1]):
        return None
    down = answer.dimensions[axis[rows[-1]]]
    across = answer.dimensions[axis[columns]] if columns is not None else None
    order = [axis[each] for each in rows] + ([] if columns is None else [axis[columns]])
    table = answer.values.transpose(order)[tuple(_tops(answer.dimensions[axis[each]])[0] for each in rows[:-1])]
    values = table.reshape(len(down.codes), -1).astype(np.float64) / 10.0**answer.decimals
    fine_rows = _finest(down)
    parts = _finest(across) if across is not None else [0]
    if across is not None and len(parts) > TUNING.most_colours:
        parts, across = _tops(across)[:1], None
    size = np.abs(values[np.ix_(fine_rows, parts)]).sum(axis=1)
    shown = [fine_rows[place] for place in np.argsort(-size, kind="stable")[: TUNING.most_bars] if size[place]]
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
    return _spec(answer, down, across, points, parts) if points else None


def _plain(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0


def _finest(dimension: AnsweredDimension) -> list[int]:
    above = {parent for parent in dimension.parents if parent is not None}
    return [place for place, code in enumerate(dimension.codes) if code not in above]


def _tops(dimension: AnsweredDimension) -> list[int]:
    return [place for place, parent in enumerate(dimension.parents) if parent is None]


_NUMBERS: Spec = {"format": "~s", "labelOverlap": "greedy", "labelExpr": "datum.value === 0 ? '0' : datum.label"}
"""The axis of numbers: 2M, no label on another."""


def _spec(
    answer: AnsweredTable, down: AnsweredDimension, across: AnsweredDimension | None, points: list[Spec], parts: Sequence[int]
) -> Spec:
    order = list(dict.fromkeys(point["row"] for point in points))
    encoding: Spec = {
        "y": {
            "field": "row",
            "type": "nominal",
            "sort": order,
            "title": None,
            "axis": {"labelLimit": 240},
        },
        "x": {"field": "value", "type": "quantitative", "title": measure_words(answer), "axis": _NUMBERS},
        "tooltip": [{"field": "row", "title": down.label}, {"field": "value", "title": answer.measure_label, "format": ","}],
    }
    if across is not None:
        domain = [across.labels[part] for part in parts]
        colour = {"field": "part", "type": "nominal", "scale": {"domain": domain, "range": list(COLOURS[: len(domain)])}}
        encoding |= {"color": {**colour, "legend": {}}, "order": {"field": "place", "type": "quantitative"}}
        encoding["tooltip"].insert(1, {"field": "part", "title": across.label})
    made = chart(points, {"type": "bar", "color": COLOURS[0]}, encoding, height=20 * len(order))
    return {**made, "autosize": {"type": "fit-x", "contains": "padding"}, "background": "transparent"}


TEMPLATES, STATIC = Path(__file__).with_name("templates"), Path(__file__).with_name("static")


@cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(template: str, **content: Any) -> str:
    return _environment().get_template(template).render(content)


@cache
def style() -> str:
    return (REPORT / "static" / "page.css").read_text(encoding="utf-8")


def _style_hash() -> str:
    return base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()


TABLE_POLICY = f"default-src 'none'; style-src 'sha256-{_style_hash()}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For the page of one table: its own style sheet and nothing else."""


def table_page(answer: AnsweredTable) -> str:
    """One table as a page of its own, to keep: a function of the answer alone."""
    columns = _columns(answer)
    rows = [dimension.id for dimension in answer.dimensions if dimension.id != columns]
    return render(
        "table.html", title=full_title(answer), grid=grid(answer, rows, columns), answer=answer, notes=notes(answer), css=Markup(style())
    )


def _columns(answer: AnsweredTable) -> str | None:
    few: Sequence[str] = [each.id for each in answer.dimensions[1:] if len(each.codes) <= TUNING.widest]
    return few[-1] if few else None
