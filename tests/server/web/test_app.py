"""The server over HTTP, with a made-up service behind it: addresses, roles, limits, jobs and the words of errors."""

from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from statveil.core.api_keys import Role
from statveil.core.audit_log import verify
from statveil.core.errors import AuditFailed, DisclosureRefused, EngineFailed, InfeasibleProblem, NoTableFound, OutOfTime
from statveil.server.dataset.query import TableQuery
from statveil.server.web import dispatch
from statveil.server.web.queue import JobState, JobStatuses
from tests.server.fake import FakeService, shared_files
from tests.server.live import PATIENCE, becomes, key_for, running
from tests.server.web.apps import TABLE, WISH

pytestmark = pytest.mark.slow
SECRET = "CANARY-4711"


def test_datasets_are_listed_and_described(client: httpx.Client):
    listed = client.get("/v1/datasets").json()["datasets"]
    assert [each["id"] for each in listed] == ["firms", "farms"]
    told = client.get(listed[0]["href"]).json()
    assert [each["id"] for each in told["dimensions"]] == ["region", "size"]
    assert [level["id"] for level in told["dimensions"][0]["levels"]] == ["part", "place"]
    assert told["dimensions"][0]["hierarchies"][0]["N1"] == "N"
    assert told["limits"] == {"cells": 1_000, "dimensions": None}


def test_a_table_by_post_by_get_and_by_its_name_is_the_same(client: httpx.Client):
    posted = client.post(TABLE, json=WISH)
    turned = client.post(TABLE, json={**WISH, "dimensions": WISH["dimensions"][::-1], "totals": True, "filters": {}})
    asked = client.get(f"{TABLE}?measure=turnover&dimension=size&dimension=region")
    named = client.get(posted.headers["content-location"])
    assert posted.status_code == 200
    assert posted.content == turned.content == asked.content == named.content
    assert len({answer.headers["etag"] for answer in (posted, turned, asked, named)}) == 1
    assert posted.json()["class"] == "dataset"


