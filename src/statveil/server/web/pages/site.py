"""The pages for people: choose a dataset, rows, columns and codes; see the table and its chart; copy the address; download."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from statveil.core.errors import InputError, StatveilError
from statveil.publish.report.page import HERE as REPORT
from statveil.server.engine.answer import AnsweredTable, full_title
from statveil.server.engine.dataset import Dataset
from statveil.server.engine.query import DimensionChoice, TableQuery
from statveil.server.web import problems
from statveil.server.web.api import address, caller_of, paired, seen_dataset
from statveil.server.web.auth import ASKS, Caller, KeyRing
from statveil.server.web.formats import BY_NAME, FORMATS
from statveil.server.web.middleware import COOKIE
from statveil.server.web.pages.html import STATIC, TUNING, bars, grid, render
from statveil.server.web.problems import Problem
from statveil.server.workers.dispatch import TableDispatcher

_FILES = {
    "page.css": (STATIC, "text/css"),
    "page.js": (STATIC, "text/javascript"),
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


@dataclass(frozen=True, kw_only=True)
class FormChoice:
    """The state of the form."""

    measure: str
    use: Mapping[str, str] = field(default_factory=dict)
    level: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: bool = True
    asked: bool = False

    @property
    def rows(self) -> list[str]:
        return [name for name, use in self.use.items() if use == "rows"]

    @property
    def columns(self) -> str | None:
        return next((name for name, use in self.use.items() if use == "columns"), None)

    def query(self, dataset: Dataset) -> TableQuery:
        """Codes chosen of a dimension that is shown are its codes; of another, a filter."""
        if not self.rows:
            raise InputError("The table has no rows.", hint="Show at least one dimension as rows.")
        if list(self.use.values()).count("columns") > 1:
            raise InputError("Two dimensions are shown as columns.", hint="Show one of them as rows.")
        several = [each.id for each in dataset.dimensions if len(each.levels) > 1]
        choices = tuple(
            DimensionChoice(
                id=name,
                codes=self.only.get(name),
                level=None if name in self.only or name not in several else self.level.get(name),
            )
            for name in self.use
        )
        filters = {name: codes for name, codes in self.only.items() if name not in self.use}
        return TableQuery(dataset=dataset.id, measure=self.measure, dimensions=choices, filters=filters, totals=self.totals)


def site(dispatcher: TableDispatcher, keys: KeyRing, *, api_description: Callable[[], dict[str, Any]], signs_in: bool) -> APIRouter:
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/")
    async def datasets(request: Request) -> Response:
        caller = caller_of(request)
        listed = [each for each in dispatcher.service.datasets.values() if caller.sees(each.id)]
        if len(listed) == 1:
            return RedirectResponse(f"/datasets/{quote(listed[0].id, safe='')}", status_code=303)
        return HTMLResponse(render("datasets.html", datasets=listed, signed_in=signs_in))

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
            operations=_operations(described),
            formats=FORMATS,
            problems=_PROBLEMS.items(),
            base=base,
        )
        return HTMLResponse(page)

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in _FILES:
            raise problems.not_found()
        headers = {"Cache-Control": "public, max-age=86400"}
        return Response(_file(name), media_type=_FILES[name][1], headers=headers)

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
    content: dict[str, Any] = {"answer": None, "job": False, "problem": None, "status": "", "chosen": _first_choice(dataset)}
    try:
        chosen = _chosen(request, dataset)
        content["chosen"] = chosen
        if chosen.asked:
            content |= await _result(dispatcher, request, caller, dataset, chosen)
    except Problem as problem:
        content |= {"problem": problem, "status": "There is no table."}
    except StatveilError as error:
        content |= {"problem": problems.from_error(error), "status": "There is no table."}
    here = f"/datasets/{quote(dataset.id, safe='')}"
    content |= {
        "here": here,
        "again": f"{here}?{request.url.query}",
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
    spec = bars(answer, chosen.rows, chosen.columns)
    return {
        "answer": answer,
        "grid": shown,
        "title": full_title(answer),
        "chart": json.dumps(spec) if spec else "",
        "call": call,
        "status": f"The table is ready: {len(shown.rows) + shown.rows_left_out:,} rows, {len(shown.columns):,} columns of numbers.",
    }


def _first_choice(dataset: Dataset) -> FormChoice:
    """What the form shows at first: the first dimension as rows, the next short one as columns."""
    names = [each.id for each in dataset.dimensions]
    use = {names[0]: "rows"} | ({names[1]: "columns"} if len(names) > 1 else {})
    return FormChoice(measure=dataset.measures[0].id, use=use)


def _chosen(request: Request, dataset: Dataset) -> FormChoice:
    parameters = request.query_params
    if "asked" not in parameters:
        return _first_choice(dataset)
    known = [each.id for each in dataset.dimensions]

    def pairs(name: str) -> dict[str, tuple[str, ...]]:
        return paired([word for word in parameters.getlist(name) if word], known, name)

    return FormChoice(
        measure=parameters.get("measure", ""),
        use={name: words[-1] for name, words in pairs("use").items()},
        level={name: words[-1] for name, words in pairs("level").items()},
        only=pairs("only"),
        totals=parameters.get("totals") == "true",
        asked=True,
    )


def _inside(place: str) -> str:
    """An address on this server; any other becomes the first page."""
    return place if place.startswith("/") and not place.startswith(("//", "/\\")) and "\n" not in place else "/"


@cache
def _file(name: str) -> bytes:
    return (_FILES[name][0] / name).read_bytes()


def _operations(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the page of the API tells about each operation."""
    bodies = described["components"]["schemas"]
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": told.get("summary", ""),
            "parameters": [_parameter(one) for one in told.get("parameters", [])],
            "body": json.dumps(_EXAMPLE, indent=2) if "requestBody" in told and "TableWish" in bodies else "",
            "answers": [(status, answer["description"]) for status, answer in sorted(told["responses"].items())],
        }
        for path, methods in described["paths"].items()
        for method, told in methods.items()
    ]


def _parameter(one: Mapping[str, Any]) -> dict[str, Any]:
    words = one.get("description", "").replace("`", "")
    return {"name": one["name"], "place": one["in"], "required": one.get("required", False), "words": words}


_EXAMPLE = {
    "dimensions": [{"id": "region", "level": "province"}, {"id": "trade", "codes": ["F", "G"]}],
    "measure": "turnover",
    "filters": {"size": ["small"]},
    "totals": True,
}
