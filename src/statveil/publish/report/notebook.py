"""Charts of a release for a notebook: Vega-Lite as data, which JupyterLab and others draw. What is confidential is titled so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from statveil.core.errors import BackendMissing, InputError
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.files import write_bytes
from statveil.publish.report.changes import measure
from statveil.publish.report.charts import OTHER_COLOUR, Spec, all_charts, chart
from statveil.publish.report.page import VEGA, asset, json_for_page
from statveil.tables.shown.positions import public_positions

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MIME = "application/vnd.vegalite.v5+json"
INTERNAL_CHARTS = {
    "changes": ("distribution", "Relative changes of the cells"),
    "shares": ("ecdf", "Share of cells up to a relative change"),
    "levels": ("levels", "Relative changes by level"),
    "balance": ("balance", "Cells moved down and up"),
    "amounts": ("amounts", "Amounts moved down and up"),
    "search": ("trace", "How the table was found"),
}
"""By the name that a user gives: the chart of the internal report, and its title."""
MOST_BARS = 40
WIDTH = 520


@dataclass(frozen=True, kw_only=True)
class NotebookChart:
    """A chart as a Vega-Lite specification. It shows itself in a notebook, and in what a notebook is exported to, without any network;
    `to_html` writes it as a page."""

    name: str
    confidential: bool
    spec: Spec = field(repr=False)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        frame = f'<iframe srcdoc="{escape(self._page())}" style="width: 100%; max-width: 720px; border: 0"></iframe>'
        return {MIME: self.spec, "text/html": frame, "text/plain": repr(self)}

    def to_json(self) -> str:
        return json.dumps(self.spec, ensure_ascii=False)

    def to_html(self, path: str | Path) -> Path:
        """One page with all that is needed to draw it."""
        return write_bytes(Path(path), self._page().encode())

    def _page(self) -> str:
        """The page gives its frame, where it stands in one, the height of the chart."""
        scripts = "".join(f"<script>{asset(f'static/{name}')}</script>" for name in VEGA)
        draw = f"vegaEmbed('#chart', {json_for_page(self.spec)}, {{actions: false, renderer: 'svg'}})"
        fit = "if (frameElement) frameElement.style.height = document.documentElement.offsetHeight + 8 + 'px'"
        script = f"<script>{draw}.then(() => {{ {fit} }})</script>"
        return f"<!doctype html><meta charset='utf-8'>{scripts}<div id='chart'></div>{script}\n"

    def to_altair(self) -> Any:
        """As a chart of altair, where that is installed."""
        if find_spec("altair") is None:
            raise BackendMissing("A chart of altair needs altair, which is not installed.", hint="Run: pip install altair")
        import altair

        return altair.Chart.from_dict(self.spec)


def release_chart(release: AuditedTable, name: str) -> NotebookChart:
    """The chart of that name."""
    if name == "values":
        return NotebookChart(name=name, confidential=False, spec=_for_notebook(_values(release), "Released numbers"))
    if name not in INTERNAL_CHARTS:
        raise InputError(f"Unknown chart {name!r}.", hint=f"Known: values; confidential: {', '.join(INTERNAL_CHARTS)}.")
    inside, title = INTERNAL_CHARTS[name]
    spec = all_charts(measure(release), release.adjustment).get(inside)
    if spec is None:
        raise InputError(f"There is nothing to show in the chart {name!r}.", hint="No cell was changed, or nothing was searched for.")
    return NotebookChart(name=name, confidential=True, spec=_for_notebook(spec, f"CONFIDENTIAL: {title}"))


def _for_notebook(spec: Spec, title: str) -> Spec:
    return {"$schema": SCHEMA, **spec, "title": title, "width": WIDTH}


def _values(release: AuditedTable) -> Spec:
    """The released numbers of the first table by its first dimension, all others in total."""
    view, protected = release.protected.views[0], release.protected
    positions = public_positions(view, protected.value)
    dimension, shown = view.dimensions[0], (positions.coordinates[:, 1:] == 0).all(axis=1) & ~positions.structural
    codes, units = positions.coordinates[shown, 0].tolist(), positions.pick(protected.value)[shown].tolist()
    labels = [dimension.label(code) for code in dimension.codes]
    values = [{"code": labels[code], "value": number / 10**protected.decimals} for code, number in zip(codes, units, strict=True)][
        :MOST_BARS
    ]
    axis = {"format": "~s", "labelOverlap": "greedy", "labelSeparation": 4}
    encoding = {
        "y": {"field": "code", "type": "nominal", "sort": None, "title": dimension.name},
        "x": {"field": "value", "type": "quantitative", "title": view.name, "axis": axis},
        "color": {"value": OTHER_COLOUR},
        "tooltip": [{"field": "code"}, {"field": "value", "format": ","}],
    }
    return chart(values, "bar", encoding, height=max(90, 22 * len(values)))
