"""Before and after: the map of a run's table with what was released in each cell."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.core.toml import read_toml
from statveil.desk import runs
from statveil.desk.looks import Assessed
from statveil.desk.maps.released import Released
from statveil.desk.maps.risk_map import risk_map
from statveil.desk.screens.page import Desk
from statveil.desk.screens.risk import looked_at
from statveil.publish.formats.files import file_word, paths_of
from statveil.tables.table import View


def add(app: FastAPI, desk: Desk) -> None:
    @app.get("/runs/{id_}/map")
    def before_and_after(request: Request, id_: str) -> Response:
        run = runs.run_of(desk.project, id_)
        if run.status != "done" or "cells" not in run.figures:
            raise InputError("This run released no table.")
        assessed = desk.looks.assessed(job_of(desk, run))
        shown = looked_at(assessed, request.query_params, f"/runs/{id_}/map")
        released = _released(desk, run, assessed, shown["view"])

        def after(cell: int) -> str:
            return released.after(assessed.table, cell)

        cells = risk_map(assessed.table, assessed.found, shown["view"], shown["place"], after=after)
        stack = desk.project.stack
        is_current = stack.states[stack.at].number == run.asked["state"]
        return desk.page(request, "before_after.html", run=run, **shown, map=cells, after=after, is_current=is_current)


def job_of(desk: Desk, run: runs.DeskRun) -> dict[str, object]:
    """The job as it was when the run was asked for."""
    return read_toml(desk.project.state_file(int(run.asked["state"])), start_from="").content


def _released(desk: Desk, run: runs.DeskRun, assessed: Assessed, view: View) -> Released:
    """As the run wrote it; a result that was changed since is not shown."""
    runs.sound(desk.project, run.id)
    name = runs.result_folder(desk.project, run.id) / "internal" / f"{file_word(assessed.job.name)}-internal.csv"
    views = assessed.table.views
    path = paths_of(name, views)[[each.name for each in views].index(view.name)]
    return desk.looks.released(path, assessed.table, view)
