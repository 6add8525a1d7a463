"""The risk map with its rules, the card of a cell, and what is decided on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.desk import edits
from statveil.desk.decisions import STATUSES, Decision, decisions_of, with_decision, without_decision
from statveil.desk.forms import Form, Given, word
from statveil.desk.looks import Assessed
from statveil.desk.maps.cards import card, listed_cells, sums_of
from statveil.desk.maps.risk_map import TUNING, Place, labels_of, place_of, risk_map, rule_marks
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

    @app.post("/decisions/drop")
    def take_back(request: Request, form: Given) -> Response:
        place = word(form, "place")
        at = int(place) if place.isascii() and place.isdigit() and len(place) < 9 else -1
        step = step_of(request, form, "one decision less")
        project.change(lambda content: desk.checked(without_decision(project, content, at)), step)
        return back(desk.same_page(request))


def _risk(desk: Desk, request: Request) -> Response:
    asked = request.query_params
    content = _tried(desk, asked)
    assessed = desk.looks.assessed(content)
    shown = looked_at(assessed, asked, "/risk")
    view, place = shown["view"], shown["place"]
    return desk.page(
        request,
        "risk.html",
        **shown,
        map=risk_map(assessed.table, assessed.found, view, place),
        counts=assessed.counts(),
        rules=desk.project.content.get("rule", []),
        rule_fields=edits.RULE_FIELDS,
        rule_words=edits.RULE_WORDS,
        decisions=decisions_of(desk.project, desk.project.content),
        statuses=STATUSES,
        here=str(request.url.query),
    )


def looked_at(assessed: Assessed, asked: Mapping[str, str], screen: str) -> dict[str, Any]:
    """What every map shows beside its cells: the part that is asked for, the list, the card of a cell, and how to go on from there."""
    table, found = assessed.table, assessed.found
    view = _view(assessed, asked.get("view", ""))
    place, cell, only = _place(view, asked), _cell(view, asked.get("cell", "")), asked.get("only", "")
    kept = {"only": only} if only else {}
    listed, all_listed = listed_cells(table, found, view, only)
    return {
        "views": [each.name for each in table.views],
        "view": view,
        "place": place,
        "tuning": TUNING,
        "only": only,
        "lists": ["sensitive", *found.reasons, *(["frozen"] if found.frozen.any() else [])],
        "marks": rule_marks(found),
        "listed": listed,
        "all_listed": all_listed,
        "cell": cell,
        "card": card(table, found, view, cell, assessed.job.rules()) if cell >= 0 else None,
        "sums": sums_of(view, cell) if cell >= 0 else [],
        "asked": {**_asked_of(view, place), **kept},
        "link": lambda **changed: address(screen, view, place, **{**kept, **changed}),
        "to_cell": lambda other: address(screen, view, place_of(view, other, place), cell=other, **kept),
    }


def _cell(view: View, text: str) -> int:
    """The number of the cell whose card is asked for, if the view has it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 and int(text) in view.cell else -1


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
        new = with_decision(desk.project, content, decided)
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


def address(screen: str, view: View, place: Place, **changed: Any) -> str:
    """The address of the same map with something changed; `turn_row` and `turn_column` open what is closed and close what is open."""
    rows = place.open_rows ^ ({changed.pop("turn_row")} if "turn_row" in changed else set())
    columns = place.open_columns ^ ({changed.pop("turn_column")} if "turn_column" in changed else set())
    return f"{screen}?" + urlencode({**_asked_of(view, replace(place, open_rows=rows, open_columns=columns)), **changed})


def _asked_of(view: View, place: Place) -> dict[str, str]:
    """What an address says of the place that it leads to."""
    asked = {"view": view.name, "rows": place.rows, "columns": place.columns}
    asked |= {"open_rows": json.dumps(sorted(place.open_rows)), "open_columns": json.dumps(sorted(place.open_columns))}
    asked |= {f"at {name}": code for name, code in place.at.items()}
    pages = {name: str(start) for name, start in (("first_row", place.first_row), ("first_column", place.first_column)) if start}
    return {**asked, **pages}
