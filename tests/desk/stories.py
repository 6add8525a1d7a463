"""Six shops in two regions, and a desk on them."""

from __future__ import annotations

import re
import time
from pathlib import Path

from starlette.testclient import TestClient

from statveil.desk.access import COOKIE
from statveil.desk.app import desk_application
from statveil.desk.people import People, Person

TOKEN = "a-token-of-the-tests"
LINES = [
    *(("N1", "food", each) for each in (900, 40, 30)),
    *(("N2", "food", each) for each in (101, 92, 83, 74, 65)),
    *(("S1", "food", each) for each in (55, 56, 57, 58, 59)),
    *(("N1", "wood", each) for each in (11, 12, 13, 14, 15)),
    *(("N2", "wood", each) for each in (21, 22, 23, 24, 25)),
    *(("S1", "wood", each) for each in (31, 32, 33, 34, 777)),
]
SHOPS = "region,trade,turnover\n" + "".join(f"{region},{trade},{value}\n" for region, trade, value in LINES)
REGIONS = "code,parent,label\nAll,,\nN,All,North\nS,All,South\nN1,N,\nN2,N,\nS1,S,\n"
TABLE = {"measure": "turnover", "dimension": ["region", "trade"], "tree region": "file", "file region": "data/regions.csv"}


def client(folder: Path, *, token: str = TOKEN, largest: int = 1 << 20) -> TestClient:
    """A desk that Ada started; who has another token sees it as somebody else."""
    people = People(folder, starter=Person("Ada", "author"), token=TOKEN)
    application = desk_application(folder, people, largest=largest)
    found = TestClient(application, base_url="http://127.0.0.1:8000", follow_redirects=False, raise_server_exceptions=False)
    if token:
        found.cookies.set(COOKIE, token)
    return found


def state(desk: TestClient) -> str:
    found = re.search(r'name="state" value="([0-9a-f]+)"', desk.get("/protect").text)
    assert found
    return found[1]


def post(desk: TestClient, path: str, **form: object) -> int:
    return desk.post(path, data={"state": state(desk), **form}).status_code


def opened(folder: Path) -> TestClient:
    """A desk where the shops are open and the regions lie beside them."""
    desk = client(folder)
    for name, text in (("shops.csv", SHOPS), ("regions.csv", REGIONS)):
        assert desk.post("/data/add", files={"file": (name, text)}).status_code == 303
    assert post(desk, "/data/open", name="data/shops.csv") == 303
    return desk


def tabulated(folder: Path) -> TestClient:
    desk = opened(folder)
    assert post(desk, "/table", **TABLE) == 303
    return desk


def ended(desk: TestClient, folder: Path, id_: str = "0001") -> str:
    """The page of a run, once it has ended."""
    for _ in range(6000):
        page = desk.get(f"/runs/{id_}").text
        if f"Run {id_}: running" not in page:
            return page
        time.sleep(0.1)
    raise AssertionError((folder / "results" / f"{id_}.run" / "words.txt").read_text())
