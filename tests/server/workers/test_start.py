"""`statveil serve` itself: several processes, restarts, kills, and requests that mean harm (docs/threats.md, section 4)."""

from __future__ import annotations

import gc
import gzip
import hashlib
import json
import os
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import trustme
import uvicorn
from click.testing import Result
from typer.testing import CliRunner

from statveil.cli.app import app
from statveil.core.api_keys import Role
from statveil.core.audit_log import verify
from statveil.core.secret import KEY_BYTES
from statveil.jobs.server_config import read_config
from statveil.server.demo import write_demo
from statveil.server.web.formats import FORMATS
from statveil.server.workers import start
from tests.server.live import PATIENCE, Served, resident, served
from tests.server.village import write_server

pytestmark = pytest.mark.slow

TABLE = "/v1/datasets/enterprises/tables"
WISH = {"dimensions": [{"id": "region", "level": "part"}, {"id": "size"}], "measure": "turnover"}
MIB = 1 << 20


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


def from_each_worker(server: Served, path: str) -> set[bytes]:
    """The bytes that fresh connections get; with enough of them every process has its turn."""
    found = set()
    for _ in range(8):
        with server.client() as client:
            found.add(client.get(path).raise_for_status().content)
    return found


def test_every_process_gives_the_same_bytes_in_every_format(server: Served, client: httpx.Client):
    where = client.post(TABLE, json=WISH).raise_for_status().headers["content-location"].split("?")[0]
    turned = client.post(TABLE, json={**WISH, "dimensions": WISH["dimensions"][::-1]})
    assert turned.headers["content-location"].split("?")[0] == where
    for form in FORMATS:
        assert len(from_each_worker(server, f"{where}?format={form.name}")) == 1, form.name


def test_f07_an_absurd_table_is_refused_before_any_work(server: Served, client: httpx.Client):
    absurd = {"dimensions": [{"id": name} for name in "abc"], "measure": "amount"}
    for _ in range(4):
        client.post("/v1/datasets/wide/tables", json=absurd)
    before = {process: resident(process) for process in server.workers()}
    for _ in range(20):
        answer = client.post("/v1/datasets/wide/tables", json=absurd)
        assert answer.status_code == 422
        assert "200,000" in answer.json()["detail"] + answer.json()["advice"]
    grown = [resident(process) - size for process, size in before.items()]
    with closing(sqlite3.connect(server.folder / "state" / "jobs.sqlite")) as jobs:
        assert jobs.execute("SELECT count(*) FROM job WHERE dataset = 'wide'").fetchone() == (0,)
    assert max(grown) < 20 * MIB


INJECTIONS = [
    '"; DROP TABLE cells;--',
    "x' OR 1=1 --",
    "region\x00",
    "x" * 200,
    "\u202enoiger",
    "r\u0435gion",
    "region); DELETE FROM answers; --",
    "${7*7}{{7*7}}",
    "read_csv('/etc/passwd')",
]