def test_who_has_a_table_gets_no_second_copy(client: httpx.Client):
    first = client.post(TABLE, json=WISH)
    where, etag = first.headers["content-location"], first.headers["etag"]
    again = client.get(where, headers={"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert "immutable" in again.headers["cache-control"]
    assert client.get(where, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("form", ["json", "csv", "csv-metadata", "sdmx-csv", "px", "xlsx", "parquet", "html"])
def test_every_format_by_name_and_by_accept(client: httpx.Client, form: str):
    named = client.get(f"{TABLE}?measure=turnover&dimension=size&format={form}")
    assert named.status_code == 200
    kind = named.headers["content-type"].split(";")[0]
    assert (
        client.post(TABLE, json={"dimensions": [{"id": "size"}], "measure": "turnover"}, headers={"Accept": kind}).content == named.content
    )


def test_levels_codes_and_filters_by_address(client: httpx.Client):
    told = client.get(f"{TABLE}?measure=turnover&dimension=region&level=region:part&filter=size:big&totals=false").json()
    assert told["dimension"]["region"]["category"]["index"] == ["N", "S"]
    assert told["label"] == "Turnover (EUR); size: big"
    told = client.get(f"{TABLE}?measure=turnover&dimension=region&code=region:N1&code=region:S1&totals=false").json()
    assert told["dimension"]["region"]["category"]["index"] == ["N1", "S1"]


WRONG = [
    ({**WISH, "measure": "profit"}, "no measure 'profit'"),
    ({**WISH, "colour": "red"}, "colour"),
    ({"measure": "turnover"}, "dimensions"),
    ({**WISH, "dimensions": []}, "dimensions"),
    ({**WISH, "dimensions": [{"id": "region", "level": "part", "codes": ["N"]}]}, "a level and also codes"),
    ({**WISH, "dimensions": [{"id": "region"}, {"id": "region"}]}, "twice"),
    ({**WISH, "filters": {"size": ["big"]}}, "also a filter"),
    ({**WISH, "totals": "yes"}, "totals"),
    ({**WISH, "dimensions": [{"id": "x" * 300}]}, "dimensions"),
    ([], ""),
    ("text", ""),
]


@pytest.mark.parametrize(("body", "words"), WRONG)
def test_what_cannot_be_asked_is_told_as_a_problem(client: httpx.Client, body: object, words: str):
    answer = client.post(TABLE, json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["code"] == "request"
    assert words in told["detail"]


@pytest.mark.parametrize(
    "query", ["level=region:part", "dimension=region&level=nothing", "dimension=region&level=size:size", "dimension=region&colour=red"]
)
def test_addresses_that_cannot_be_asked(client: httpx.Client, query: str):
    assert client.get(f"{TABLE}?measure=turnover&{query}").status_code == 422


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 20_000, b"nan", b""])
def test_what_is_not_json_is_told(client: httpx.Client, body: bytes):
    answer = client.post(TABLE, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_who_has_a_script_gets_no_second_copy(client: httpx.Client):
    first = client.get("/static/pivot.js")
    again = client.get("/static/pivot.js", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert client.get("/static/nothing.js").status_code == 404


def test_methods_that_are_not_taken(client: httpx.Client):
    answer = client.delete(TABLE)
    assert (answer.status_code, answer.json()["code"]) == (405, "method")
    assert "GET" in answer.headers["allow"]


def test_people_get_a_page_for_what_is_not_there(client: httpx.Client):
    answer = client.get("/datasets/none", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "<h1>There is no such dataset.</h1>" in answer.text


def test_past_the_budget_the_table_is_promised_and_found(tmp_path: Path):
    go = threading.Event()
    service = FakeService(before=lambda query: waits(go))
    with running(service, tmp_path, anonymous=True, answer_seconds=0.2) as client:
        answer = client.post(TABLE, json=WISH)
        assert answer.status_code == 202
        where = answer.headers["location"]
        assert answer.json()["state"] == "running"
        assert client.get(where).json()["state"] == "running"
        assert client.get(where.replace("jobs", "tables")).status_code == 404
        go.set()
        assert becomes(lambda: client.get(where).json()["state"] == "done")
        told = client.get(where).json()
        assert told["progress"] == 1
        assert client.get(told["table"]).json()["class"] == "dataset"
        assert client.get("/v1/jobs/" + "0" * 64).status_code == 404


def test_what_became_of_a_promised_table_is_written_down(tmp_path: Path):
    go = threading.Event()

    def refuse_late(query: TableQuery) -> None:
        waits(go)
        raise DisclosureRefused(SECRET)

    with running(FakeService(before=refuse_late), tmp_path, anonymous=True, answer_seconds=0.05) as client:
        where = client.post(TABLE, json=WISH).headers["location"]
        go.set()
        assert becomes(lambda: client.get(where).json()["state"] == "failed")
        told, auditor = client.get(where).json(), key_for(tmp_path, Role.AUDITOR)

        def written_down() -> list[tuple[str, str | None]]:
            lines = client.get("/v1/audit-log", headers=auditor).json()["last"]
            return [(line["event"], line.get("code")) for line in lines if line["event"] != "audit log read"]

        assert becomes(lambda: written_down() == [("table promised", None), ("table refused", "refused")])
    assert told["problem"]["code"] == "refused"


def test_a_job_whose_process_died_is_lost(tmp_path: Path):
    statuses = JobStatuses(tmp_path / "jobs")
    statuses.begin("a" * 64, "firms")
    assert statuses.status("a" * 64).state is JobState.WAITING
    gone = subprocess.Popen(["true"])
    gone.wait()
    with sqlite3.connect(tmp_path / "jobs") as other:
        other.execute("UPDATE job SET process = ?", (gone.pid,))
    assert statuses.status("a" * 64).state is JobState.LOST
    assert statuses.status("b" * 64) is None
    statuses.close()


def test_the_same_table_is_made_once_for_all_who_wait(tmp_path: Path):
    service = FakeService(before=lambda query: time.sleep(1))
    with running(service, tmp_path, anonymous=True) as client:
        bodies: list[bytes] = []
        ready = threading.Barrier(8)

        def ask() -> None:
            ready.wait(PATIENCE)
            bodies.append(client.post(TABLE, json=WISH).content)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(bodies)) == 1
        assert len(bodies) == 8
        assert len(service.asked) == 1


def test_a_full_house_sends_away_with_the_time_to_come_back(tmp_path: Path):
    go = threading.Event()
    service = FakeService(before=lambda query: waits(go))
    with running(service, tmp_path, anonymous=True, answer_seconds=0.05, waiting=1) as client:
        codes = [client.get(f"{TABLE}?measure=turnover&dimension=region&code=region:{code}").status_code for code in ("N", "S", "N1")]
        full = client.get(f"{TABLE}?measure=turnover&dimension=region&code=region:N2")
        go.set()
    assert codes == [202, 202, 503]
    assert full.json()["code"] == "busy"
    assert int(full.headers["retry-after"]) >= 1


def waits(go: threading.Event) -> None:
    assert go.wait(PATIENCE)


def fail_with(error: Exception):
    def fail(query: TableQuery) -> None:
        raise error

    return fail


FAULTS = [
    (DisclosureRefused(SECRET, hint=SECRET), 403, "refused"),
    (InfeasibleProblem(SECRET, hint=SECRET), 403, "refused"),
    (NoTableFound(SECRET, hint=SECRET), 403, "refused"),
    (AuditFailed(SECRET, hint=SECRET), 403, "refused"),
    (OutOfTime(SECRET, hint=SECRET), 504, "out-of-time"),
    (EngineFailed(SECRET, hint=SECRET), 503, "unavailable"),
    (ValueError(SECRET), 500, "internal"),
    (OSError(28, SECRET, SECRET), 503, "unavailable"),
    (MemoryError(SECRET), 500, "internal"),
]


@pytest.mark.parametrize(("error", "status", "code"), FAULTS)
def test_f13_the_words_of_a_fault_stay_inside(
    tmp_path: Path, error: Exception, status: int, code: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    with caplog.at_level(logging.DEBUG), running(FakeService(before=fail_with(error)), tmp_path, anonymous=True) as client:
        watcher = key_for(tmp_path, Role.OFFICER)
        answer = client.post(TABLE, json=WISH)
        page = client.get("/datasets/firms?asked=true&use=region:rows&measure=turnover")
        job = client.get("/v1/jobs/" + FakeService().check(query()))
        metrics = client.get("/metrics", headers=watcher)
        log = client.get("/v1/audit-log", headers=watcher)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert job.json()["state"] == "failed"
    said = [answer.text, page.text, job.text, metrics.text, log.text, caplog.text, *capfd.readouterr()]
    said += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(SECRET in words or "Traceback" in words for words in said)


def query() -> TableQuery:
    from statveil.server.web.api import TableWish

    return TableWish.model_validate(WISH).query("firms")


def test_refusals_say_the_same_whatever_the_reason(tmp_path: Path):
    bodies = []
    for number, (error, _, _) in enumerate(FAULTS[:3]):
        with running(FakeService(before=fail_with(error)), tmp_path / str(number), anonymous=True) as client:
            bodies.append(client.post(TABLE, json=WISH).content)
    assert len(set(bodies)) == 1


def test_f13_a_key_is_in_no_log_and_no_metric(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]):
    with caplog.at_level(logging.DEBUG), running(FakeService(), tmp_path) as client:
        headers = key_for(tmp_path, Role.OFFICER)
        secret = headers["Authorization"].split("_", 2)[2]
        client.post(TABLE, json=WISH, headers=headers)
        client.get("/v1/none", headers=headers)
        client.get("/v1/datasets", headers={"Authorization": f"Bearer sv_000000000000_{secret}"})
        client.post("/login", data={"key": f"sv_000000000000_{secret}"})
        said = [client.get(path, headers=headers).text for path in ("/metrics", "/v1/audit-log", "/openapi.json")]
    said += [caplog.text, *capfd.readouterr(), *(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file())]
    assert not any(secret in words for words in said)


def test_fresh_tables_and_refusals_wait_for_the_tick_and_stored_ones_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """T20: how long a table took cannot be told finer than that."""
    waited: list[float] = []

    async def wait_for_tick(begun: float) -> None:
        waited.append(begun)

    monkeypatch.setattr(dispatch, "wait_for_tick", wait_for_tick)
    service = FakeService()
    with running(service, tmp_path, anonymous=True) as client:
        for _ in range(3):
            assert client.post(TABLE, json=WISH).status_code == 200
        assert len(waited) == 1
        service.before = fail_with(DisclosureRefused(SECRET))
        assert client.get(f"{TABLE}?measure=turnover&dimension=region&code=region:N").status_code == 403
    assert len(waited) == 2


def test_what_is_given_out_is_written_down(tmp_path: Path):
    with running(FakeService(), tmp_path) as client:
        headers = key_for(tmp_path, Role.OFFICER)
        for _ in range(2):
            client.post(TABLE, json=WISH, headers=headers)
        client.get("/v1/datasets", headers={"Authorization": "Bearer wrong"})
        told = client.get("/v1/audit-log?last=10", headers=headers).json()
    assert [line["event"] for line in told["last"]] == ["table given", "table given again", "wrong key", "audit log read"]
    assert json.loads(told["last"][0]["query"])["measure"] == "turnover"
    assert told["last"][0]["key"] == headers["Authorization"].split("_")[1]
    assert verify(shared_files(tmp_path).audit_log).hash == told["head"]


def test_no_table_leaves_when_the_log_cannot_be_written(tmp_path: Path):
    with running(FakeService(), tmp_path, anonymous=True) as client:
        shared_files(tmp_path).audit_log.mkdir()
        answer = client.post(TABLE, json=WISH)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        shared_files(tmp_path).audit_log.rmdir()
        assert client.post(TABLE, json=WISH).status_code == 200


def test_metrics_count_by_route_and_never_by_what_was_asked(client: httpx.Client, folder: Path):
    client.get("/v1/datasets/CANARY-dataset")
    client.request("BREW", "/v1/datasets")
    text = client.get("/metrics", headers=key_for(folder, Role.AUDITOR)).text
    assert 'statveil_requests_total{method="GET",route="/v1/datasets/{dataset}",status="404"}' in text
    assert "CANARY" not in text
    assert "BREW" not in text


def test_not_ready_when_the_store_is_away(tmp_path: Path):
    class Away(FakeService):
        def stored(self, table_hash: str) -> None:
            raise EngineFailed(SECRET)

    with running(Away(), tmp_path, anonymous=True) as client:
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert SECRET not in answer.text
