"""Tables and forms for people, as HTML: nothing is loaded from elsewhere, and everything works without a script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from statveil.server.engine.answer import AnsweredTable
from statveil.server.web.formats import full_title
from statveil.server.web.pages.grid import grid

HERE = Path(__file__).parent
STATIC = HERE.parent / "static"
WIDEST = 24
"""Columns that a page of one table may have; where the last dimension has more codes, they are rows."""


@cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


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
    few: Sequence[str] = [each.id for each in answer.dimensions[1:] if len(each.codes) <= WIDEST]
    return few[-1] if few else None
