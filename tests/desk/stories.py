"""Six shops in two regions, and a desk on them."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from statveil.desk.access import COOKIE
from statveil.desk.app import desk_application

TOKEN = "a-token-of-the-tests"
SHOPS = "region,trade,turnover\n" + "\n".join(
    f"{region},{trade},{value}"
    for region, trade, value in [
        *(("N1", "food", each) for each in (900, 40, 30)),
        *(("N2", "food", each) for each in (101, 92, 83, 74, 65)),
        *(("S1", "food", each) for each in (55, 56, 57, 58, 59)),
        *(("N1", "wood", each) for each in (11, 12, 13, 14, 15)),
        *(("N2", "wood", each) for each in (21, 22, 23, 24, 25)),
        *(("S1", "wood", each) for each in (31, 32, 33, 34, 777)),
    ]
) + "\n"
REGIONS = "code,parent,label\nAll,,\nN,All,North\nS,All,South\nN1,N,\nN2,N,\nS1,S,\n"


def client(folder: Path, *, signed_in: bool = True, largest: int = 1 << 20) -> TestClient:
    application = desk_application(folder, token=TOKEN, person="Ada", largest=largest)
    found = TestClient(application, base_url="http://127.0.0.1:8000", follow_redirects=False, raise_server_exceptions=False)
    if signed_in:
        found.cookies.set(COOKIE, TOKEN)
    return found


def state(desk: TestClient) -> str:
    found = re.search(r'name="state" value="([0-9a-f]+)"', desk.get("/log").text + desk.get("/protect").text)
    assert found
    return found[1]


def post(desk: TestClient, path: str, **form: object) -> int:
    return desk.post(path, data={"state": state(desk), **form}).status_code


def opened(folder: Path) -> TestClient:
    """A desk where the shops are open and the regions lie beside them."""
    desk = client(folder)
    for name, text in (("shops.csv", SHOPS), ("regions.csv", REGIONS)):
        assert desk.post("/data/drop", files={"file": (name, text)}).status_code == 303
    assert post(desk, "/data/open", name="shops.csv") == 303
    return desk
