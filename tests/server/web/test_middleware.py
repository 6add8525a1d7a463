"""Before any work: keys and roles, headers, sizes, rates."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from statveil.core.api_keys import Role
from statveil.server.dataset.query import TUNING
from statveil.server.web import rate_limit
from tests.server.fake import FakeService, shared_files
from tests.server.live import key_for, running
from tests.server.web.apps import TABLE, WISH

pytestmark = pytest.mark.slow


def test_too_large_a_request_is_not_read(client: httpx.Client):
    big = b"x" * (TUNING.largest_body + 1)
    assert client.post(TABLE, content=big).status_code == 413
    assert client.post(TABLE, content=iter([big[:1000], big]), headers={"Content-Type": "application/json"}).status_code == 413
    assert client.get(f"{TABLE}?measure={'x' * 20_000}").status_code == 414


def test_every_answer_carries_the_safe_headers(client: httpx.Client):
    for path in ("/v1/datasets", "/nowhere", "/docs", "/static/page.js"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]


@pytest.fixture(scope="module")
def locked_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locked")


@pytest.fixture(scope="module")
def locked(locked_folder: Path) -> Iterator[httpx.Client]:
    """Nobody may ask this one without a key."""
    with running(FakeService("firms", "farms"), locked_folder, requests_per_minute=100_000) as found:
        yield found


PROTECTED = [
    "/v1/datasets",
    "/v1/datasets/firms",
    "/v1/datasets/none",
    TABLE,
    "/v1/tables/" + "0" * 64,
    "/v1/jobs/" + "0" * 64,
    "/v1/audit-log",
    "/v1/x",
]


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize("header", [None, "Bearer", "Bearer x", "Basic eDp5", "Bearer sv_000000000000_" + "A" * 43])
def test_f14_without_a_key_everything_looks_alike(locked: httpx.Client, path: str, header: str | None):
    answer = locked.get(path, headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json() == locked.get("/v1/datasets").json()


def test_f14_an_expired_key_is_no_key(locked: httpx.Client, locked_folder: Path):
    from datetime import date

    assert locked.get("/v1/datasets", headers=key_for(locked_folder, expires=date(2020, 1, 1))).status_code == 401


def test_f14_what_a_key_may_not_see_does_not_exist(locked: httpx.Client, locked_folder: Path):
    all_of_it, some = key_for(locked_folder), key_for(locked_folder, datasets=("farms",))
    given = locked.post(TABLE, json=WISH, headers=all_of_it)
    where, name = given.headers["content-location"], given.headers["etag"].strip('"').split("-")[0]
    assert locked.get(where, headers=all_of_it).status_code == 200
    pairs = [
        (TABLE + "?dimension=size&measure=turnover", "/v1/datasets/none/tables?dimension=size&measure=turnover"),
        ("/v1/datasets/firms", "/v1/datasets/none"),
        (where, "/v1/tables/" + "0" * 64),
        (f"/v1/jobs/{name}", "/v1/jobs/" + "0" * 64),
    ]
    for hidden, absent in pairs:
        one, other = locked.get(hidden, headers=some), locked.get(absent, headers=some)
        assert (one.status_code, one.json()) == (other.status_code, other.json())
        assert one.status_code == 404
    assert [each["id"] for each in locked.get("/v1/datasets", headers=some).json()["datasets"]] == ["farms"]


def test_roles(locked: httpx.Client, locked_folder: Path):
    keys = {role: key_for(locked_folder, role) for role in Role}
    asked = {role: locked.post(TABLE, json=WISH, headers=keys[role]).status_code for role in Role}
    assert asked == {Role.USER: 200, Role.OFFICER: 200, Role.AUDITOR: 403}
    for path in ("/v1/audit-log", "/metrics"):
        seen = {role: locked.get(path, headers=keys[role]).status_code for role in Role}
        assert seen == {Role.USER: 403, Role.OFFICER: 200, Role.AUDITOR: 200}


def test_health_is_open(locked: httpx.Client):
    assert [locked.get(path).status_code for path in ("/healthz", "/readyz", "/docs", "/openapi.json", "/login")] == [200] * 5


def test_people_are_sent_to_the_door_and_back(locked: httpx.Client, locked_folder: Path):
    answer = locked.get("/datasets/firms")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/datasets/firms")
    token = key_for(locked_folder)["Authorization"].split()[1]
    wrong = locked.post("/login", data={"key": "sv_x", "next": "/"})
    assert wrong.status_code == 401
    assert 'role="alert"' in wrong.text
    right = locked.post("/login", data={"key": token, "next": "/datasets/firms"})
    assert (right.status_code, right.headers["location"]) == (303, "/datasets/firms")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    held = {"Cookie": f"statveil_key={token}"}
    locked.cookies.clear()
    assert locked.get("/datasets/firms", headers=held).status_code == 200
    assert locked.post(TABLE, json=WISH, headers=held).status_code == 401, "a cookie only reads: no other site can make it ask"
    gone = locked.post("/login", data={"key": token, "next": "https://elsewhere.example/"})
    assert gone.headers["location"] == "/"
    locked.cookies.clear()


def test_a_key_that_asks_too_fast_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = time.time()
    monkeypatch.setattr(rate_limit.time, "time", lambda: now)
    with running(FakeService(), tmp_path, requests_per_minute=3) as client:
        fast, slow = key_for(tmp_path), key_for(tmp_path)
        codes = [client.get("/v1/datasets", headers=fast).status_code for _ in range(4)]
        refused = client.get("/v1/datasets", headers=fast)
        assert codes == [200, 200, 200, 429]
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert refused.headers["ratelimit-remaining"] == "0"
        assert refused.json()["code"] == "rate-limit"
        assert client.get("/v1/datasets", headers=slow).headers["ratelimit-remaining"] == "2"
        guesses = [client.get("/v1/datasets", headers={"Authorization": "Bearer x"}).status_code for _ in range(5)]
        assert guesses == [401, 401, 401, 429, 429]


def test_a_file_of_keys_that_others_may_read_lets_nobody_in(tmp_path: Path):
    with running(FakeService(), tmp_path) as client:
        headers = key_for(tmp_path)
        assert client.get("/v1/datasets", headers=headers).status_code == 200
        shared_files(tmp_path).keys.chmod(0o644)
        os.utime(shared_files(tmp_path).keys, (1, 1))
        answer = client.get("/v1/datasets", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert str(tmp_path) not in answer.text