def fingerprint(folder: Path) -> dict[str, str]:
    """The records' files and the rows of the store."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.parquet")}
    with closing(sqlite3.connect(f"file:{folder / 'store.sqlite'}?mode=ro", uri=True)) as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        for table in tables:
            rows = store.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            found[table] = hashlib.sha256(repr(rows).encode()).hexdigest()
    return found


def test_f09_names_are_data(server: Served, client: httpx.Client):
    client.post(TABLE, json=WISH).raise_for_status()
    before = fingerprint(server.folder)
    for name in INJECTIONS:
        wishes = [
            {**WISH, "measure": name},
            {**WISH, "dimensions": [{"id": name}]},
            {**WISH, "dimensions": [{"id": "region", "level": name}]},
            {**WISH, "dimensions": [{"id": "region", "codes": [name]}]},
            {"dimensions": [{"id": "industry"}], "measure": "turnover", "filters": {"size": [name]}},
            {"dimensions": [{"id": "industry"}], "measure": "turnover", "filters": {name: ["x"]}},
        ]
        answers = [client.post(TABLE, json=wish) for wish in wishes]
        answers += [client.get(TABLE, params={"dimension": name, "measure": "turnover"})]
        assert {answer.status_code for answer in answers} == {422}
        assert client.get(f"/v1/datasets/{quote(name, safe='')}").status_code == 404
    long = client.post(TABLE, json={**WISH, "measure": "x" * MIB})
    assert long.status_code == 413
    assert fingerprint(server.folder) == before


TRAVERSALS = [
    "/v1/datasets/..%2f..%2f..%2fetc%2fpasswd",
    "/v1/datasets/%2fetc%2fpasswd",
    "/v1/datasets/file:%2f%2f%2fetc%2fpasswd",
    "/v1/datasets/%5c%5chost%5cshare",
    "/v1/tables/..%2f..%2fstore.sqlite",
    "/v1/jobs/..%2f..%2fsecret.key",
    "/static/..%2f..%2fsecret.key",
    "/static/../../../../etc/passwd",
    "/static/%2e%2e/%2e%2e/app.py",
    "//etc/passwd",
    "/datasets/..%2f..%2fsecret.key",
    "/v1/datasets/enterprises/tables?dimension=region&measure=turnover&format=..%2f..%2fetc%2fpasswd",
    "/v1/datasets/%2fdev%2fzero",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_f10_no_path_leads_out(server: Served, path: str):
    """Sent as it stands: a client would tidy it."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as line:
        word = server.headers[Role.USER]["Authorization"]
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {word}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split()[1].startswith(b"4"), answer[:200]
    assert b"root:" not in answer


