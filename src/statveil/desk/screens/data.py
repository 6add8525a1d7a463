"""The records: files of the project, which of them is open, what its columns look like; and the log."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.core.secret import new_key_file
from statveil.data.microdata import profile
from statveil.desk import edits
from statveil.desk.forms import Form, Given, Words, word
from statveil.desk.project import JobStep, Project
from statveil.desk.screens.page import Desk, back, step_of, who
from statveil.desk.serving.dataset import dataset_at, place_of, with_records_of_dataset
from statveil.jobs.demo.demo import write_inputs
from statveil.jobs.new_job import KINDS, Kind, new_job

EXAMPLE_RECORDS = 8_000
Edit = Callable[[dict[str, Any], Words], dict[str, Any]]
SECRET = "secret.key"
"""The key of a server lies in the project, where only its owner reads it."""


def add(app: FastAPI, desk: Desk) -> None:
    _add_files(app, desk)
    _add_history(app, desk)


def _add_files(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/")
    def data(request: Request) -> Response:
        content, at = project.content, request.query_params.get("at", "")
        columns = desk.looks.columns(place_of(content, at)) if content else None
        return desk.page(
            request,
            "data.html",
            columns=columns,
            files=project.data_files(),
            data=data_of(content, at),
            short=in_short,
            **tabs(content, at),
        )

    @app.post("/data/add")
    def add_file(request: Request, form: Given) -> Response:
        if form.file is None or not form.file.filename:
            raise InputError("No file was chosen.")
        target = project.plain_file("data", form.file.filename)
        if target.exists():
            raise InputError(f"The project has a file {target.name!r} already.", hint="Give the new one another name.")
        with target.open("xb") as file:
            shutil.copyfileobj(form.file.file, file)
        project.log.write("file", person=who(request).name, name=target.name)
        return back("/")

    @app.post("/data/example")
    def example(request: Request, form: Given) -> Response:
        project.replace(_example(project), step_of(request, form, "the example"))
        return back("/")

    @app.post("/data/open")
    def open_file(request: Request, form: Given) -> Response:
        _open(project, form, step_of(request, form, f"open {word(form, 'name')}"))
        return back("/")

    @app.post("/data/records")
    def change_records(request: Request, form: Given) -> Response:
        return _change_records(desk, request, form, edits.with_records, "the records used")

    @app.post("/data/missing")
    def make_missing(request: Request, form: Given) -> Response:
        return _change_records(desk, request, form, edits.with_missing_words, f"missing words of {word(form, 'column')}")

    @app.post("/data/complete")
    def leave_out(request: Request, form: Given) -> Response:
        return _change_records(desk, request, form, edits.with_complete, f"only with {word(form, 'column')}")


def _change_records(desk: Desk, request: Request, form: Form, edit: Edit, words: str) -> Response:
    def changed(content: dict[str, Any]) -> Mapping[str, Any]:
        new = with_records(content, form, edit)
        profile(desk.looks.microdata(new, place_of(new, word(form, "at"))))  # a condition that cannot be read is said now
        return new

    desk.project.change(changed, step_of(request, form, words))
    place = place_of(desk.project.content, word(form, "at"))
    return back(f"/?at={place}" if place else "/")


def in_short(amount: float) -> str:
    """Two figures, as nobody needs more of the amounts of single respondents to know a column: 120,000 or 0.52."""
    rounded = float(f"{amount:.2g}")
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:.6g}"


def data_of(content: Mapping[str, Any], at: str) -> Mapping[str, Any]:
    """Which records the job is about: its part data, or one of its datasets."""
    return dataset_at(content, at) if "dataset" in content else dict(content.get("data", {}))


def tabs(content: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The datasets of a server, of which the screen shows one."""
    names = [each.get("label") or each["id"] for each in content.get("dataset", [])]
    return {"datasets": names, "at": place_of(content, at)}


def with_records(content: dict[str, Any], form: Words, edit: Edit) -> dict[str, Any]:
    """The content with its records edited, wherever it names them."""
    if "dataset" not in content:
        return edit(content, form)
    at = word(form, "at")
    asked = edit({"data": dataset_at(content, at)}, form)["data"]
    return with_records_of_dataset(content, at, asked)


def _open(project: Project, form: Words, step: JobStep) -> None:
    """A first job for the file; a server gets a secret key too, unless there is one."""
    name = word(form, "name")
    if name not in project.data_files():
        raise InputError("The project has no such file.", hint="Add it first.")
    kind = word(form, "kind") or "table"
    known("kind", kind, KINDS)
    project.replace(first_job(project, project.folder / name, cast("Kind", kind)), step)
    if kind == "server" and not (project.folder / SECRET).exists():
        new_key_file(project.folder / SECRET)
        project.log.write("secret key made", person=step.person)


def _add_history(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.post("/undo")
    def undo(request: Request, form: Given) -> Response:
        project.move(-1, person=who(request).name, state=word(form, "state"))
        return back(desk.same_page(request))

    @app.post("/redo")
    def redo(request: Request, form: Given) -> Response:
        project.move(1, person=who(request).name, state=word(form, "state"))
        return back(desk.same_page(request))

    @app.get("/log")
    def log(request: Request) -> Response:
        return desk.page(request, "log.html", lines=list(reversed(project.log.last(200))), head=project.log.head())


def _example(project: Project) -> str:
    """Invented enterprises in the folder data, and the demonstration's job for them."""
    with tempfile.TemporaryDirectory(dir=project.folder) as place:
        write_inputs(Path(place), records=EXAMPLE_RECORDS)
        for path in (Path(place) / "input").iterdir():
            path.replace(project.folder / "data" / path.name)
        return (Path(place) / "job.toml").read_text(encoding="utf-8").replace('"input/', '"data/')


def first_job(project: Project, path: Path, kind: Kind) -> str:
    """What `statveil new` would write for the file; its paths start from the project's folder."""
    target = project.folder / ".first-job.toml"
    target.unlink(missing_ok=True)
    try:
        new_job(path, target, kind)
        return target.read_text(encoding="utf-8").replace(target.name, "job.toml")
    finally:
        target.unlink(missing_ok=True)
