"""The pages for people: choose a dataset, rows, columns and codes; see the table and its chart; copy the address; download."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from statveil.core.api_keys import ASKS, Caller, KeyRing
from statveil.core.errors import StatveilError
from statveil.core.provenance import sha256
from statveil.jobs.server_config import LONGEST_NAME
from statveil.publish.report.page import HERE as REPORT
from statveil.server.dataset.dataset import Dataset
from statveil.server.engine.answer import AnsweredTable, full_title
from statveil.server.engine.notes import METHOD, accuracy_table, count_notes
from statveil.server.web import problems
from statveil.server.web.api import caller_of, seen_dataset, seen_datasets
from statveil.server.web.dispatch import TableDispatcher
from statveil.server.web.formats import BY_NAME, FORMATS
from statveil.server.web.middleware import COOKIE
from statveil.server.web.pages.api_words import operations, schemas
from statveil.server.web.pages.choice import FormChoice, check_saved, choice_of, first_choice, page_of, saved_tables
from statveil.server.web.pages.html import STATIC, TUNING, bars, grid, pivot_data, render
from statveil.server.web.pages.search import search
from statveil.server.web.problems import Problem
from statveil.server.web.wishes import address

_FILES = {
    "page.css": (REPORT / "static", "text/css"),
    "page.js": (STATIC, "text/javascript"),
    "pivot.js": (STATIC, "text/javascript"),
    "saved.js": (STATIC, "text/javascript"),
    "htmx.min.js": (STATIC, "text/javascript"),
    "vega-interpreter.js": (STATIC, "text/javascript"),
    "vega.min.js": (REPORT / "static", "text/javascript"),
    "vega-lite.min.js": (REPORT / "static", "text/javascript"),
    "vega-embed.min.js": (REPORT / "static", "text/javascript"),
}
"""The only files that can be asked for: no request ever becomes a path."""
_PROBLEMS = {
    "key-needed": "there is no key, or it is not valid.",
    "role": "the key is valid and not for this.",
    "not-found": "it does not exist, or not for this key.",
    "request": "something in the request cannot be; the detail says what.",
    "refused": "this table is not published. Ask for higher levels, fewer codes or other dimensions.",
    "rate-limit": "too many requests; Retry-After says how long to wait.",
    "busy": "the server has as many tables in work as it takes; try again.",
    "out-of-time": "the table could not be made in the time allowed.",
    "unavailable": "a part of the server does not work at the moment; try again.",
    "not-acceptable": "none of the formats that you accept is on offer.",
    "body-too-large": "the request is too large.",
}


def site(dispatcher: TableDispatcher, keys: KeyRing, *, api_description: Callable[[], dict[str, Any]], signs_in: bool) -> APIRouter:
    check_saved(dispatcher.service.datasets, dispatcher.service.check)
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/")
    async def datasets(request: Request) -> Response:
        listed, wanted = seen_datasets(dispatcher, caller_of(request)), request.query_params.get("search", "")[:LONGEST_NAME].strip()
        if len(listed) == 1 and not wanted:
            return RedirectResponse(page_of(listed[0]), status_code=303)
        found = await dispatcher.read(lambda: search(listed, wanted))
        return HTMLResponse(render("datasets.html", found=found, wanted=wanted, saved=saved_tables, signed_in=signs_in))

    @router.get("/datasets/{dataset}")
    async def dataset(request: Request, dataset: str) -> Response:
        caller = caller_of(request)
        return await _table_page(dispatcher, request, caller, seen_dataset(dispatcher, caller, dataset), signs_in)

    _sign_in(router, keys)

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        described = api_description()
        base = str(request.base_url).rstrip("/")
        page = render(
            "docs.html",
            signed_in=False,
            words=described["info"]["description"],
            operations=operations(described),
            schemas=schemas(described),
            formats=FORMATS,
            problems=_PROBLEMS.items(),
            base=base,
        )
        return HTMLResponse(page)

    @router.get("/static/{name}")
    async def static(request: Request, name: str) -> Response:
        """Asked for again each time, so that no old script meets a new page; who has it gets no second copy."""
        if name not in _FILES:
            raise problems.not_found()
        body, etag = _file(name)
        headers = {"Cache-Control": "public, no-cache", "ETag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=_FILES[name][1], headers=headers)

    return router


def _sign_in(router: APIRouter, keys: KeyRing) -> None:
    """The key that someone typed in stays in a cookie that no script can read and no other site can use."""

    @router.get("/login")
    async def login(request: Request) -> Response:
        return HTMLResponse(render("login.html", signed_in=False, failed=False, next=_inside(request.query_params.get("next", "/"))))

    @router.post("/login")
    async def enter(request: Request, key: str = Form(max_length=200), next: str = Form("/", max_length=2000)) -> Response:  # noqa: A002
        if keys.caller(key.strip()) is None:
            page = render("login.html", signed_in=False, failed=True, next=_inside(next))
            return HTMLResponse(page, status_code=401)
        answer = RedirectResponse(_inside(next), status_code=303)
        answer.set_cookie(COOKIE, key.strip(), httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/")
        return answer

    @router.post("/logout")
    async def leave() -> Response:
        answer = RedirectResponse("/login", status_code=303)
        answer.delete_cookie(COOKIE, path="/")
        return answer


async def _table_page(dispatcher: TableDispatcher, request: Request, caller: Caller, dataset: Dataset, signs_in: bool) -> Response:
    """The form and its table; who comes without having asked for anything is shown the first one."""
    chosen, asked = first_choice(dataset), "asked" in request.query_params
    content: dict[str, Any] = {"answer": None, "job": False, "problem": None, "status": ""}
    try:
        if asked:
            chosen = choice_of(request.query_params, dataset)
        if asked or caller.role in ASKS:
            content |= await _result(dispatcher, request, caller, dataset, chosen)
    except Problem as problem:
        content |= {"problem": problem, "status": "There is no table."}
    except StatveilError as error:
        content |= {"problem": problems.from_error(error), "status": "There is no table."}
    here = page_of(dataset)
    content |= {
        "chosen": chosen,
        "here": here,
        "again": f"{here}?{chosen.address}",
        "saved": saved_tables(dataset),
        "formats": FORMATS,
        "most_codes": TUNING.most_codes,
        "signed_in": signs_in,
    }
    page = render("dataset.html", dataset=dataset, **content)
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


async def _result(dispatcher: TableDispatcher, request: Request, caller: Caller, dataset: Dataset, chosen: FormChoice) -> dict[str, Any]:
    query = chosen.query(dataset)
    if caller.role not in ASKS:
        raise problems.not_your_role(" or ".join(sorted(ASKS)))
    given = await dispatcher.dispatch(caller, query, BY_NAME["json"])
    answer = await dispatcher.read(lambda: dispatcher.service.stored(given.hash)) if given.body is not None else None
    if answer is None:
        return {"job": True, "status": "The table is being made."}
    return await dispatcher.read(lambda: _shown(answer, chosen, str(request.base_url).rstrip("/") + address(query)))


def _shown(answer: AnsweredTable, chosen: FormChoice, call: str) -> dict[str, Any]:
    shown = grid(answer, chosen.rows, chosen.columns, most_cells=TUNING.most_cells)
    charts = [bars(answer, chosen.rows, chosen.columns)]
    if chosen.columns is not None and len(chosen.rows) == 1:
        charts.append(bars(answer, [chosen.columns], chosen.rows[0]))  # for when rows and columns are exchanged
    rows = len(shown.rows) + shown.rows_left_out
    return {
        "answer": answer,
        "grid": shown,
        "pivot": "" if shown.rows_left_out else json.dumps(pivot_data(answer, chosen.rows, chosen.columns), ensure_ascii=False),
        "title": full_title(answer),
        "charts": json.dumps(charts) if charts[0] else "",
        "accuracy": accuracy_table(answer),
        "notes": (METHOD, *count_notes(answer)),
        "call": call,
        "status": f"The table is ready: {_counted(rows, 'row')}, {_counted(len(shown.columns), 'column')} of numbers.",
    }


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _inside(place: str) -> str:
    """An address on this server; any other becomes the first page."""
    return place if place.startswith("/") and not place.startswith(("//", "/\\")) and "\n" not in place else "/"


@cache
def _file(name: str) -> tuple[bytes, str]:
    """The file, and its print."""
    body = (_FILES[name][0] / name).read_bytes()
    return body, f'"{sha256(body)[:32]}"'
