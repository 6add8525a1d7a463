"""A table of a real service that takes longer than the time budget: promised, made, found, and the same bytes as asked for at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import AuditFailed
from statveil.server.web import queue
from tests.server.live import PATIENCE, becomes, running
from tests.server.village import open_village

WISH = {"dimensions": [{"id": "region"}, {"id": "trade"}], "measure": "turnover"}
TABLES = "/v1/datasets/village/tables"


@pytest.mark.slow
def test_a_slow_table_is_promised_with_progress_and_found(tmp_path: Path) -> None:
    service, go = open_village(tmp_path, mode="section4"), threading.Event()
    plain = service._solver

    def slow(*given: Any, **told: Any) -> Any:
        assert go.wait(PATIENCE)
        return plain(*given, **told)

    service._solver = slow
    with running(service, tmp_path, seconds=2, anonymous=True, answer_seconds=0.2) as client:
        promised = client.post(TABLES, json=WISH)
        assert promised.status_code == 202
        where = promised.headers["location"]
        assert becomes(lambda: client.get(where).json()["progress"] >= 0.5), "a second of two has passed"
        told = client.get(where).json()
        assert told["state"] == "running"
        assert told["progress"] < 1
        assert client.post(TABLES, json=WISH).status_code == 202, "whoever asks meanwhile waits for the same one"
        go.set()
        assert becomes(lambda: client.get(where).json()["state"] != "running")
        told = client.get(where).json()
        assert (told["state"], told["progress"], told["table"]) == ("done", 1, where.replace("jobs", "tables"))
        found = client.get(told["table"])
        assert found.content == client.post(TABLES, json=WISH).content
    again = open_village(tmp_path, mode="section4")
    with running(again, tmp_path, anonymous=True) as client:
        assert client.post(TABLES, json=WISH).content == found.content
        assert client.get(where).json()["state"] == "done", "another process knows of it too"


@pytest.mark.slow
def test_a_slow_table_that_is_refused_says_so_at_its_job(tmp_path: Path) -> None:
    """In the words of the fault at once, and nothing is to be found."""
    service, go = open_village(tmp_path, mode="section4"), threading.Event()

    def refusing(*given: Any, **told: Any) -> Any:
        assert go.wait(PATIENCE)
        raise AuditFailed("Not this one.")

    service._solver = refusing
    with running(service, tmp_path, anonymous=True, answer_seconds=0.1) as client:
        where = client.post(TABLES, json=WISH).headers["location"]
        go.set()
        assert becomes(lambda: client.get(where).json()["state"] == "failed")
        told = client.get(where).json()
        assert told["problem"]["status"] == 403
        assert client.get(where.replace("jobs", "tables")).status_code == 404


@pytest.mark.parametrize("passed", [0.0, 0.02, 0.1, 0.2, 0.3, 7.9])
def test_fresh_tables_leave_at_quarters_of_a_second(monkeypatch: pytest.MonkeyPatch, passed: float) -> None:
    """T20: how long a table took cannot be told finer than that."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(queue.time, "monotonic", lambda: 100.0 + passed)
    monkeypatch.setattr(queue.asyncio, "sleep", sleep)
    waiting = queue.wait_for_tick(100.0)
    with pytest.raises(StopIteration):
        waiting.send(None)
    assert 0 <= slept[0] < 0.25
    assert (passed + slept[0]) / 0.25 == pytest.approx(round((passed + slept[0]) / 0.25))
