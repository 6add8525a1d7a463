"""The table: what is added up, by what, and the trees of codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.data.hierarchy import Hierarchy
from statveil.desk import edits
from statveil.desk.decisions import as_tables_are_called, decisions_of
from statveil.desk.forms import Given, Words, word
from statveil.desk.maps.risk_map import MapHeading, headings
from statveil.desk.screens.page import Desk, back, step_of
from statveil.desk.trees import lines_of, tree_of_lines, write_tree
from statveil.tables.spec import Dimension

SHOWN, OPEN = 200, 40
"""Codes of a tree that are drawn, and of one that is drawn open. By judgement."""


class DrawnTree(NamedTuple):
    name: str
    headings: list[MapHeading]
    codes: int


def add(app: FastAPI, desk: Desk) -> None:
    _add_table(app, desk)
    _add_links(app, desk)
    _add_tree(app, desk)


def _add_table(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/table")
    def table(request: Request) -> Response:
        if desk.looks.holds_records:
            raise InputError("This job makes a safe file, not a table.", hint="Open the records for a table on the first screen.")
        if desk.looks.serves:
            raise InputError("This job is that of a table server, not of a table.", hint="Its tables are set up on the screen Dataset.")
        given = {name: request.query_params.getlist(name) for name in request.query_params}
        asked, at, tables = (given if "dimension" in given else {}), word(given, "at"), edits.tables_of(project.content)
        trees, fault = _trees(desk, asked, at)
        place = edits.place_of(project.content, at)
        return desk.page(
            request,
            "table.html",
            columns=desk.looks.columns().profiles,
            tables=tables,
            at=place if place < len(tables) else edits.NEW,
            table=tables[place] if place < len(tables) else {**tables[0], "name": ""} if tables else {},
            files=project.data_files(),
            trees=trees,
            fault="" if asked else fault,
            tree_fault=fault if asked else "",
            tried=bool(asked),
            open_up_to=OPEN,
            measures=list(dict.fromkeys(each["measure"] for each in tables if each.get("measure"))),
            equations=project.content.get("equation", []),
            decisions=decisions_of(project, project.content),
        )

    @app.post("/table")
    def change_table(request: Request, form: Given) -> Response:
        def changed(content: dict[str, Any]) -> Mapping[str, Any]:
            new = edits.with_table(content, form)
            called = dict(zip(edits.names_of(content), edits.names_of(new), strict=False))  # a new table comes last
            return desk.checked(as_tables_are_called(project, new, called))

        project.change(changed, step_of(request, form, "the table"))
        at = word(form, "at")
        which = f"?at={at}" if at.isdigit() and at != "0" else ""
        return back(f"/table{which}" if _trees(desk, {}, at)[1] else "/risk")  # what is chosen stays, and what is wrong is said there


def _add_links(app: FastAPI, desk: Desk) -> None:
    """What links several tables: that they are protected together, and equations between what they add up."""
    project = desk.project

    @app.post("/table/drop")
    def drop_table(request: Request, form: Given) -> Response:
        def changed(content: dict[str, Any]) -> Mapping[str, Any]:
            new = edits.without_table(content, form)
            return desk.checked(as_tables_are_called(project, new, {name: name for name in edits.names_of(new)}))

        project.change(changed, step_of(request, form, "one table less"))
        return back("/table")

    @app.post("/equations")
    def add_equation(request: Request, form: Given) -> Response:
        def changed(content: dict[str, Any]) -> Mapping[str, Any]:
            new = desk.checked(edits.with_equation(content, form))
            desk.looks.assessed(new)  # one that does not hold in the records is told now
            return new

        project.change(changed, step_of(request, form, f"equation of {word(form, 'total')}"))
        return back("/table")

    @app.post("/equations/drop")
    def drop_equation(request: Request, form: Given) -> Response:
        project.change(lambda content: desk.checked(edits.without_equation(content, form)), step_of(request, form, "one equation less"))
        return back("/table")


def _trees(desk: Desk, asked: Words, at: str) -> tuple[list[DrawnTree], str]:
    """The trees as the library reads them, of a table of the job or as a form has them now, or what is wrong with them."""
    try:
        content = edits.with_table(desk.project.content, asked) if asked else None
        views = desk.looks.assessed(content).table.views
    except StatveilError as error:
        return [], desk.said(error)
    place = edits.place_of(desk.project.content, at)
    return [_drawn(each) for each in views[min(place, len(views) - 1)].dimensions], ""


def _drawn(dimension: Dimension) -> DrawnTree:
    return DrawnTree(dimension.name, headings(dimension, dimension.codes, most=SHOWN), len(dimension.codes))


def _add_tree(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/tree")
    def tree(request: Request) -> Response:
        name, text = request.query_params.get("of", ""), request.query_params.get("text")
        text = _lines_now(desk, name) if text is None else text
        drawn, fault = _drawn_lines(desk, name, text)
        return desk.page(request, "tree.html", name=name, text=text, drawn=drawn, fault=fault)

    @app.post("/tree")
    def write(request: Request, form: Given) -> Response:
        name = word(form, "of")
        project.expect(word(form, "state"))
        file = write_tree(project, name, word(form, "text"))
        project.change(lambda content: desk.checked(edits.with_tree(content, form, file)), step_of(request, form, f"the tree of {name}"))
        return back("/table")


def _lines_now(desk: Desk, name: str) -> str:
    """The tree that the dimension has, or all codes of the records below the total."""
    try:
        found = (each for view in desk.looks.assessed().table.views for each in view.dimensions if each.name == name)
        return lines_of(next(found).trees[0])
    except (StatveilError, StopIteration):
        return lines_of(Hierarchy.flat(desk.looks.job().microdata.codes(name)))


def _drawn_lines(desk: Desk, name: str, text: str) -> tuple[DrawnTree | None, str]:
    """The tree of these lines, and what is wrong with it, or which codes of the records it lacks."""
    try:
        tree = tree_of_lines(text)
    except StatveilError as error:
        return None, str(error)
    missing = sorted(set(desk.looks.job().microdata.codes(name)) - set(tree.leaves))
    told = f"The records have codes that are no leaves of this tree: {', '.join(missing[:8])}{', ...' if len(missing) > 8 else ''}."
    return _drawn(Dimension(name=name, trees=(tree,))), told if missing else ""
