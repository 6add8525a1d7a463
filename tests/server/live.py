"""Servers for tests: the application in a thread of the test's own process, or `statveil serve` with processes of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn

from statveil.core.api_keys import Role, add_key
from statveil.jobs.server_config import WebPart
from statveil.server.demo import write_demo
from statveil.server.engine.service import TableService
from statveil.server.web.app import application
from statveil.server.web.shared_state import SharedFiles
from statveil.server.workers.start import bind
from tests.server.fake import shared_files

PATIENCE = 300.0
"""Seconds until a test gives up: other work may run beside it."""
WIDE = 10_000
"""Codes of each of the three dimensions of the dataset `wide`, which has ten records."""


@contextmanager
def running(service: TableService, folder: Path, *, seconds: float = 30, **web: object) -> Iterator[httpx.Client]:
    """A client of a server that answers with this service, and is gone afterwards."""
    web = {"answer_seconds": 60, **web}  # a busy machine must not turn a table into a promise
    app = application(service, WebPart(**web), shared_files(folder), seconds=seconds)  # type: ignore[arg-type]
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False))
    listening = bind("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=PATIENCE, verify=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(15)
        listening.close()


def key_for(folder: Path, role: Role = Role.USER, **limits: object) -> dict[str, str]:
    """The header of a fresh key."""
    return key_in(shared_files(folder), role, **limits)


def key_in(where: SharedFiles, role: Role = Role.USER, **limits: object) -> dict[str, str]:
    return {"Authorization": f"Bearer {add_key(where.keys, name='test', role=role, **limits)}"}  # type: ignore[arg-type]


def becomes(true: Callable[[], bool]) -> bool:
    """Whether it is true within our patience."""
    until = time.monotonic() + PATIENCE
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


@dataclass(kw_only=True)
class Served:
    """A server that runs, and can be stopped and started again."""

    folder: Path
    config: Path
    headers: dict[Role, dict[str, str]]
    url: str = ""

    def start(self, *options: str, **environment: str) -> None:
        paths = [each["PYTHONPATH"] for each in (environment, os.environ) if each.get("PYTHONPATH")]
        if paths:  # what is given comes first; where the sources under test are named as well, they stay
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        command = [sys.executable, "-c", "from statveil.cli import main; main()", "serve", str(self.config), *options]
        with (self.folder / "errors.txt").open("a") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **environment})
        self.url = _address(self.process, self.folder)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def client(self, role: Role | None = Role.USER) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE, headers={} if role is None else self.headers[role], verify=False)

    def workers(self) -> list[int]:
        """The processes that answer."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split() if b"spawn_main" in Path(f"/proc/{word}/cmdline").read_bytes()]


def resident(process: int) -> int:
    """Bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def write_config(folder: Path, *, records: int = 1_500) -> Path:
    """The demonstration, small, and a dataset of absurdly wide dimensions."""
    config = write_demo(folder, records=records)
    names = "abc"
    columns = {name: pa.array([f"{name}{number}" for number in range(10)]) for name in names}
    pq.write_table(pa.table({**columns, "unit": list(range(10)), "amount": list(range(100, 110))}), folder / "wide.parquet")
    for name in names:
        lines = ["code,parent,label", *(f"{name}{number},all {name},=label {number}" for number in range(WIDE))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    trees = "\n".join(f'{name} = {{ hierarchy = "{name}.csv", levels = ["fine"] }}' for name in names)
    wide = f"""
[[dataset]]
id = "wide"
mode = "section4"
file = "wide.parquet"
unit = "unit"
rule = [{{ type = "minimum-frequency", n = 3, level = 10 }}]
measure = [{{ id = "amount", column = "amount" }}]
[dataset.dimensions]
{trees}
"""
    text = config.read_text().replace("anonymous = true", "port = 0\nrequests_per_minute = 1000000\nanswer_seconds = 60")
    config.write_text(text + wide + "[limits]\nseconds = 300\n")
    return config


INSIDE = Path(__file__).parent / "inside"
"""On PYTHONPATH it is run by every process of a server: see there."""


@contextmanager
def served(folder: Path, config: Path, **environment: str) -> Iterator[Served]:
    """`statveil serve` as a process of its own, with a key of each role."""
    from statveil.jobs.server_config import read_config

    where = SharedFiles.of(read_config(config))
    where.prepare()
    server = Served(folder=folder, config=config, headers={role: key_in(where, role) for role in Role})
    server.start(**environment)
    try:
        yield server
    finally:
        server.stop()


def _address(process: subprocess.Popen[str], folder: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"https?://\S+", line)
        if found:
            return found[0]
    raise AssertionError((folder / "errors.txt").read_text())
