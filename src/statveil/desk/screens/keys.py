"""The keys of a safe file: what an intruder may know, what is rare, and the recoding explorer."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from statveil.core.errors import InputError, StatveilError
from statveil.desk import edits
from statveil.desk.forms import Given, Words, word
from statveil.desk.looks import Looks
from statveil.desk.screens.page import Desk, back, step_of


class PricedLevel(NamedTuple):
    """A step of a field's menu: what risk and loss would be with it, all else as it is."""

    field: str
    level: str
    unsafe: int
    recoding_cost: float
    blank_cost: float


def add(app: FastAPI, desk: Desk) -> None:
    project = desk.project

    @app.get("/keys")
    def keys(request: Request) -> Response:
        if not desk.looks.holds_records:
            raise InputError("This job makes a table, not a safe file.", hint="Open the records for a safe file on the first screen.")
        asked = {name: request.query_params.getlist(name) for name in request.query_params}
        priced, fault = _priced(desk.looks, asked if "field" in asked else {})
        return desk.page(
            request,
            "keys.html",
            columns=desk.looks.columns().profiles,
            job=project.content,
            files=project.data_files(),
            priced=priced,
            fault=fault,
            tried="field" in asked,
        )

    @app.post("/keys")
    def change_keys(request: Request, form: Given) -> Response:
        project.change(lambda content: desk.checked(edits.with_keys(content, form)), step_of(request, form, "the keys"))
        return back("/keys")

    @app.post("/keys/fix")
    def fix(request: Request, form: Given) -> Response:
        words = f"{word(form, 'field')}: {word(form, 'level') or 'as planned'}"
        project.change(lambda content: desk.checked(edits.with_fixed(content, form)), step_of(request, form, words))
        return back("/keys")


def _priced(looks: Looks, asked: Words) -> tuple[list[PricedLevel], str]:
    """Every step of every menu, of the job or as a form has it now; what is fixed stays where it is. Or what is wrong with the keys."""
    try:
        content = edits.with_keys(dict(looks.record_job().content), asked) if asked else None
        fixed = looks.record_job(content).parts.recoding.fixed or {}
        explorer = looks.explorer(content)
        explorer.recode_all(fixed)
        found = []
        for field, levels in explorer.menus.items():
            for level in levels:
                seen = explorer.recode_all({field: level})
                explorer.undo()
                found.append(PricedLevel(field, level, seen.unsafe_records, seen.recoding_cost, seen.blank_cost))
    except StatveilError as error:
        return [], str(error)
    return found, ""
