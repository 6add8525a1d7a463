"""The desk as an application: its screens behind its door."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from statveil.core.errors import StatveilError
from statveil.desk.access import LOCAL, DeskDoor
from statveil.desk.people import People
from statveil.desk.project import Project
from statveil.desk.screens import before_after, compare, data, dataset, keys, protect, record_risk, risk, server, sign_in, table
from statveil.desk.screens.page import Desk

LARGEST = 256 << 20
"""Bytes of a file that is added in the browser; a larger one is put into the folder by hand. By judgement."""


def desk_application(
    folder: Path, people: People, *, largest: int = LARGEST, hosts: frozenset[str] = LOCAL, secure: bool = False
) -> DeskDoor:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    desk = Desk(Project(folder), people)
    for screen in (sign_in, data, table, keys, record_risk, risk, before_after, compare, protect, dataset, server):
        screen.add(app, desk)
    _explain_errors(app, desk)
    return DeskDoor(application=app, people=people, largest=largest, hosts=hosts, secure=secure)


def _explain_errors(app: FastAPI, desk: Desk) -> None:
    """Errors in the words of the command line; of what was not foreseen only its kind is told."""

    @app.exception_handler(StatveilError)
    def ours(request: Request, error: StatveilError) -> Response:
        return desk.problem(request, error.message, error.hint, status=error.http_status)

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        words = "There is no such page." if error.status_code == 404 else "This cannot be asked."
        return desk.problem(request, words, "", status=error.status_code)
