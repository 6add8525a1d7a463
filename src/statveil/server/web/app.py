"""The web application of one process: the parts put together, and errors in words that may be read by anyone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from statveil.core.api_keys import WATCHES, KeyRing
from statveil.core.audit_log import AuditLog
from statveil.core.errors import StatveilError
from statveil.jobs.server_config import WebPart
from statveil.server.engine.service import TableService
from statveil.server.web import problems
from statveil.server.web.api import api, caller_of
from statveil.server.web.dispatch import TableDispatcher
from statveil.server.web.metrics import Metrics
from statveil.server.web.middleware import API, AccessMiddleware, log
from statveil.server.web.pages.html import render
from statveil.server.web.pages.site import site
from statveil.server.web.problems import Problem
from statveil.server.web.queue import JobStatuses, TableQueue
from statveil.server.web.rate_limit import Allowance, RateLimiter
from statveil.server.web.schemas import ProblemAnswer
from statveil.server.web.shared_state import SharedFiles
from statveil.version import VERSION


def application(service: TableService, web: WebPart, files: SharedFiles, *, seconds: float) -> AccessMiddleware:
    files.prepare()
    metrics, audit_log, statuses = Metrics(), AuditLog(files.audit_log), JobStatuses(files.jobs)
    queue = TableQueue(service.answer, statuses, waiting=web.waiting, on_change=metrics.waiting.set)
    dispatcher = TableDispatcher(service=service, queue=queue, audit_log=audit_log, metrics=metrics, budget=float(web.answer_seconds))
    keys = KeyRing(files.keys)
    limiter = RateLimiter(files.rate_limit, Allowance(requests=web.requests_per_minute, seconds=60))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        dispatcher.close()
        statuses.close()
        limiter.close()

    app = FastAPI(title="statveil table server", version=VERSION, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.anonymous = web.anonymous
    app.include_router(api(dispatcher, statuses, audit_log, seconds=seconds))
    _add_monitoring(app, dispatcher, metrics)
    _explain_errors(app)
    app.include_router(site(dispatcher, keys, api_description=lambda: _described(app), signs_in=not web.anonymous))
    return AccessMiddleware(application=app, keys=keys, anonymous=web.anonymous, limiter=limiter, audit_log=audit_log, metrics=metrics)


def _add_monitoring(app: FastAPI, dispatcher: TableDispatcher, metrics: Metrics) -> None:
    """Is it alive, is it ready, how is it doing."""

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> dict[str, str]:
        try:
            await dispatcher.read(lambda: dispatcher.service.stored("0" * 64))
        except Exception:
            raise problems.unavailable() from None
        return {"status": "ready"}

    @app.get("/metrics", include_in_schema=False)
    async def all_metrics(request: Request) -> Response:
        caller_of(request, WATCHES)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        return _described(app)


def _explain_errors(app: FastAPI) -> None:
    """Whatever goes wrong becomes a problem with a code."""

    @app.exception_handler(Problem)
    async def known(request: Request, problem: Problem) -> Response:
        return _response(request, problem)

    @app.exception_handler(StatveilError)
    async def ours(request: Request, error: StatveilError) -> Response:
        return _response(request, problems.from_error(error))

    @app.exception_handler(OSError)
    @app.exception_handler(sqlite3.Error)
    async def away(request: Request, error: Exception) -> Response:
        """Disk full, store away: nothing is released, and it may come back. The words of such an error may hold paths."""
        log.error("%s while answering", type(error).__name__)
        return _response(request, problems.unavailable())

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, _: Exception) -> Response:
        return _response(request, problems.internal())

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _response(request, problems.request_problem(_words(error), advice="/docs tells what can be asked, and how."))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        cause = error.__cause__
        return _response(request, cause if isinstance(cause, Problem) else _of_status(request, error))


def _response(request: Request, problem: Problem) -> Response:
    """Problem+json; for people on the pages, the same in a page."""
    headers = {"Cache-Control": "no-store", **problem.headers}
    if not request.url.path.startswith(API) and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render("problem.html", problem=problem, signed_in=False), status_code=problem.status, headers=headers)
    return Response(problem.body(), status_code=problem.status, media_type=problems.MEDIA_TYPE, headers=headers)


def _words(error: RequestValidationError) -> str:
    """Where the first faults are, and what is wrong with them; what was sent is not repeated."""
    faults = [(".".join(str(step)[:40] for step in fault["loc"][1:]) or str(fault["loc"][0]), fault["msg"]) for fault in error.errors()[:3]]
    return "; ".join(f"{where}: {what}" for where, what in faults)


def _of_status(request: Request, error: HTTPException) -> Problem:
    headers = dict(error.headers or {})
    match error.status_code:
        case 404:
            return problems.not_found()
        case 405:
            headers["Allow"] = ", ".join(sorted(_methods(request))) or headers.get("Allow", "GET")
            return Problem(status=405, code="method", title="This address does not take that method.", headers=headers)
        case status if status < 500:
            return Problem(status=status, code="request", title="The request cannot be read.", headers=headers)
        case _:
            return problems.internal()


def _methods(request: Request) -> set[str]:
    """All that this address takes; the framework tells those of the first route only."""
    paths: dict[str, dict[str, Any]] = _described(request.app)["paths"]
    return {
        method.upper()
        for template, methods in paths.items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), request.url.path)
        for method in methods
    }


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with our one shape of errors."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=_WORDS)
        parts = made.setdefault("components", {})
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        parts.setdefault("schemas", {})[ProblemAnswer.__name__] = ProblemAnswer.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(unused, None)
        made["security"] = [{"key": []}, {}] if app.state.anonymous else [{"key": []}]
        app.openapi_schema = made
    return app.openapi_schema


_WORDS = "Any table of the datasets, protected at once. The same query has the same numbers for ever."
