"""The desk's pages: plain links and forms. A form that changes the job carries the state it was made on."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from statveil.core.errors import InputError, StatveilError
from statveil.desk import approvals, edits, runs
from statveil.desk.access import DeskDoor
from statveil.desk.looks import Looks
from statveil.desk.project import Project
from statveil.desk.risk_map import TUNING, Place, card, risk_map
from statveil.jobs.new_job import new_job
from statveil.publish.report.page import HERE as REPORT
from statveil.tables.table import View

LARGEST = 256 << 20
"""Bytes of a file that is dropped; a larger one is put into the folder by hand. By judgement."""
HERE = Path(__file__).parent
STYLES = {"page.css": REPORT / "static" / "page.css", "desk.css": HERE / "templates" / "desk.css"}
STEPS = (("/", "Data"), ("/table", "Table"), ("/risk", "Risk"), ("/protect", "Protect"), ("/log", "Log"))


class Form(dict[str, list[str]]):
    """The words of a form, and the file that came with it, which is closed when the request ends."""

    file: UploadFile | None = None


async def read_form(request: Request) -> AsyncIterator[Form]:
    form = Form()
    async with request.form(max_fields=2_000) as given:
        for name, value in given.multi_items():
            if isinstance(value, UploadFile):
                form.file = value
            else:
                form.setdefault(name, []).append(value)
        yield form


Given = Annotated[Form, Depends(read_form)]


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def desk_application(folder: Path, *, token: str, person: str, largest: int = LARGEST) -> DeskDoor:
    project = Project(folder, person)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    desk = Desk(project)
    desk.add_records(app)
    desk.add_table(app)
    desk.add_runs(app)
    _explain_errors(app, desk)
    return DeskDoor(application=app, token=token, largest=largest)


def back(address: str) -> Response:
    return RedirectResponse(address, status_code=303)


class Desk:
    """One project's screens."""

    def __init__(self, project: Project) -> None:
        self.project, self.looks = project, Looks(project)

    def page(self, template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
        project = self.project
        common = {
            "steps": STEPS,
            "state": project.state,
            "stack": project.stack,
            "job_text": project.text,
            "project": project.folder.name,
            "person": project.person,
            "running": next((run for run in runs.runs(project) if run.status == "running"), None),
        }
        return HTMLResponse(_environment().get_template(template).render({**common, **content}), status_code=status)

    def problem(self, message: str, hint: str, *, status: int) -> HTMLResponse:
        return self.page("problem.html", status=status, message=message, hint=hint)

    def add_records(self, app: FastAPI) -> None:
        project = self.project

        @app.get("/")
        def data() -> Response:
            columns = self.looks.profile() if project.content else []
            return self.page("data.html", columns=columns, files=project.data_files(), now=project.content.get("data", {}).get("file", ""))

        @app.post("/data/drop")
        def drop(form: Given) -> Response:
            if form.file is None or not form.file.filename:
                raise InputError("No file was chosen.")
            target = project.plain_file("data", form.file.filename)
            if target.exists():
                raise InputError(f"The project has a file {target.name!r} already.", hint="Give the new one another name.")
            with target.open("xb") as file:
                shutil.copyfileobj(form.file.file, file)
            project.log.write("file", person=project.person, name=target.name)
            return back("/")

        @app.post("/data/open")
        def open_file(form: Given) -> Response:
            path = project.plain_file("data", edits.word(form, "name"))
            project.replace(_first_job(project, path), f"open {path.name}", state=edits.word(form, "state"))
            return back("/")

        @app.post("/undo")
        def undo(form: Given) -> Response:
            project.move(-1, state=edits.word(form, "state"))
            return back("/")

        @app.post("/redo")
        def redo(form: Given) -> Response:
            project.move(1, state=edits.word(form, "state"))
            return back("/")

        @app.get("/log")
        def log() -> Response:
            return self.page("log.html", lines=list(reversed(project.log.last(200))), head=project.log.head())

        @app.get("/static/{name}")
        def static(name: str) -> Response:
            if name not in STYLES:
                raise HTTPException(404)
            return Response(STYLES[name].read_bytes(), media_type="text/css")

    def add_table(self, app: FastAPI) -> None:
        project = self.project

        @app.get("/table")
        def table() -> Response:
            return self.page("table.html", columns=self.looks.profile(), table=edits.first_table(project.content), files=project.data_files())

        @app.post("/table")
        def change_table(form: Given) -> Response:
            project.change(lambda content: edits.with_table(content, form), "the table", state=edits.word(form, "state"))
            return back("/risk")

        @app.post("/rules")
        def change_rule(form: Given) -> Response:
            words = " ".join(edits.word(form, name) for name in ("type", *edits.RULE_FIELDS.get(edits.word(form, "type"), ())))
            project.change(lambda content: edits.with_rule(content, form), f"rule {words.strip()}"[:80], state=edits.word(form, "state"))
            return back("/risk")

        @app.post("/rules/drop")
        def drop_rule(form: Given) -> Response:
            project.change(lambda content: edits.without_rule(content, form), "one rule less", state=edits.word(form, "state"))
            return back("/risk")

        @app.get("/risk")
        def risk(request: Request) -> Response:
            return self._risk(request)

    def _risk(self, request: Request) -> Response:
        assessed, asked = self.looks.assessed(), request.query_params
        view = assessed.table.views[0]
        place = _place(view, asked)
        cell = asked.get("cell", "")
        known = cell.isdigit() and int(cell) in view.cell
        return self.page(
            "risk.html",
            view=view,
            place=place,
            map=risk_map(assessed.table, assessed.found, view, place),
            tuning=TUNING,
            counts=assessed.counts(),
            rules=self.project.content.get("rule", []),
            rule_fields=edits.RULE_FIELDS,
            card=card(assessed.table, assessed.found, view, int(cell)) if known else None,
            link=lambda **changed: address(place, **changed),
        )

    def add_runs(self, app: FastAPI) -> None:
        project = self.project

        @app.get("/protect")
        def protect() -> Response:
            content = project.content
            chosen = {**content.get("protection", {}), "seconds": content.get("limits", {}).get("seconds", 60)}
            return self.page("protect.html", runs=runs.runs(project), chosen=chosen)

        @app.post("/protect/settings")
        def settings(form: Given) -> Response:
            project.change(lambda content: edits.with_protection(content, form), "how to protect", state=edits.word(form, "state"))
            return back("/protect")

        @app.post("/runs")
        def run(form: Given) -> Response:
            self.looks.assessed()  # what is wrong with the job is said now
            project.expect(edits.word(form, "state"))
            return back(f"/runs/{runs.start(project)}")

        @app.get("/runs/{id_}")
        def one_run(id_: str) -> Response:
            return self.page("run.html", run=runs.run_of(project, id_), approval=approvals.approval(project, id_))

        @app.post("/runs/{id_}/stop")
        def stop(id_: str) -> Response:
            runs.stop(project, id_)
            return back(f"/runs/{id_}")

        @app.get("/runs/{id_}/report")
        def report(id_: str) -> Response:
            """The internal report: a page of its own, with its own scripts in it, shut off from the desk."""
            path = runs.result_folder(project, id_) / "internal" / "report-internal.html"
            if not path.is_file():
                raise HTTPException(404)
            policy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
            return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": policy})

        @app.post("/runs/{id_}/approve")
        def approve(id_: str, form: Given) -> Response:
            approvals.approve(project, id_, edits.word(form, "person")[:80], edits.word(form, "reason")[:400])
            return back(f"/runs/{id_}")

        @app.post("/runs/{id_}/publish")
        def publish(id_: str) -> Response:
            approvals.publish(project, id_)
            return back(f"/runs/{id_}")


def _first_job(project: Project, path: Path) -> str:
    """What `statveil new` would write for the file; its paths start from the project's folder."""
    target = project.folder / ".first-job.toml"
    target.unlink(missing_ok=True)
    try:
        new_job(path, target)
        return target.read_text(encoding="utf-8").replace(target.name, "job.toml")
    finally:
        target.unlink(missing_ok=True)


def _place(view: View, asked: Mapping[str, str]) -> Place:
    """What the address asks to see; what it does not know is left out."""
    names = [dimension.name for dimension in view.dimensions]
    rows = asked.get("rows") if asked.get("rows") in names else names[0]
    others = [name for name in names if name != rows]
    columns = asked.get("columns") if asked.get("columns") in others else (others[0] if others else rows)
    tops = {dimension.name: dimension.total for dimension in view.dimensions}
    return Place(
        rows=str(rows),
        columns=str(columns),
        open_rows=_opened(asked, "open_rows", tops[str(rows)]),
        open_columns=_opened(asked, "open_columns", tops[str(columns)]),
        at={name: asked[f"at {name}"] for name in names if f"at {name}" in asked},
        first_row=_whole(asked.get("first_row", "")),
        first_column=_whole(asked.get("first_column", "")),
    )


def _opened(asked: Mapping[str, str], name: str, total: str) -> frozenset[str]:
    try:
        given = json.loads(asked[name]) if name in asked else [total]
    except ValueError:
        given = [total]
    return frozenset(str(code) for code in given) if isinstance(given, list) else frozenset({total})


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def address(place: Place, **changed: Any) -> str:
    """The address of the same map with something changed; `turn_row` and `turn_column` open what is closed and close what is open."""
    rows, columns = set(place.open_rows), set(place.open_columns)
    rows ^= {changed.pop("turn_row")} if "turn_row" in changed else set()
    columns ^= {changed.pop("turn_column")} if "turn_column" in changed else set()
    asked = {"rows": place.rows, "columns": place.columns, "open_rows": json.dumps(sorted(rows)), "open_columns": json.dumps(sorted(columns))}
    asked |= {f"at {name}": code for name, code in place.at.items()} | {"first_row": place.first_row, "first_column": place.first_column}
    return "/risk?" + urlencode({**asked, **changed})


def _explain_errors(app: FastAPI, desk: Desk) -> None:
    """Errors in the words of the command line; of what was not foreseen only its kind is told."""

    @app.exception_handler(StatveilError)
    def ours(request: Request, error: StatveilError) -> Response:
        return desk.problem(error.message, error.hint, status=error.http_status)

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        return desk.problem("There is no such page." if error.status_code == 404 else "This cannot be asked.", "", status=error.status_code)