def test_f12_a_packed_body_is_not_unpacked(server: Served, client: httpx.Client):
    bomb = gzip.compress(b" " * (64 * MIB))
    before = {process: resident(process) for process in server.workers()}
    answer = client.post(TABLE, content=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert max(resident(process) - size for process, size in before.items()) < 20 * MIB


def test_f13_key_and_units_are_in_no_log_answer_or_metric(server: Served, client: httpx.Client):
    secret = (server.folder / "secret.key").read_text().strip()
    assert len(secret) == 2 * KEY_BYTES
    answers = [client.post(f"{TABLE}?format={form.name}", json=WISH).content for form in FORMATS]
    watcher = server.client(Role.OFFICER)
    answers += [watcher.get(path).content for path in ("/metrics", "/v1/audit-log", "/openapi.json", "/v1/datasets/enterprises")]
    written = [path.read_bytes() for path in (server.folder / "state").rglob("*") if path.is_file()]
    written += [(server.folder / "errors.txt").read_bytes(), (server.folder / "store.sqlite").read_bytes()]
    token = server.headers[Role.USER]["Authorization"].split("_", 2)[2].encode()
    for text in (*answers, *written):
        assert secret.encode() not in text
        assert bytes.fromhex(secret) not in text
        assert token not in text
    for process in server.workers():
        environment = Path(f"/proc/{process}/environ").read_bytes()
        assert secret.encode() not in environment
        limits = Path(f"/proc/{process}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits), "no core dump"


def test_the_log_of_errors_holds_no_traceback(server: Served):
    assert "Traceback" not in (server.folder / "errors.txt").read_text()


def test_metrics_add_up_over_the_processes(server: Served):
    counted = []
    for _ in range(2):
        for _ in range(10):
            with server.client() as client:
                client.get("/v1/datasets")
        text = server.client(Role.OFFICER).get("/metrics").text
        line = next(row for row in text.splitlines() if row.startswith("statveil_requests_total") and '"/v1/datasets",status="200"' in row)
        counted.append(float(line.split()[-1]))
    assert counted[1] - counted[0] == 10


def test_a_solver_has_neither_key_nor_store(server: Served, client: httpx.Client):
    client.post(TABLE, json={**WISH, "measure": "employment"}).raise_for_status()
    children = [
        int(word)
        for process in server.workers()
        for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if b"statveil.solve.processes" in Path(f"/proc/{word}/cmdline").read_bytes()
    ]
    assert len(children) == len(server.workers())
    for child in children:
        handles = [os.readlink(handle) for handle in Path(f"/proc/{child}/fd").iterdir() if handle.exists() or handle.is_symlink()]
        assert not any(name in handle for handle in handles for name in ("store.sqlite", "secret.key", "parquet", "audit-log"))


# Starting, or not


def statveil(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_f14_refuses_to_listen_in_public_without_tls(server: Served):
    ended = statveil("serve", server.config, "--host", "0.0.0.0")
    assert ended.exit_code == 2
    assert "in the clear" in ended.output


def test_t22_refuses_another_key_on_the_same_store(server: Served):
    other = server.folder / "other.toml"
    other.write_text(server.config.read_text().replace('file = "secret.key"', 'file = "other.key"'))
    assert statveil("serve", "--new-key", server.folder / "other.key").exit_code == 0
    command = [sys.executable, "-c", "from statveil.cli import main; main()", "serve", str(other), "--workers", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode != 0
    assert "key" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Listening" not in ended.stdout


def test_refuses_to_start_without_keys_or_with_a_log_that_was_changed(server: Served):
    config = server.folder / "empty.toml"
    config.write_text(server.config.read_text().replace("port = 0", 'port = 0\nstate = "empty"'))
    ended = statveil("serve", config)
    assert ended.exit_code == 2
    assert "serve keys add" in ended.output
    assert statveil("serve", "keys", "add", config, "--name", "x").exit_code == 0
    (server.folder / "empty" / "audit-log.jsonl").write_text('{"line": 1}\n')
    ended = statveil("serve", config)
    assert ended.exit_code == 6
    assert "changed: line 1" in ended.output


@pytest.mark.parametrize("words", [(), ("--demo", "x.toml"), ("--demo", "--new-key", "k")])
def test_one_thing_is_served(words: tuple[str, ...]):
    assert statveil("serve", *words).exit_code == 2


def test_the_server_is_an_extra(server: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    ended = statveil("serve", server.config)
    assert ended.exit_code == 6
    assert "pip install 'statveil[server]'" in ended.output


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a certificate of an authority made for the occasion, whose own is `authority.pem`."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "tls.pem"))
    config = write_demo(folder, records=300)
    web = 'port = 0\nworkers = 1\ntls_certificate = "tls.pem"\ntls_key = "tls.pem"'
    config.write_text(config.read_text().replace("anonymous = true", web))
    with served(folder, config) as found:
        yield found


def trusting(server: Served) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(server.folder / "authority.pem"))


def test_f14_tls_and_nothing_in_the_clear(tls: Served):
    assert tls.url.startswith("https://")
    answer = httpx.get(f"{tls.url}/v1/datasets", headers=tls.headers[Role.USER], verify=trusting(tls))
    assert answer.status_code == 200
    assert "max-age" in answer.headers["strict-transport-security"]
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(tls.url.replace("https", "http") + "/healthz")


def shaken_hands(server: Served, version: ssl.TLSVersion) -> str:
    """The version agreed on with a client that speaks this one only, and is ready for weak ciphers."""
    client = trusting(server)
    client.set_ciphers("ALL:@SECLEVEL=0")
    client.minimum_version = client.maximum_version = version
    host, port = server.url.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as line, client.wrap_socket(line, server_hostname=host) as safe:
        return str(safe.version())


def test_f14_tls_1_2_and_newer_are_spoken(tls: Served):
    assert shaken_hands(tls, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert shaken_hands(tls, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")  # to offer the old versions is the point
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_f14_the_server_itself_turns_older_versions_away(tls: Served, version: ssl.TLSVersion):
    """By an alert, or by hanging up on the first word: a client that refuses to offer them would prove nothing."""
    with pytest.raises((ssl.SSLError, ConnectionError)) as refused:
        shaken_hands(tls, version)
    by_the_server = {"TLSV1_ALERT_PROTOCOL_VERSION", "UNEXPECTED_EOF_WHILE_READING"}
    assert isinstance(refused.value, ConnectionError) or getattr(refused.value, "reason", "") in by_the_server


def test_the_log_is_verified_from_the_command_line(server: Served):
    ended = statveil("serve", "log", "verify", server.config)
    assert ended.exit_code == 0, ended.output
    assert "The log is sound" in ended.output
    assert statveil("serve", "log", "verify", server.config, "--head", "f" * 64).exit_code == 5


def test_keys_are_made_listed_and_revoked_from_the_command_line(server: Served):
    words = ("--name", "Desk 3", "--role", "auditor", "--dataset", "wide", "--expires", "2999-12-31")
    token = statveil("serve", "keys", "add", server.config, *words).output.split()[0]
    headers = {"Authorization": f"Bearer {token}"}
    with server.client(None) as client:
        assert [each["id"] for each in client.get("/v1/datasets", headers=headers).json()["datasets"]] == ["wide"]
        listed = statveil("serve", "keys", "list", server.config).output
        assert "Desk 3  only wide  until 2999-12-31" in listed
        assert token not in listed
        assert statveil("serve", "keys", "revoke", server.config, token.split("_")[1]).exit_code == 0
        assert client.get("/v1/datasets", headers=headers).status_code == 401
    assert json.loads((server.folder / "state" / "api-keys.json").read_text())[-1]["revoked"]
    for wrong in (("--role", "king"), ("--dataset", "none")):
        assert statveil("serve", "keys", "add", server.config, "--name", "x", *wrong).exit_code == 2


def test_restarted_killed_and_moved_in_time_the_server_gives_the_same_bytes(server: Served):
    with server.client() as client:
        told = {form.name: client.post(f"{TABLE}?format={form.name}", json=WISH).content for form in FORMATS}
    head = server.client(Role.AUDITOR).get("/v1/audit-log").json()["head"]
    server.stop()
    server.start("--workers", "1", TZ="Pacific/Kiritimati", PYTHONHASHSEED="5", LC_ALL="tr_TR.UTF-8")
    with server.client() as client:
        again = {form.name: client.post(f"{TABLE}?format={form.name}", json=WISH).content for form in FORMATS}
        assert told == again
        (process,) = server.workers()
        os.kill(process, signal.SIGKILL)
        assert after_the_fall(server, client.headers) == told["json"]
    log = server.folder / "state" / "audit-log.jsonl"
    verify(log, expected_head=head)
    assert sum('"server started"' in line for line in log.read_text().splitlines()) == 2


def after_the_fall(server: Served, headers: httpx.Headers) -> bytes:
    """The table, as soon as there is a process again."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE, verify=False) as client:
                return client.post(TABLE, json=WISH).raise_for_status().content
        except httpx.HTTPError:
            time.sleep(0.2)
    raise AssertionError("no process came back")


NAME = "STATVEIL_TEST_KEY"


def test_the_solver_is_started_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child keeps the environment that it is started with, for all who can read it."""
    path = write_server(tmp_path, web={"port": 0, "anonymous": True}, mode="section4")
    path.write_text(path.read_text().replace('key = { "file" = "key" }', f'key = {{ environment = "{NAME}", counter = "counter" }}'))
    monkeypatch.setenv(NAME, (tmp_path / "key").read_text())
    seen: list[str | None] = []
    monkeypatch.setattr(start, "warm_up", lambda: seen.append(os.environ.get(NAME)))
    monkeypatch.setattr(start, "without_core_dumps", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: None)
    with socket.socket() as listening:
        start.run_worker(path, read_config(path).web, listening, lambda: seen.append("ready"))
    assert seen == [None, "ready"]
