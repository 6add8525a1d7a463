"""The table: what is added up, by what, and the trees of codes."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.desk import edits
from statveil.desk.forms import Given, Words
from statveil.desk.maps.risk_map import MapHeading, headings
from statveil.desk.screens.page import Desk, back, step_of

SHOWN, OPEN = 200, 40
"""Codes of a tree that are drawn, and of one that is drawn open. By judgement."""


class DrawnTree(NamedTuple):
    name: str
    headings: list[MapHeading]
    codes: int


def add(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/table")
    def table(request: Request) -> Response:
        if desk.looks.holds_records:
            raise InputError("This job makes a safe file, not a table.", hint="Open the records for a table on the first screen.")
        if desk.looks.serves:
            raise InputError("This job is that of a table server, not of a table.", hint="Its tables are set up on the screen Dataset.")
        asked = {name: request.query_params.getlist(name) for name in request.query_params}
        trees, fault = _trees(desk, asked)
        return desk.page(
            request,
            "table.html",
            columns=desk.looks.columns().profiles,
            table=edits.first_table(project.content),
            files=project.data_files(),
            trees=trees,
            fault="" if asked else fault,
            tree_fault=fault if asked else "",
            tried=bool(asked),
            open_up_to=OPEN,
        )

    @app.post("/table")
    def change_table(request: Request, form: Given) -> Response:
        project.change(lambda content: desk.checked(edits.with_table(content, form)), step_of(request, form, "the table"))
        return back("/table" if _trees(desk, {})[1] else "/risk")  # what is chosen stays, and what is wrong with it is said there


def _trees(desk: Desk, asked: Words) -> tuple[list[DrawnTree], str]:
    """The trees as the library reads them, of the job or as a form has them now, or what is wrong with them."""
    try:
        content = edits.with_table(desk.project.content, asked) if asked else None
        dimensions = desk.looks.assessed(content).table.views[0].dimensions
    except StatveilError as error:
        return [], desk.said(error)
    return [DrawnTree(each.name, headings(each, each.codes, most=SHOWN), len(each.codes)) for each in dimensions], ""
