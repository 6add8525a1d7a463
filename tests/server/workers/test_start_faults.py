"""A live server when something breaks or is meant to break: disk full, store locked or away, names that are paths, secrets planted.

F04, F05, F10 and F13, on records whose ids and values are canaries. The last tests look for them in all that was said.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import statveil
from statveil.core.api_keys import Role
from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.data.readers import read_microdata
from statveil.server.web.formats import FORMATS
from tests.server import stores
from tests.server.live import INSIDE, PATIENCE, Served, becomes, served
from tests.server.store.test_sql import in_schema_of_its_own
from tests.server.village import VILLAGE, write_server

pytestmark = pytest.mark.slow

TABLES = "/v1/datasets/village/tables"
CANARIES = tuple(
    (f"CANARYUNIT-{unit}", f"CANARYHOLDING-{holding}", region, trade, 48_135_000 + 7_919 * amount if amount else 0)
    for unit, holding, region, trade, amount in VILLAGE
)
WEB = {"port": 0, "workers": 1, "requests_per_minute": 1_000_000, "answer_seconds": 60}


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process, so that its limits and handles are those of the server."""
    folder = tmp_path_factory.mktemp("village")
    config = write_server(folder, CANARIES, web=WEB)
    with served(folder, config, PYTHONPATH=str(INSIDE), STATVEIL_TEST_OPENED=str(folder.parent / "opened")) as found:
        yield found


def wish(*dimensions: str, measure: str = "turnover", **more: Any) -> dict[str, Any]:
    return {"dimensions": [{"id": each} for each in dimensions], "measure": measure, **more}


def recorded(server: Served) -> tuple[int, ...]:
    """How much the store and the audit log say was released."""
    with closing(sqlite3.connect(f"file:{server.folder / 'store.sqlite'}?mode=ro", uri=True)) as store:
        rows = [store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("sealed", "tables", "answers")]
    log = (server.folder / "state" / "audit-log.jsonl").read_text(encoding="ascii")
    return (*rows, log.count('"table given"'), log.count('"table made"'))


def is_unavailable(answer: httpx.Response) -> bool:
    """503, in words that tell nothing."""
    return answer.status_code == 503 and answer.json()["code"] == "unavailable" and "Retry-After" in answer.headers


def is_answered(client: httpx.Client, asked: dict[str, Any]) -> bool:
    """Whether a table comes in the end, by itself."""
    return becomes(lambda: client.post(TABLES, json=asked).status_code == 200)


# F04: disk full


@contextmanager
def no_file_beyond(size: int, server: Served) -> Iterator[None]:
    """No process of the server may write beyond that size: the kernel refuses as on a full disk."""
    processes = server.workers()
    before = [resource.prlimit(process, resource.RLIMIT_FSIZE) for process in processes]
    try:
        for process, (_, hard) in zip(processes, before, strict=True):
            resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
        yield
    finally:
        for process, limits in zip(processes, before, strict=True):
            resource.prlimit(process, resource.RLIMIT_FSIZE, limits)


def pad_store(server: Served, size: int) -> None:
    """Let the store's log be larger than every other file, so that it alone meets the end of the disk."""
    with closing(sqlite3.connect(server.folder / "store.sqlite", isolation_level=None)) as store:
        store.execute("CREATE TABLE IF NOT EXISTS padding (content BLOB)")
        store.execute("INSERT INTO padding VALUES (zeroblob(?))", (size,))


@pytest.mark.parametrize(("room", "measure"), [(1 << 10, "turnover"), (1 << 20, "units")], ids=["no file grows", "the store alone"])
def test_f04_a_full_disk_is_a_503_that_releases_nothing_and_passes(village: Served, room: int, measure: str) -> None:
    asked = wish("region", measure=measure)
    with village.client() as client:
        client.post(TABLES, json=wish("trade", measure=measure)).raise_for_status()
        pad_store(village, 2 * room)
        before = recorded(village)
        with no_file_beyond(room, village):
            assert [is_unavailable(client.post(TABLES, json=asked)) for _ in range(3)] == [True] * 3
            assert recorded(village) == before
        assert is_answered(client, asked)
    assert recorded(village) > before


# F05: lock held, store away


