"""The table: what is added up, by what, and the trees of codes."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.desk import edits
from statveil.desk.forms import Given
from statveil.desk.risk_map import MapHeading, headings
from statveil.desk.screens.page import Desk, back, step_of

SHOWN = 200
"""Codes of a tree that are drawn. By judgement."""


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
        trees, fault = _trees(desk)
        columns = desk.looks.columns().profiles
        chosen = edits.first_table(project.content)
        return desk.page(request, "table.html", columns=columns, table=chosen, files=project.data_files(), trees=trees, fault=fault)

    @app.post("/table")
    def change_table(request: Request, form: Given) -> Response:
        project.change(lambda content: desk.checked(edits.with_table(content, form)), step_of(request, form, "the table"))
        return back("/risk")


def _trees(desk: Desk) -> tuple[list[DrawnTree], str]:
    """The trees as the library reads them, or what is wrong with them."""
    try:
        dimensions = desk.looks.assessed().table.views[0].dimensions
    except StatveilError as error:
        return [], str(error)
    return [DrawnTree(each.name, headings(each, each.codes, most=SHOWN), len(each.codes)) for each in dimensions], ""
