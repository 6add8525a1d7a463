"""The dataset of a table server: what may be asked, and how it is protected."""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.desk.forms import Given, word
from statveil.desk.maps.risk_map import headings
from statveil.desk.screens.data import first_job, tabs
from statveil.desk.screens.page import Desk, back, step_of
from statveil.desk.screens.table import SHOWN, DrawnTree
from statveil.desk.serving.dataset import (
    COUNT,
    KEPT,
    as_table,
    columns_of_measures,
    dataset_at,
    place_of,
    with_another,
    with_dataset,
    without_dataset,
)

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
        content, at = project.content, request.query_params.get("at", "")
        columns, part = desk.looks.columns(place_of(content, at)).profiles, dataset_at(content, at)
        measures = {each.get("column", COUNT): each for each in part["measure"]}
        return desk.page(
            request,
            "dataset.html",
            columns=columns,
            files=project.data_files(),
            **tabs(content, at),
            part=part,
            measures=measures,
            amounts=[each.name for each in columns if each.span is not None or each.name in measures],
            rules={rule["type"]: rule for rule in part["rule"]},
            trees=_looked_at(desk, at),
            kept=KEPT,
            count=COUNT,
        )

    @app.post("/dataset")
    def change_dataset(request: Request, form: Given) -> Response:
        of_server(desk)
        project.change(lambda content: desk.checked(with_dataset(content, form)), step_of(request, form, "the dataset"))
        place = place_of(project.content, word(form, "at"))
        return back(f"/dataset?at={place}" if place else "/dataset")

    @app.post("/dataset/add")
    def add_dataset(request: Request, form: Given) -> Response:
        of_server(desk)
        name = word(form, "name")
        if name not in project.data_files():
            raise InputError("The project has no such file.", hint="Add it first.")
        (part,) = tomllib.loads(first_job(project, project.folder / name, "server"))["dataset"]
        project.change(lambda content: desk.checked(with_another(content, part)), step_of(request, form, f"dataset {name}"))
        return back(f"/dataset?at={len(project.content['dataset']) - 1}")

    @app.post("/dataset/drop")
    def drop_dataset(request: Request, form: Given) -> Response:
        of_server(desk)
        project.change(lambda content: desk.checked(without_dataset(content, form)), step_of(request, form, "one dataset less"))
        return back("/dataset")


def of_server(desk: Desk) -> None:
    if not desk.looks.serves:
        raise InputError(NO_SERVER, hint=OPEN_ONE)


def refuse_faults(desk: Desk) -> None:
    """What is wrong with a dataset is said before a run is begun, not after it."""
    for at in range(len(desk.project.content["dataset"])):
        for each in _looked_at(desk, str(at)):
            if each.fault:
                raise InputError(f"{each.drawn.name}: {each.fault}")


def _looked_at(desk: Desk, at: str) -> list[ServedTree]:
    """One dimension at a time, then the other measures: codes that a tree lacks, words among numbers."""
    part = dataset_at(desk.project.content, at)
    found = [_served(desk, at, name) for name in part["dimensions"]]
    first = next(iter(part["dimensions"]))
    others = [(name, _served(desk, at, first, name)) for name in columns_of_measures(part)[1:]]
    return [*found, *(ServedTree(DrawnTree(name, [], 0), each.fault) for name, each in others if each.fault)]


def _served(desk: Desk, at: str, name: str, measure: str = "") -> ServedTree:
    try:
        dimension = desk.looks.assessed(as_table(desk.project.content, at, name, measure)).table.views[0].dimensions[0]
    except StatveilError as error:
        return ServedTree(DrawnTree(name, [], 0), desk.said(error))
    drawn = headings(dimension, dimension.codes, most=SHOWN)
    return ServedTree(DrawnTree(name, drawn, len(dimension.codes)), "")
