"""The risk map with its rules, the card of a cell, and what is decided on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.desk import edits
from statveil.desk.decisions import STATUSES, Decision, decisions_of, with_decision
from statveil.desk.forms import Form, Given, word
from statveil.desk.looks import Assessed
from statveil.desk.risk_map import TUNING, Place, card, labels_of, risk_map
from statveil.desk.screens.page import Desk, back, step_of, who
from statveil.tables.table import View, in_words

TRY = "try "


def add(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.post("/rules")
    def change_rule(request: Request, form: Given) -> Response:
        kind = word(form, "type")
        words = " ".join(word(form, name) for name in ("type", *edits.RULE_FIELDS.get(kind, ())))
        project.change(lambda content: desk.checked(edits.with_rule(content, form)), step_of(request, form, f"rule {words}"))
        return back(_here(form))

    @app.post("/rules/drop")
    def drop_rule(request: Request, form: Given) -> Response:
        project.change(lambda content: desk.checked(edits.without_rule(content, form)), step_of(request, form, "one rule less"))
        return back(_here(form))

    @app.get("/risk")
    def risk(request: Request) -> Response:
        return _risk(desk, request)

    @app.post("/decisions")
    def decide(request: Request, form: Given) -> Response:
        _decide(desk, request, form)
        return back(_here(form))


def _risk(desk: Desk, request: Request) -> Response:
    asked = request.query_params
    content = _tried(desk, asked)
    assessed = desk.looks.assessed(content)
    view = _view(assessed, asked.get("view", ""))
    place = _place(view, asked)
    cell = int(asked["cell"]) if asked.get("cell", "").isascii() and asked.get("cell", "").isdigit() else -1
    return desk.page(
        request,
        "risk.html",
        views=[each.name for each in assessed.table.views],
        view=view,
        place=place,
        map=risk_map(assessed.table, assessed.found, view, place),
        tuning=TUNING,
        counts=assessed.counts(),
        rules=desk.project.content.get("rule", []),
        rule_fields=edits.RULE_FIELDS,
        rule_words=edits.RULE_WORDS,
        decisions=decisions_of(desk.project, desk.project.content),
        statuses=STATUSES,
        cell=cell,
        card=card(assessed.table, assessed.found, view, cell) if cell in view.cell else None,
        here=str(request.url.query),
        link=lambda **changed: address(view, place, **changed),
    )


def _tried(desk: Desk, asked: Mapping[str, str]) -> dict[str, Any] | None:
    """The job with a rule as the hand moves it, which changes nothing; None: the job as it is."""
    if f"{TRY}type" not in asked:
        return None
    form = Form({name.removeprefix(TRY): [value] for name, value in asked.items() if name.startswith(TRY)})
    return edits.with_rule(desk.project.content, form)


def _decide(desk: Desk, request: Request, form: Form) -> None:
    assessed = desk.looks.assessed()
    view, cell, status = _view(assessed, word(form, "view")), word(form, "cell"), word(form, "status")
    if not (cell.isascii() and cell.isdigit()) or int(cell) not in view.cell:
        raise InputError("There is no such cell.")
    labels = labels_of(view, int(cell))
    decided = Decision(labels, view.name, status, who(request).name, word(form, "reason")[:400])
    step = step_of(request, form, f"{status or 'as the rules say'}: {in_words(labels)}")

    def changed(content: dict[str, Any]) -> Mapping[str, Any]:
        new = with_decision(desk.project, content, decided, several=len(assessed.table.views) > 1)
        desk.looks.assessed(new)  # what cannot be is said now
        return new

    desk.project.change(changed, step)
    desk.project.log.write("decision", person=decided.person, step=step.words, reason=decided.reason)


def _here(form: Form) -> str:
    """Back to the same part of the map; an address of the desk itself, whatever the form says."""
    return f"/risk?{word(form, 'here')}" if word(form, "here") else "/risk"


def _view(assessed: Assessed, name: str) -> View:
    return next((view for view in assessed.table.views if view.name == name), assessed.table.views[0])


def _place(view: View, asked: Mapping[str, str]) -> Place:
    """What the address asks to see; what it does not know is left out."""
    names = [dimension.name for dimension in view.dimensions]
    rows = asked["rows"] if asked.get("rows") in names else names[0]
    others = [name for name in names if name != rows]
    columns = asked["columns"] if asked.get("columns") in others else (others[0] if others else rows)
    tops = {dimension.name: dimension.total for dimension in view.dimensions}
    return Place(
        rows=rows,
        columns=columns,
        open_rows=_opened(asked, "open_rows", tops[rows]),
        open_columns=_opened(asked, "open_columns", tops[columns]),
        at={name: asked[f"at {name}"] for name in names if f"at {name}" in asked},
        first_row=_whole(asked.get("first_row", "")),
        first_column=_whole(asked.get("first_column", "")),
    )


def _opened(asked: Mapping[str, str], name: str, total: str) -> frozenset[str]:
    try:
        given = json.loads(asked[name]) if name in asked else [total]
    except (ValueError, RecursionError):
        given = [total]
    return frozenset(str(code) for code in given) if isinstance(given, list) else frozenset({total})


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def address(view: View, place: Place, **changed: Any) -> str:
    """The address of the same map with something changed; `turn_row` and `turn_column` open what is closed and close what is open."""
    rows, columns = set(place.open_rows), set(place.open_columns)
    rows ^= {changed.pop("turn_row")} if "turn_row" in changed else set()
    columns ^= {changed.pop("turn_column")} if "turn_column" in changed else set()
    asked = {"view": view.name, "rows": place.rows, "columns": place.columns}
    asked |= {"open_rows": json.dumps(sorted(rows)), "open_columns": json.dumps(sorted(columns))}
    asked |= {f"at {name}": code for name, code in place.at.items()}
    pages = {name: start for name, start in (("first_row", place.first_row), ("first_column", place.first_column)) if start}
    return "/risk?" + urlencode({**asked, **pages, **changed})