def test_f05_a_lock_held_is_a_503_that_releases_nothing_and_passes(village: Served) -> None:
    asked, known = wish("region", "trade"), wish("trade")
    with village.client() as client:
        told = client.post(TABLES, json=known).raise_for_status().content
        before = recorded(village)
        with closing(sqlite3.connect(village.folder / "store.sqlite", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            answer = client.post(TABLES, json=asked)
            assert is_unavailable(answer), answer.text
            assert client.post(TABLES, json=known).content == told, "what was published before needs no lock"
            assert recorded(village)[:3] == before[:3]
            holder.execute("ROLLBACK")
        assert is_answered(client, asked)


def test_f05_a_store_that_restarts_is_a_503_meanwhile_and_is_found_again(postgres: str, tmp_path: Path) -> None:
    in_schema_of_its_own(postgres, "served")
    config = write_server(tmp_path, CANARIES, web=WEB, store={"url": postgres})
    with served(tmp_path, config) as server, server.client() as client:
        told = client.post(TABLES, json=wish("trade")).raise_for_status().content
        stores.stop(postgres)
        try:
            assert [is_unavailable(client.post(TABLES, json=wish("region"))) for _ in range(2)] == [True] * 2
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200
        finally:
            stores.start(postgres)
        assert is_answered(client, wish("region"))
        assert client.get("/readyz").status_code == 200
        assert client.post(TABLES, json=wish("trade")).content == told
    assert "Traceback" not in (tmp_path / "errors.txt").read_text()


# F10: names that are paths


class Watch:
    """The kernel's word (inotify) on whether anybody opened one of these files, by whatever library."""

    OPENED = 0x20 | 0x01

    def __init__(self, *paths: Path) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._line = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._names = {library.inotify_add_watch(self._line, os.fsencode(path), self.OPENED): path.name for path in paths}
        assert self._line >= 0
        assert -1 not in self._names

    def opened(self) -> set[str]:
        try:
            told = os.read(self._line, 1 << 16)
        except BlockingIOError:
            return set()
        found = set()
        while told:
            number, _, _, length = struct.unpack_from("iIII", told)
            found.add(self._names[number])
            told = told[16 + length :]
        return found

    def close(self) -> None:
        os.close(self._line)


def lay_traps(server: Served) -> dict[str, Path]:
    """A secret outside the folder, and a link, a pipe and a device inside it that a request may name."""
    outside = server.folder.parent / "outside.csv"
    outside.write_text("CANARYOUTSIDE\n")
    (server.folder / "link.csv").symlink_to(outside)
    os.mkfifo(server.folder / "pipe.csv")
    (server.folder / "zero.csv").symlink_to("/dev/zero")
    return {"outside": outside, "pipe": server.folder / "pipe.csv"}


def names_of(server: Served) -> list[str]:
    inside = ["link.csv", "pipe.csv", "zero.csv", "key", "records.parquet", "regions.csv", "state/api-keys.json"]
    ways = [
        "../outside.csv",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        "file:///etc/passwd",
        "\\\\host\\share",
        "//host/share",
    ]
    return [*inside, *ways, str(server.folder.parent / "outside.csv"), str(server.folder / "key"), "..\x00", "%2e%2e/key"]


def test_f10_no_name_in_a_request_is_ever_opened(village: Served) -> None:
    traps = lay_traps(village)
    watch = Watch(*traps.values(), village.folder / "key", village.folder / "records.parquet", village.folder / "regions.csv")
    with village.client() as client:
        client.post(TABLES, json=wish("region", "trade", measure="units")).raise_for_status()
        client.get("/static/none")
        log = village.folder.parent / "opened"
        begun = log.stat().st_size
        for name in names_of(village):
            assert {answer.status_code // 100 for answer in asked_for(client, name)} == {4}, name
            assert raw_status(village, f"/static/../{name}") // 100 == 4, name
        client.post(TABLES, json=wish("region", totals=False)).raise_for_status()
    with log.open("rb") as file:
        file.seek(begun)
        opened = {tuple(json.loads(line)) for line in file}
    assert ("open", str(village.folder / "key.counter")) in opened, "the log does tell"
    assert strangers(village, opened) == set()
    assert watch.opened() == set()
    (village.folder / "key").read_bytes()
    assert watch.opened() == {"key"}, "the watch does see"
    watch.close()


def asked_for(client: httpx.Client, name: str) -> list[httpx.Response]:
    """The name wherever a request has one."""
    word = quote(name, safe="")
    bodies = [
        wish("region", measure=name),
        wish(name),
        {**wish(), "dimensions": [{"id": "region", "level": name}]},
        {**wish(), "dimensions": [{"id": "region", "codes": [name]}]},
        wish("region", filters={"trade": [name]}),
        wish("region", filters={name: ["food"]}),
    ]
    addresses = [
        f"/v1/datasets/{word}",
        f"/v1/datasets/{word}/tables",
        f"/v1/tables/{word}",
        f"/v1/jobs/{word}",
        f"/static/{word}",
        f"/datasets/{word}",
    ]
    addresses += [f"{TABLES}?dimension=region&measure=turnover&format={word}", f"{TABLES}?dimension={word}&measure={word}"]
    return [*(client.post(TABLES, json=body) for body in bodies), *(client.get(address) for address in addresses)]


def raw_status(server: Served, target: str) -> int:
    """Sent as it stands: a client would tidy it."""
    host, port = server.url.removeprefix("http://").split(":")
    lines = [f"GET {quote(target, safe='/.:%')} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {word}" for name, word in server.headers[Role.USER].items()]
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(b"".join(iter(lambda: line.recv(65536), b"")).split()[1])


def strangers(server: Served, opened: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """What was opened besides the server's own state and its own code."""
    own = [server.folder / "state", server.folder / "store.sqlite", server.folder / "store.sqlite-wal", server.folder / "key.counter"]
    code = [Path(statveil.__file__).parent, *(Path(each) for each in (os.__file__, httpx.__file__))]
    roots = [os.path.realpath(path) for path in (*own, code[0], code[1].parent, code[2].parent.parent)]
    return {each for each in opened if each[0] != "open" or not os.path.realpath(each[1]).startswith(tuple(roots))}


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link to a device"])
def test_f10_only_a_plain_file_holds_records(tmp_path: Path, kind: str) -> None:
    """A device or a pipe would be read for ever; it is refused before it is opened."""
    path = tmp_path / "records.csv"
    {
        "device": lambda: None,
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link to a device": lambda: path.symlink_to("/dev/zero"),
    }[kind]()
    with pytest.raises(InputError):
        read_microdata("/dev/zero" if kind == "device" else path)


# F13: secrets


def test_f13_what_a_request_carries_is_in_no_log_and_no_metric(village: Served) -> None:
    planted = {
        "User-Agent": "CANARYAGENT",
        "Referer": "http://CANARYREFERER/",
        "X-Forwarded-For": "CANARYFORWARDED",
        "X-Api-Key": "CANARYAPIKEY",
    }
    with village.client() as client:
        wrong = {**planted, "Authorization": "Bearer sv_CANARYID_CANARYTOKEN", "Cookie": "statveil_key=CANARYCOOKIE"}
        answers = [
            client.get("/v1/datasets", headers=wrong),
            client.get("/v1/datasets", headers={**planted, "Authorization": "Basic CANARYBASIC"}),
        ]
        answers += [client.post("/login", data={"key": "CANARYTYPED"}, headers=planted)]
        assert not any("CANARY" in answer.text + str(answer.headers) for answer in answers)
        client.get(f"{TABLES}?dimension=CANARYQUERY&measure=turnover&token=CANARYPARAMETER", headers=planted)
        client.get("/v1/datasets/CANARYPATH", headers=planted)
        client.get("/CANARYPAGE?CANARYSEARCH", headers=planted)
        client.post(TABLES, json=wish("region", measure="CANARYBODY"), headers=planted)
        client.post(TABLES, content=b'{"CANARYBROKEN', headers={**planted, "Content-Type": "application/json"})
        client.request("CANARYMETHOD", "/v1/datasets", headers=planted)
    assert whoever_says(village, [b"CANARY"]) == set()


def test_f13_key_ids_and_true_values_are_in_nothing_that_was_said(village: Served) -> None:
    """After all that happened to this server: every answer in every format, every log, the store, metrics, errors."""
    key = (village.folder / "key").read_text().strip()
    tokens = [headers["Authorization"].split("_", 2)[2] for headers in village.headers.values()]
    values = [str(amount) for *_, amount in CANARIES if amount]
    secrets = [b"CANARYUNIT", b"CANARYHOLDING", *(word.encode() for word in (key, *tokens, *values)), bytes.fromhex(key)]
    with village.client() as client:
        asked = [
            wish(*names, measure=measure) for names in (("region",), ("trade",), ("region", "trade")) for measure in ("turnover", "units")
        ]
        answers = {
            f"{form.name} {number}": client.post(f"{TABLES}?format={form.name}", json=each).raise_for_status().content
            for form in FORMATS
            for number, each in enumerate(asked)
        }
    assert not {name for name, content in answers.items() if any(secret in content for secret in secrets)}
    assert whoever_says(village, secrets) == set()
    assert key not in repr(SecretKey.from_file(village.folder / "key"))


def whoever_says(server: Served, secrets: list[bytes]) -> set[str]:
    """The logs, metrics, pages and files that hold one of these."""
    with server.client(Role.OFFICER) as officer:
        told = {
            path: officer.get(path).content
            for path in ("/metrics", "/v1/audit-log", "/v1/datasets", "/v1/datasets/village", "/openapi.json", "/readyz")
        }
    told |= {str(path): path.read_bytes() for path in (server.folder / "state").rglob("*") if path.is_file()}
    told |= {path.name: path.read_bytes() for path in (server.folder / "errors.txt", *server.folder.glob("store.sqlite*"))}
    return {name for name, content in told.items() if any(secret in content for secret in secrets)}


def test_f13_there_are_no_core_dumps_and_nothing_unforeseen_happened(village: Served) -> None:
    for process in village.workers():
        assert resource.prlimit(process, resource.RLIMIT_CORE) == (0, 0)
    assert "Traceback" not in (village.folder / "errors.txt").read_text()
    assert "unforeseen" not in (village.folder / "errors.txt").read_text()
