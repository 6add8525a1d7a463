"""The whole desk over HTTP: walks of clicks, HTML in codes, and nothing confidential where it does not belong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from statveil.core.audit_log import verify
from statveil.desk.project import Project
from tests.desk.screens.test_server import DATASET, FIRMS
from tests.desk.stories import LINES, TABLE, client, opened, post, tabulated


def test_html_in_codes_names_and_reasons_is_escaped(tmp_path: Path) -> None:
    desk = client(tmp_path)
    codes = [f"<script>{code}</script>" for code in "ab"]
    text = "<b>x</b>,turnover\n" + "".join(f"{code},{value}\n" for code in codes for value in (3.5, 40, 7, 1200))
    desk.post("/data/add", files={"file": ("bad.csv", text)})
    assert post(desk, "/data/open", name="data/bad.csv") == 303
    assert post(desk, "/decisions", cell="1", status="sensitive", reason="<script>alert(1)</script>") == 303
    for page in ("/", "/table", "/risk?cell=1", "/log", "/protect", "/risk?rows=%3Cscript%3E&at %3Cscript%3E=1"):
        shown = desk.get(page).text
        assert "<script>" not in shown.replace('<script src="/static/desk.js" defer></script>', "")
        assert "<b>x" not in shown


def test_values_of_records_are_in_no_log_history_title_or_address(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    post(desk, "/decisions", cell="1", status="frozen", reason="why")
    post(desk, "/undo")
    marks = {str(value) for _, _, value in LINES if value > 100} | {"1,0", "970"}
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "data"]
    assert len(kept) > 5
    for path in kept:
        assert not [mark for mark in marks if f" {mark}" in path.read_text() or f",{mark}" in path.read_text()], path
    for page in ("/", "/table", "/risk", "/protect", "/log"):
        shown = desk.get(page).text
        title = shown.partition("<title>")[2].partition("</title>")[0]
        links = [part.partition('"')[0] for part in shown.split('href="')[1:]]
        assert not [mark for mark in marks for words in (title, *links) if mark in words]


def test_a_fault_of_ours_tells_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = tabulated(tmp_path)
    monkeypatch.setattr("statveil.desk.screens.risk.risk_map", lambda *_: 1 / 0 if "900" else None)
    answer = desk.get("/risk")
    assert answer.status_code == 500
    assert answer.text == "Internal Server Error"


def test_an_address_that_is_not_there(tmp_path: Path) -> None:
    desk = client(tmp_path)
    assert "There is no such page." in desk.get("/nothing").text
    assert "<h1>Not found</h1>" in desk.get("/nothing").text
    assert desk.get("/static/..%2fdesk.html").status_code == 404
    assert desk.get("/runs/..%2f..").status_code in (404, 422)
    assert desk.get("/runs/0007").status_code == 422


WALKS = 50
CLICKS = (
    ("/table", TABLE),
    ("/table", {"measure": "turnover", "dimension": ["trade"]}),
    ("/table", {**TABLE, "tree region": "digits", "digits region": "1 1"}),
    ("/table", {**TABLE, "tree region": "digits", "digits region": "x"}),
    ("/table", {"dimension": ["turnover"], "measure": "turnover"}),
    ("/table", {"at": "new", "measure": "turnover", "dimension": ["trade"], "name": "by trade"}),
    ("/table/drop", {"at": "1"}),
    ("/tree", {"of": "region", "text": "All,,\nN1,All,<b>\nN2,All,\nS1,All,\n"}),
    ("/tree", {"of": "region", "text": "a,b,\na,c,\n"}),
    ("/dataset/add", {"name": "data/firms.csv"}),
    ("/dataset/drop", {"at": "1"}),
    ("/rules", {"type": "p-percent", "place": "0", "p": "5"}),
    ("/rules", {"type": "p-percent", "place": "0", "p": "25"}),
    ("/rules", {"type": "p-percent", "place": "0", "p": "x"}),
    ("/rules", {"type": "dominance", "n": "2", "k": "80"}),
    ("/rules", {"type": "nothing"}),
    ("/rules/drop", {"place": "1"}),
    ("/rules/drop", {"place": "2"}),
    ("/decisions", {"cell": "2", "status": "frozen", "reason": "why"}),
    ("/decisions", {"cell": "3", "status": "safe", "reason": "why"}),
    ("/decisions", {"cell": "2", "status": "", "reason": "why"}),
    ("/decisions", {"cell": "1", "status": "waived", "reason": "why"}),
    ("/decisions/drop", {"place": "0"}),
    ("/equations", {"total": "turnover", "part": ["turnover"]}),
    ("/equations/drop", {"place": "0"}),
    ("/server/serve", {"prepared": "0001"}),
    ("/data/records", {"missing": "NA", "where": ""}),
    ("/data/records", {"missing": "", "where": "trade = 'food'"}),
    ("/data/open", {"name": "data/shops.csv"}),
    ("/protect/settings", {"norm": "l2", "seconds": "5"}),
    ("/protect/settings", {"norm": "l9"}),
    ("/data/open", {"name": "data/shops.csv", "kind": "records"}),
    ("/keys", {"field": ["region", "trade"], "threshold": "4", "order": "2"}),
    ("/keys/fix", {"field": "region", "level": "as it is"}),
    ("/data/open", {"name": "data/firms.csv", "kind": "server"}),
    ("/data/open", {"name": "data/firms.csv", "kind": "nothing"}),
    ("/dataset", DATASET),
    ("/dataset", {**DATASET, "dimension": ["trade"], "depth": "1", "label": "<i>"}),
    ("/dataset", {**DATASET, "p-percent p": "x"}),
    ("/server-keys/revoke", {"key": "nobody"}),
)
PAGES = (
    "/",
    "/table",
    "/table?at=1",
    "/tree?of=region",
    "/dataset",
    "/dataset?at=1",
    "/server-keys",
    "/alarms",
    "/keys",
    "/record-risk",
    "/risk",
    "/risk?cell=2",
    "/protect",
    "/log",
)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_fifty_walks_of_clicks_lose_no_step_and_undo_returns_to_the_same_bytes(tmp_path: Path, part: int) -> None:
    """Every walk is compared with a plain list of texts: what undo and redo must give is known beforehand."""
    desk, draw, job = opened(tmp_path), random.Random(part), tmp_path / "job.toml"
    assert desk.post("/data/add", files={"file": ("firms.csv", FIRMS)}).status_code == 303
    texts, at = [b"", job.read_bytes()], 1
    for _ in range(WALKS // 5 * 8):
        kind = draw.choice(["click", "click", "undo", "redo", "look"])
        before = job.read_bytes()
        if kind == "look":
            assert desk.get(draw.choice(PAGES)).status_code < 500
            assert job.read_bytes() == before
        elif kind == "click":
            path, form = draw.choice(CLICKS)
            status = post(desk, path, **form)
            assert status in (303, 409, 422)
            assert status == 303 or job.read_bytes() == before, "what is refused changes nothing"
            if job.read_bytes() != before:
                texts, at = [*texts[: at + 1], job.read_bytes()], at + 1
        else:
            wanted = at + (1 if kind == "redo" else -1)
            possible = 0 <= wanted < len(texts)
            assert post(desk, f"/{kind}") == (303 if possible else 409)
            at = wanted if possible else at
        assert job.read_bytes() == texts[at]
        assert len(Project(tmp_path).stack.states) == len(texts)
    assert verify(tmp_path / "log.jsonl").lines > 20
