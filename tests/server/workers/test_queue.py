"""A table of a real service that takes longer than the time budget: promised, made, found, and the same bytes as asked for at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from statveil.core.errors import DisclosureRefused
from tests.server.live import running
from tests.server.village import open_village

WISH = {"dimensions": [{"id": "region"}, {"id": "trade"}], "measure": "turnover"}
TABLES = "/v1/datasets/village/tables"


def test_a_slow_table_is_promised_with_progress_and_found(tmp_path: Path) -> None:
    service, go = open_village(tmp_path, mode="section4"), threading.Event()
    plain = service._solver

    def slow(*given: Any, **told: Any) -> Any:
        assert go.wait(20)
        return plain(*given, **told)

    service._solver = slow
    with running(service, tmp_path, seconds=2, anonymous=True, answer_seconds=0.2) as client:
        promised = client.post(TABLES, json=WISH)
        assert promised.status_code == 202
        where = promised.headers["location"]
        time.sleep(1.1)
        told = client.get(where).json()
        assert told["state"] == "running"
        assert 0.4 < told["progress"] < 1
        assert client.post(TABLES, json=WISH).status_code == 202, "whoever asks meanwhile waits for the same one"
        go.set()
        while (told := client.get(where).json())["state"] == "running":
            time.sleep(0.05)
        assert (told["state"], told["progress"], told["table"]) == ("done", 1, where.replace("jobs", "tables"))
        found = client.get(told["table"])
        assert found.content == client.post(TABLES, json=WISH).content
    again = open_village(tmp_path, mode="section4")
    with running(again, tmp_path, anonymous=True) as client:
        assert client.post(TABLES, json=WISH).content == found.content
        assert client.get(where).json()["state"] == "done", "another process knows of it too"


def test_a_slow_table_that_is_refused_says_so_at_its_job(tmp_path: Path) -> None:
    """In the words of the refusal at once, and nothing is to be found."""
    service = open_village(tmp_path, mode="section4")

    def refusing(*given: Any, **told: Any) -> Any:
        time.sleep(0.6)
        raise DisclosureRefused("Not this one.")

    service._solver = refusing
    with running(service, tmp_path, anonymous=True, answer_seconds=0.1) as client:
        where = client.post(TABLES, json=WISH).headers["location"]
        while (told := client.get(where).json())["state"] in ("waiting", "running"):
            time.sleep(0.05)
        assert told["state"] == "failed"
        assert told["problem"]["status"] == 403
        assert client.get(where.replace("jobs", "tables")).status_code == 404
