"""Signing in by a token, and out; style sheets and the script."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from statveil.desk.access import COOKIE, DeskDoor
from statveil.desk.forms import Given, word
from statveil.desk.screens.page import TEMPLATES, Desk, back, render
from statveil.publish.report.page import HERE as REPORT

STATIC = {
    "page.css": (REPORT / "static" / "page.css", "text/css"),
    "desk.css": (TEMPLATES / "desk.css", "text/css"),
    "desk.js": (TEMPLATES / "desk.js", "text/javascript"),
}


def add(app: FastAPI, desk: Desk) -> None:
    @app.get("/sign-in")
    def ask() -> Response:
        return HTMLResponse(render("sign_in.html", wrong=""))

    @app.post("/sign-in")
    def sign_in(request: Request, form: Given) -> Response:
        token, door = word(form, "token"), request.scope["state"]["door"]
        assert isinstance(door, DeskDoor)
        person = desk.people.person(token)
        if person is None:
            return HTMLResponse(render("sign_in.html", wrong="This is not a token of this desk."), status_code=403)
        desk.project.log.write("sign in", person=person.name)
        answer = back("/")
        answer.headers["set-cookie"] = door.cookie(token)
        return answer

    @app.post("/sign-out")
    def sign_out() -> Response:
        answer = back("/sign-in")
        answer.delete_cookie(COOKIE)
        return answer

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            raise HTTPException(404)
        path, kind = STATIC[name]
        return Response(path.read_bytes(), media_type=kind)
