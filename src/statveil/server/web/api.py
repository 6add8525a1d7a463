"""The API, the addresses under /v1: datasets, tables, jobs, and the audit log for those who watch."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Query, Request, Response

from statveil.core.api_keys import ASKS, WATCHES, Caller, Role
from statveil.core.audit_log import AuditLog
from statveil.server.dataset.dataset import AccuracyClass, Dataset, DatasetMeasure
from statveil.server.dataset.layout import ServedDimension
from statveil.server.dataset.query import TableQuery
from statveil.server.engine.notes import METHOD
from statveil.server.web import problems
from statveil.server.web.dispatch import DispatchedTable, TableDispatcher
from statveil.server.web.formats import FORMATS, Format, choose
from statveil.server.web.pages.choice import page_of, saved_tables
from statveil.server.web.pages.html import TABLE_POLICY
from statveil.server.web.pages.search import search
from statveil.server.web.queue import JobState, JobStatuses
from statveil.server.web.schemas import (
    WISHES,
    AuditLogAnswer,
    DatasetAnswer,
    DatasetLink,
    DatasetList,
    JobAnswer,
    JsonStatTable,
    ProblemAnswer,
)
from statveil.server.web.wishes import (
    DatasetId,
    FormatParameter,
    LastParameter,
    NoParameter,
    SearchParameter,
    TableHash,
    TableParameters,
    TableWish,
)

FOR_EVER = "private, max-age=31536000, immutable"
_PROBLEM = {"content": {problems.MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemAnswer.__name__}"}}}}
_ALWAYS: dict[int | str, dict[str, Any]] = {
    401: {"description": "No key, or one that is not valid", **_PROBLEM},
    403: {"description": "Not for this role, or a table that is not published", **_PROBLEM},
    404: {"description": "It does not exist, or not for this key", **_PROBLEM},
    414: {"description": "The address is too long; send the query by POST", **_PROBLEM},
    422: {"description": "The request cannot be understood", **_PROBLEM},
    429: {"description": "Too many requests with this key", **_PROBLEM},
    503: {"description": "Busy, or a part does not work; nothing was released", **_PROBLEM},
}
_TABLE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The table",
        "model": JsonStatTable,
        "content": {each.media_type: {"schema": {"type": "string"}} for each in FORMATS if each.name != "json"},
    },
    406: {"description": "None of the accepted formats is on offer", **_PROBLEM},
}
_PROMISED: dict[int | str, dict[str, Any]] = {
    202: {"description": "The table takes longer; come back for it", "model": JobAnswer},
    400: {"description": "The body cannot be read", **_PROBLEM},
    413: {"description": "The request is too large", **_PROBLEM},
    504: {"description": "The time allowed is over", **_PROBLEM},
}
_SAME: dict[int | str, dict[str, Any]] = {304: {"description": "You have it already"}}


def caller_of(request: Request, roles: frozenset[Role] | None = None) -> Caller:
    """Who asks; refuses roles that may not."""
    caller: Caller = request.scope["caller"]
    if roles is not None and caller.role not in roles:
        raise problems.not_your_role(" or ".join(sorted(roles)))
    return caller


def api(dispatcher: TableDispatcher, statuses: JobStatuses, audit_log: AuditLog, *, seconds: float) -> APIRouter:
    """The router of one process. `seconds` is the time allowed for a table."""
    router = APIRouter(prefix="/v1", responses=_ALWAYS)
    _add_datasets(router, dispatcher)
    _add_tables(router, dispatcher)
    _add_jobs(router, statuses, seconds)
    _add_audit_log(router, dispatcher, audit_log)
    return router


def seen_datasets(dispatcher: TableDispatcher, caller: Caller) -> list[Dataset]:
    return [each for each in dispatcher.service.datasets.values() if caller.sees(each.id)]


def seen_dataset(dispatcher: TableDispatcher, caller: Caller, dataset: str) -> Dataset:
    """The dataset of this id, if this caller may know of it."""
    found = dispatcher.service.datasets.get(dataset) if caller.sees(dataset) else None
    if found is None:
        raise problems.not_found("dataset")
    return found


def _add_datasets(router: APIRouter, dispatcher: TableDispatcher) -> None:
    @router.get("/datasets", summary="The datasets that you may ask about")
    async def datasets(request: Request, parameters: Annotated[SearchParameter, Query()]) -> DatasetList:
        listed = seen_datasets(dispatcher, caller_of(request))
        found = await dispatcher.read(lambda: [hit.dataset for hit in search(listed, parameters.search)])
        links = [DatasetLink(id=each.id, label=each.label, href=f"/v1/datasets/{quote(each.id, safe='')}") for each in found]
        return DatasetList(datasets=links)

    @cache
    def described_once(dataset: str) -> bytes:
        return json.dumps(description(dispatcher.service.datasets[dataset]), ensure_ascii=False).encode()

    @router.get(
        "/datasets/{dataset}",
        summary="Dimensions, hierarchies, levels, measures and limits of a dataset",
        responses={200: {"description": "The dataset", "model": DatasetAnswer}},
        response_class=Response,
    )
    async def described(request: Request, dataset: DatasetId, nothing: Annotated[NoParameter, Query()]) -> Response:
        found = seen_dataset(dispatcher, caller_of(request), dataset)
        return Response(described_once(found.id), media_type="application/json")


def _add_tables(router: APIRouter, dispatcher: TableDispatcher) -> None:
    async def table(request: Request, query: TableQuery, form: Format) -> Response:
        given = await dispatcher.dispatch(caller_of(request, ASKS), query, form)
        return promised(given.hash) if given.body is None else table_response(request, given, form, kept="private, no-cache")

    @router.post("/datasets/{dataset}/tables", summary="A table", responses={**_TABLE, **_PROMISED}, response_class=Response)
    async def posted(
        request: Request,
        dataset: DatasetId,
        wish: Annotated[TableWish, Body(openapi_examples=WISHES)],
        parameters: Annotated[FormatParameter, Query()],
    ) -> Response:
        found = seen_dataset(dispatcher, caller_of(request, ASKS), dataset)
        return await table(request, wish.query(found.id), _form(request, parameters.format))

    @router.get(
        "/datasets/{dataset}/tables",
        summary="The same table, by an address",
        responses={**_TABLE, **_PROMISED, **_SAME},
        response_class=Response,
    )
    async def asked(request: Request, dataset: DatasetId, parameters: Annotated[TableParameters, Query()]) -> Response:
        found = seen_dataset(dispatcher, caller_of(request, ASKS), dataset)
        return await table(request, parameters.query(found), _form(request, parameters.format))

    @router.get(
        "/tables/{table_hash}", summary="A table given out before, by its name", responses={**_TABLE, **_SAME}, response_class=Response
    )
    async def again(request: Request, table_hash: TableHash, parameters: Annotated[FormatParameter, Query()]) -> Response:
        form = _form(request, parameters.format)
        body = await dispatcher.stored(caller_of(request), table_hash, form)
        if body is None:
            raise problems.not_found("table")
        return table_response(request, DispatchedTable(hash=table_hash, body=body), form, kept=FOR_EVER)


def _add_jobs(router: APIRouter, statuses: JobStatuses, seconds: float) -> None:
    @router.get("/jobs/{job}", summary="How the making of a table stands")
    async def job(request: Request, job: TableHash, nothing: Annotated[NoParameter, Query()]) -> JobAnswer:
        caller = caller_of(request, ASKS)
        status = statuses.status(job)
        if status is None or not caller.sees(status.dataset):
            raise problems.not_found("job")
        return JobAnswer(
            job=job,
            state=status.state,
            seconds=int(status.seconds),
            progress=1.0 if status.state in (JobState.DONE, JobState.FAILED) else min(0.99, int(status.seconds) / seconds),
            table=f"/v1/tables/{job}" if status.state is JobState.DONE else None,
            problem=status.problem,
            advice="Ask for the table again." if status.state is JobState.LOST else "",
        )


def _add_audit_log(router: APIRouter, dispatcher: TableDispatcher, log: AuditLog) -> None:
    @router.get("/audit-log", summary="The last lines of the audit log (officer, auditor)")
    async def audit_log(request: Request, parameters: Annotated[LastParameter, Query()]) -> AuditLogAnswer:
        caller = caller_of(request, WATCHES)
        head = log.write("audit log read", key=caller.id)
        lines = await dispatcher.read(lambda: log.last(parameters.last))
        return AuditLogAnswer(lines=head.lines, head=head.hash, last=lines)


def _form(request: Request, wanted: str | None) -> Format:
    return choose(wanted, request.headers.get("accept", ""))


def table_response(request: Request, given: DispatchedTable, form: Format, *, kept: str) -> Response:
    """The table with its name; nothing but headers for who has it already.

    What a name stands for is kept for ever; a query may be about other data one day.
    """
    etag = f'"{given.hash}-{form.name}"'
    where = f"/v1/tables/{given.hash}?format={form.name}"
    headers = {"ETag": etag, "Cache-Control": kept, "Vary": "Accept, Authorization, Cookie", "Content-Location": where}
    if request.method == "GET" and etag in [
        word.strip().removeprefix("W/") for word in request.headers.get("if-none-match", "").split(",")
    ]:
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = (
        f'{"inline" if form.name in ("json", "html") else "attachment"}; filename="{given.hash[:16]}.{form.ending}"'
    )
    if form.name == "csv":
        headers["Link"] = f'</v1/tables/{given.hash}?format=csv-metadata>; rel="describedby"; type="application/csvm+json"'
    if form.name == "html":
        headers["Content-Security-Policy"] = TABLE_POLICY
    return Response(given.body, media_type=form.media_type, headers=headers)


def promised(table_hash: str) -> Response:
    """202: the table is being made, and this is where to look."""
    where = f"/v1/jobs/{table_hash}"
    body = JobAnswer(job=table_hash, state=JobState.RUNNING, seconds=0, progress=0.0, advice=f"GET {where} until its state is done.")
    headers = {"Location": where, "Retry-After": "1", "Cache-Control": "no-store"}
    return Response(body.model_dump_json(exclude_none=True), status_code=202, media_type="application/json", headers=headers)


def description(dataset: Dataset) -> dict[str, Any]:
    """What readers may know before they ask. Of the records' values only the accuracy classes depend, which are of many cells each."""
    return {
        "id": dataset.id,
        "label": dataset.label,
        "version": dataset.version,
        "mode": dataset.mode,
        "dimensions": [_dimension(each) for each in dataset.dimensions],
        "measures": [_measure(dataset, each) for each in dataset.measures],
        "limits": {"cells": dataset.cells, "dimensions": dataset.depth},
        "saved": [{"label": name, "page": f"{page_of(dataset)}?{address}"} for name, address in saved_tables(dataset)],
        "notes": [METHOD],
        "tables": f"/v1/datasets/{quote(dataset.id, safe='')}/tables",
    }


def _measure(dataset: Dataset, measure: DatasetMeasure) -> dict[str, Any]:
    return {
        "id": measure.id,
        "label": measure.label,
        "unit": measure.unit,
        "decimals": measure.decimals,
        "counts": measure.counts,
        "smallest": measure.smallest,
        "accuracy": [_accuracy(each, 10**measure.decimals) for each in dataset.accuracy.get(measure.id, ())],
    }


def _accuracy(told: AccuracyClass, units: int) -> dict[str, Any]:
    """A class without how many cells are in it."""
    return {
        "dimensions": told.dimensions,
        "at_least": told.at_least / units,
        "within_percent": told.within_percent,
        "within": told.within / units,
    }


def _dimension(dimension: ServedDimension) -> dict[str, Any]:
    return {
        "id": dimension.id,
        "label": dimension.label,
        "total": dimension.total,
        "levels": [{"id": level.id, "codes": list(level.codes)} for level in dimension.levels],
        "labels": dimension.labels,
        "hierarchies": [dict(parents) for parents in dimension.parents],
        "filter": dimension.filter,
        "population": dimension.population,
    }
