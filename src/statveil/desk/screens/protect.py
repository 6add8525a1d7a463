"""Runs side by side, one run with its report, approval, publication, and the released files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.desk import approvals, edits, runs
from statveil.desk.decisions import decisions_of
from statveil.desk.forms import Form, Given, word
from statveil.desk.screens.before_after import job_of
from statveil.desk.screens.compare import FIGURES, PAGES, figures_page
from statveil.desk.screens.page import Desk, back, step_of, who
from statveil.desk.work.kinds import SERVE, methods
from statveil.jobs.folders.tables import PUBLIC, REPORT_FILE

SHUT_OFF = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""A report is a page of its own with its scripts in it: in a sandbox it has no origin, so no cookie, and no network."""


def add(app: FastAPI, desk: Desk) -> None:
    _add_runs(app, desk)
    _add_one_run(app, desk)
    _add_reports(app, desk)
    _add_release(app, desk)


def _add_runs(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/protect")
    def protect(request: Request) -> Response:
        content = project.content
        if desk.looks.serves:
            return desk.page(request, "evaluate.html", runs=runs.runs(project))
        chosen = edits.protection_of(content)
        return desk.page(
            request, "protect.html", runs=runs.runs(project), chosen=chosen, published=approvals.published(project), methods=methods()
        )

    @app.post("/protect/settings")
    def settings(request: Request, form: Given) -> Response:
        _set(desk, request, form)
        return back("/protect")

    @app.post("/runs")
    def run(request: Request, form: Given) -> Response:
        desk.checked(project.content)
        if desk.looks.serves:
            raise InputError("A server is measured and prepared, not run.", hint="The screen Evaluate has a button for each.")
        if not desk.looks.holds_records:
            desk.looks.assessed()  # what is wrong with the table is said now
        return back(f"/runs/{runs.start(project, who(request), state=_set(desk, request, form))}")


def _add_one_run(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/runs/{id_}")
    def one_run(request: Request, id_: str) -> Response:
        run, approval = runs.run_of(project, id_), approvals.approval(project, id_)
        if run.status == "done" and run.kind in FIGURES:
            return figures_page(desk, request, run)
        if run.kind == SERVE and run.status != "failed":
            return desk.page(request, "served.html", run=run)
        tried, succeed = attacks_that_succeed(run.figures.get("attacks") or {})
        public = [name.removeprefix(f"{PUBLIC}/") for name in approval.get("files", {}) if name.startswith(f"{PUBLIC}/")]
        return desk.page(
            request,
            "run.html",
            run=run,
            approval=approval,
            public=public,
            published=approvals.published(project) == id_,
            decisions=decisions_of(project, job_of(desk, run)),
            tried=tried,
            succeed=succeed,
        )

    @app.post("/runs/{id_}/stop")
    def stop(request: Request, id_: str) -> Response:
        runs.stop(project, id_, who(request))
        return back(f"/runs/{id_}")


def attacks_that_succeed(found: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many attacks the run tried on its own result, and which of them succeed: of a table by verdict, of a file by mark."""
    if "verdicts" in found:
        ended = {each["id"]: each["verdict"] == "passed" for each in found["verdicts"] if each["verdict"] != "not applicable"}
    else:
        ended = {name: each["passed"] for name, each in found.items()}
    return len(ended), [name for name, withstood in ended.items() if not withstood]


def _set(desk: Desk, request: Request, form: Form) -> str:
    """Settings that differ from those of the job are a step of it; the state of the job that the form is then meant for."""
    if edits.as_set(desk.project.content, form):
        return word(form, "state")
    desk.project.change(lambda content: desk.checked(edits.with_protection(content, form)), step_of(request, form, "how to protect"))
    return desk.project.state


def _add_reports(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/runs/{id_}/report")
    def internal(id_: str) -> Response:
        kind = runs.run_of(project, id_).kind
        if kind in PAGES:
            return _report(desk, id_, "internal", PAGES[kind])
        of_records = (runs.result_folder(project, id_) / "internal" / REPORT_FILE).is_file()
        return _report(desk, id_, "internal", REPORT_FILE if of_records else "report-internal.html")

    @app.get("/runs/{id_}/public-report")
    def external(id_: str) -> Response:
        return _report(desk, id_, PUBLIC, REPORT_FILE)

    @app.post("/runs/{id_}/approve")
    def approve(request: Request, id_: str, form: Given) -> Response:
        approvals.approve(project, id_, who(request), word(form, "reason")[:400])
        return back(f"/runs/{id_}")


def _report(desk: Desk, id_: str, folder: str, name: str) -> Response:
    """A report as the run wrote it; one that was changed since is not shown."""
    if f"{folder}/{name}" not in runs.sound(desk.project, id_):
        raise InputError("This run has no such report.")
    path = runs.result_folder(desk.project, id_) / folder / name
    return Response(path.read_bytes(), media_type="text/html", headers={"Content-Security-Policy": SHUT_OFF})


def _add_release(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.post("/runs/{id_}/publish")
    def publish(request: Request, id_: str) -> Response:
        approvals.publish(project, id_, who(request))
        return back(f"/runs/{id_}")

    @app.get("/runs/{id_}/release.zip")
    def whole(id_: str) -> Response:
        return _download(approvals.public_zip(project, id_), f"release-{id_}.zip")

    @app.get("/runs/{id_}/files/{name}")
    def one_file(id_: str, name: str) -> Response:
        return _download(approvals.public_file(project, id_, name), name)


def _download(content: bytes, name: str) -> Response:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in ".-_") else "_" for letter in Path(name).name)
    headers = {"Content-Disposition": f'attachment; filename="{plain}"', "Content-Security-Policy": "sandbox; default-src 'none'"}
    return Response(content, media_type="application/octet-stream", headers=headers)
