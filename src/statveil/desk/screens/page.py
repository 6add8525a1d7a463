"""What every screen has: who is there, the steps, undo and redo, the job as text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from statveil.core.errors import StatveilError
from statveil.desk import runs
from statveil.desk.access import person_of
from statveil.desk.forms import Words, word
from statveil.desk.looks import Looks
from statveil.desk.people import People, Person
from statveil.desk.project import JobStep, Project

TEMPLATES = Path(__file__).parents[1] / "templates"
STEPS = (("/", "Data"), ("/table", "Table"), ("/risk", "Risk"), ("/protect", "Protect"), ("/log", "Log"))
RECORD_STEPS = (("/", "Data"), ("/keys", "Keys"), ("/record-risk", "Risk"), ("/protect", "Protect"), ("/log", "Log"))
SERVER_STEPS = (
    ("/", "Data"),
    ("/dataset", "Dataset"),
    ("/protect", "Evaluate"),
    ("/server-keys", "Keys"),
    ("/alarms", "Alarms"),
    ("/log", "Log"),
)
NOBODY = Person("", "reader")


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(template: str, **content: Any) -> str:
    return _environment().get_template(template).render(content)


def back(address: str) -> Response:
    return RedirectResponse(address, status_code=303)


def who(request: Request) -> Person:
    return person_of(request.scope) or NOBODY


def step_of(request: Request, form: Words, words: str) -> JobStep:
    return JobStep(words[:80], who(request).name, word(form, "state"))


class Desk:
    """One project and those who work on it."""

    def __init__(self, project: Project, people: People) -> None:
        self.project, self.people, self.looks = project, people, Looks(project)

    def page(self, request: Request, template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
        project = self.project
        common = {
            "steps": self.steps,
            "serves": self.looks.serves,
            "of_records": self.looks.holds_records,
            "state": project.state,
            "stack": project.stack,
            "job_text": project.text,
            "project": project.folder.name,
            "who": who(request),
            "edits": who(request).role == "author",
            "within": self._short,
            "running": runs.under_way(project),
            "serving": runs.serving(project),
        }
        return HTMLResponse(render(template, **{**common, **content}), status_code=status)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        return SERVER_STEPS if self.looks.serves else RECORD_STEPS if self.looks.holds_records else STEPS

    def same_page(self, request: Request) -> str:
        """The screen a form came from, if the job as it is now has it; an address of the desk itself."""
        came_from = urlsplit(request.headers.get("referer", ""))
        if came_from.path not in dict(self.steps):
            return "/"
        return came_from.path + (f"?{came_from.query}" if came_from.query else "")

    def problem(self, request: Request, message: str, hint: str, *, status: int) -> Response:
        if person_of(request.scope) is None:
            return HTMLResponse(render("sign_in.html", wrong=message), status_code=status)
        told = {"message": self._short(message), "hint": self._short(hint)}
        return self.page(request, "problem.html", status=status, **told, asked=request.method == "GET", lost=status == 404)

    def said(self, error: StatveilError) -> str:
        return self._short(str(error))

    def _short(self, words: str) -> str:
        """Files of the project without the folder that it lies in."""
        return words.replace(f"{self.project.folder}/", "")

    def checked(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content, if a job can be made of it: what is wrong is said before anything is changed."""
        if "dataset" in content:
            for part in self.looks.server(content).datasets:
                part.rules()
            return content
        if "fields" in content:
            self.looks.record_job(content).keys()
            return content
        job = self.looks.job(content)
        job.rules(), job.linked(), job.options(), job.limits()
        return content
