"""The dataset of a table server: what may be asked, and how it is protected."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.desk.forms import Given
from statveil.desk.maps.risk_map import headings
from statveil.desk.screens.page import Desk, back, step_of
from statveil.desk.screens.table import SHOWN, DrawnTree
from statveil.desk.serving.dataset import COUNT, KEPT, as_table, first_dataset, with_dataset

NO_SERVER = "This job is not that of a table server."
OPEN_ONE = "Open the records for tables on request on the first screen."


class ServedTree(NamedTuple):
    """The tree of a dimension as the library reads it, or what is wrong with it."""

    drawn: DrawnTree
    fault: str


def add(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/dataset")
    def dataset(request: Request) -> Response:
        of_server(desk)
        content, columns = project.content, desk.looks.columns().profiles
        part = first_dataset(content)
        measures = {each.get("column", COUNT): each for each in part["measure"]}
        return desk.page(
            request,
            "dataset.html",
            columns=columns,
            files=project.data_files(),
            several=len(content["dataset"]) > 1,
            part=part,
            measures=measures,
            amounts=[each.name for each in columns if each.span is not None or each.name in measures],
            rules={rule["type"]: rule for rule in part["rule"]},
            trees=_trees(desk),
            kept=KEPT,
            count=COUNT,
        )

    @app.post("/dataset")
    def change_dataset(request: Request, form: Given) -> Response:
        of_server(desk)
        project.change(lambda content: desk.checked(with_dataset(content, form)), step_of(request, form, "the dataset"))
        return back("/dataset")


def of_server(desk: Desk) -> None:
    if not desk.looks.serves:
        raise InputError(NO_SERVER, hint=OPEN_ONE)


def _trees(desk: Desk) -> list[ServedTree]:
    """One dimension at a time: a tree that lacks codes is said here, before anything is measured."""
    content, found = desk.project.content, []
    for name in first_dataset(content)["dimensions"]:
        try:
            dimension = desk.looks.assessed(as_table(content, name)).table.views[0].dimensions[0]
        except StatveilError as error:
            found.append(ServedTree(DrawnTree(name, [], 0), str(error)))
            continue
        drawn = headings(dimension, dimension.codes, most=SHOWN)
        found.append(ServedTree(DrawnTree(name, drawn, len(dimension.codes)), ""))
    return found
