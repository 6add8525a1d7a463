"""Methods side by side, the frontier of a safe file, and what is taken from them into the job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError
from statveil.desk import approvals, edits, runs
from statveil.desk.forms import Given, word
from statveil.desk.project import Conflict
from statveil.desk.screens.page import Desk, back, step_of, who
from statveil.desk.serving.command import EVALUATION, PREPARED
from statveil.desk.work.kinds import COMPARE, EVALUATE, FRONT, PREPARE, comparison_wish

FIGURES = {
    COMPARE: ("comparison.html", "internal/compare.json"),
    FRONT: ("front.html", "internal/front.json"),
    EVALUATE: ("evaluation.html", EVALUATION),
    PREPARE: ("prepared.html", PREPARED),
}
PAGES = {COMPARE: "compare.html", FRONT: "tradeoff.html", EVALUATE: "evaluation.html"}


def add(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.post("/compare")
    def compare(request: Request, form: Given) -> Response:
        if desk.looks.holds_records:
            raise InputError("Methods are compared on a table, and this job makes a safe file.")
        desk.looks.assessed()  # what is wrong with the table is said now
        wish = comparison_wish(form.get("method", []), word(form, "base"))
        return back(f"/runs/{runs.start(project, who(request), state=word(form, 'state'), kind=COMPARE, wish=wish)}")

    @app.post("/front")
    def front(request: Request, form: Given) -> Response:
        if not desk.looks.holds_records:
            raise InputError("A frontier is worked out for a safe file, and this job makes a table.")
        desk.checked(project.content)
        return back(f"/runs/{runs.start(project, who(request), state=word(form, 'state'), kind=FRONT)}")

    @app.post("/runs/{id_}/take")
    def take(request: Request, id_: str, form: Given) -> Response:
        run, choice = runs.run_of(project, id_), word(form, "choice")
        found = figures_of(desk, run)
        step = step_of(request, form, f"take {'point ' if run.kind == FRONT else ''}{choice} of run {run.id}")
        project.change(lambda content: desk.checked(_taken(content, run.kind, found, choice)), step)
        return back("/protect")


def figures_of(desk: Desk, run: runs.DeskRun) -> dict[str, Any]:
    """What the run found, if it is as the run wrote it."""
    if run.kind not in FIGURES or run.status != "done":
        raise Conflict("This run has no figures to take from.")
    runs.sound(desk.project, run.id)
    path = runs.result_folder(desk.project, run.id) / FIGURES[run.kind][1]
    return dict(json.loads(path.read_text(encoding="utf-8")))


def figures_page(desk: Desk, request: Request, run: runs.DeskRun) -> Response:
    found, approved = figures_of(desk, run), approvals.approval(desk.project, run.id)
    return desk.page(request, FIGURES[run.kind][0], run=run, found=found, takeable=edits.TAKEABLE, approval=approved)


def _taken(content: dict[str, Any], kind: str, found: Mapping[str, Any], choice: str) -> dict[str, Any]:
    if kind == COMPARE:
        return edits.with_method(content, choice)
    point = next((point for point in found["points"] if str(point["point"]) == choice), None)
    if point is None:
        raise InputError("The frontier has no such point.")
    return {**content, "recoding": {**content.get("recoding", {}), "fixed": dict(point["recoding"])}}
