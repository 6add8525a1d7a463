"""A live server: a stand-in that speaks the API is asked over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from statveil.audit.attacks import http_client
from statveil.audit.attacks.attacker import AttackJournal
from statveil.audit.attacks.http_client import HttpTableServer, check_access, table_of
from statveil.audit.attacks.public import RequestAxis, TableRequest, Trace
from statveil.core.errors import BackendError, DisclosureRefused, InputError, OutOfTime, ServerClosed
from tests.audit.attacks.stories import village

pytestmark = pytest.mark.slow

TABLE = {
    "id": ["region", "form"],
    "size": [2, 2],
    "dimension": {
        "region": {"category": {"index": {"r1": 1, "r0": 0}}},
        "form": {"category": {"index": ["a", "b"]}},
    },
    "value": [1.5, 2.0, None, 4.25],
    "extension": {"decimals": 2},
}
REQUEST = TableRequest(
    axes=(RequestAxis(id="region", codes=("r0", "r1")), RequestAxis(id="form")), measure="turnover", filters=(("size", ("s",)),)
)

NOBODY = "http://127.0.0.1:9"


class Stand(BaseHTTPRequestHandler):
    """Answers in the order of `script`: (status, headers, body)."""

    script: list[tuple[int, dict[str, str], Any]] = []  # noqa: RUF012
    heard: list[tuple[str, str, Any]] = []  # noqa: RUF012

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.heard.append((self.path, self.headers["Authorization"], json.loads(self.rfile.read(length)) if length else None))
        status, headers, body = self.script.pop(0)
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, text in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[HttpTableServer]:
    Stand.script, Stand.heard = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stand)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield HttpTableServer(f"http://127.0.0.1:{server.server_port}/", "secret", "firms", village().catalogue())
    server.shutdown()
    server.server_close()


def test_a_table_comes_in_whole_units_with_what_the_wire_showed(server: HttpTableServer) -> None:
    Stand.script = [(200, {"ETag": "x"}, TABLE)]
    table = server.ask(REQUEST)
    assert table.values.tolist() == [[150, 200], [0, 425]]
    assert table.shown.tolist() == [[True, True], [False, True]]
    assert table.axes[0].codes == ("r0", "r1")
    assert table.trace is not None
    assert table.trace.headers["etag"] == "x"
    path, key, wish = Stand.heard[0]
    assert (path, key) == ("/v1/datasets/firms/tables?format=json", "Bearer secret")
    assert wish == {
        "dimensions": [{"id": "region", "codes": ["r0", "r1"]}, {"id": "form"}],
        "measure": "turnover",
        "filters": {"size": ["s"]},
        "totals": True,
    }


def test_a_promised_table_is_fetched_when_it_is_done(server: HttpTableServer) -> None:
    Stand.script = [
        (202, {"Location": "/v1/jobs/1"}, {}),
        (200, {}, {"state": "running"}),
        (200, {}, {"state": "done", "table": "/v1/tables/1"}),
        (200, {}, TABLE),
    ]
    assert server.ask(REQUEST).values[0, 0] == 150
    assert [path for path, _, _ in Stand.heard[1:]] == ["/v1/jobs/1", "/v1/jobs/1", "/v1/tables/1?format=json"]


def test_a_job_that_fails_is_a_refusal(server: HttpTableServer) -> None:
    Stand.script = [(202, {"Location": "/v1/jobs/1"}, {}), (200, {}, {"state": "failed", "problem": {"status": 403}})]
    with pytest.raises(DisclosureRefused):
        server.ask(REQUEST)


def test_a_job_that_never_ends_is_given_up(server: HttpTableServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "TUNING", http_client.TUNING._replace(promised=0.3))
    Stand.script = [(202, {"Location": "/v1/jobs/1"}, {}), *[(200, {}, {"state": "running"})] * 5]
    with pytest.raises(OutOfTime):
        server.ask(REQUEST)


@pytest.mark.parametrize(("status", "error"), [(403, DisclosureRefused), (422, InputError), (504, OutOfTime), (500, BackendError)])
def test_problems_are_our_errors(server: HttpTableServer, status: int, error: type[Exception]) -> None:
    Stand.script = [(status, {}, {"title": "no"})]
    with pytest.raises(error):
        server.ask(REQUEST)


def test_a_busy_server_is_asked_again(server: HttpTableServer) -> None:
    Stand.script = [(429, {"Retry-After": "0"}, {}), (200, {}, TABLE)]
    assert server.ask(REQUEST).values.size == 4


def test_nobody_there() -> None:
    with pytest.raises(ServerClosed, match="does not answer"):
        HttpTableServer(NOBODY, "", "firms", village().catalogue()).ask(REQUEST)


def test_only_the_web_is_an_address() -> None:
    with pytest.raises(InputError, match="http://"):
        check_access("file:///etc", "key", "passwd")


@pytest.mark.parametrize(
    ("status", "body"), [(401, {"code": "key-needed"}), (404, {"code": "not-found"}), (403, {"code": "role"}), (401, [])]
)
def test_who_is_not_let_in_has_not_attacked(server: HttpTableServer, status: int, body: Any) -> None:
    """The journal keeps refusals; a server that is shut ends the attack, at the first request and at a later one."""
    Stand.script = [(200, {}, TABLE), *[(status, {}, body)] * 2]
    journal = AttackJournal(village().register, server.catalogue, server)
    assert journal.ask(REQUEST) == 0
    with pytest.raises(ServerClosed, match=f"status {status}"):
        journal.ask(replace(REQUEST, totals=False))
    with pytest.raises(ServerClosed, match=f"status {status}"):
        journal.ask_again(REQUEST)
    assert journal.refusals == []


def test_sparse_values_and_labels_without_an_index() -> None:
    content = {"id": ["d"], "size": [1], "dimension": {"d": {"category": {"label": {"x": "X"}}}}, "value": {"0": 7}}
    table = table_of(content, Trace(seconds=0.0))
    assert table.values.tolist() == [7]
    assert table.axes[0].codes == ("x",)
