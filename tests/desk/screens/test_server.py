"""A table server from the desk: its dataset, what it is measured to be, its keys, its log."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import tomllib
import urllib.error
import urllib.request
from html import escape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from statveil.core.api_keys import KeyRing, read_keys
from statveil.core.audit_log import AuditLog
from statveil.core.toml import to_toml
from statveil.desk.people import invite
from statveil.desk.project import Project
from statveil.jobs.server_config import read_config
from tests.desk.screens.test_protect import ended
from tests.desk.stories import REGIONS, client, post, state, tabulated

FIRMS = "firm,group,region,trade,turnover\n" + "".join(
    f"F{each},G{each // 2},{('N1', 'N2', 'S1')[each % 3]},{('food', 'wood')[each % 5 // 3]},{7 + (each * 37) % 90}\n" for each in range(60)
)
DATASET = {
    "label": "Firms of the valley", "unit": "firm", "holding": "group", "dimension": ["region", "trade"], "tree region": "file",
    "file region": "data/regions.csv", "label region": "Region", "filter": ["trade"], "measure": ["turnover", "count"],
    "unit of turnover": "crowns", "p-percent p": "12",
}  # fmt: skip


def valley(folder: Path) -> TestClient:
    desk = client(folder)
    for name, text in (("firms.csv", FIRMS), ("regions.csv", REGIONS)):
        desk.post("/data/add", files={"file": (name, text)})
    assert post(desk, "/data/open", name="data/firms.csv", kind="server") == 303
    assert post(desk, "/dataset", **DATASET) == 303
    return desk


def test_the_form_writes_what_the_server_reads_and_a_key_is_made_that_only_its_owner_reads(tmp_path: Path) -> None:
    valley(tmp_path)
    (part,) = read_config(tmp_path / "job.toml").datasets
    assert (part.label, part.unit, part.holding, part.filters) == ("Firms of the valley", "firm", "group", ["trade"])
    assert part.dimensions["region"].hierarchy == "data/regions.csv"
    assert part.dimensions["region"].label == "Region"
    assert [(each.id, each.unit, each.count) for each in part.measure] == [("turnover", "crowns", False), ("records", "", True)]
    assert [rule.type for rule in part.rule] == ["p-percent"]
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secret.key").read_text().strip() not in client(tmp_path).get("/protect").text


def test_a_sample_is_served_with_its_weights(tmp_path: Path) -> None:
    desk = client(tmp_path)
    lines = FIRMS.splitlines()
    text = "\n".join([f"{lines[0]},stands", *(f"{line},{1 + at % 3}" for at, line in enumerate(lines[1:]))]) + "\n"
    for name, content in (("firms.csv", text), ("regions.csv", REGIONS)):
        desk.post("/data/add", files={"file": (name, content)})
    assert post(desk, "/data/open", name="data/firms.csv", kind="server") == 303
    assert post(desk, "/dataset", **DATASET, weight="stands") == 303
    assert read_config(tmp_path / "job.toml").datasets[0].weight == "stands"
    assert post(desk, "/dataset", **DATASET) == 303
    assert read_config(tmp_path / "job.toml").datasets[0].weight is None


def test_what_the_form_does_not_have_stays(tmp_path: Path) -> None:
    desk, job = valley(tmp_path), tmp_path / "job.toml"
    content = tomllib.loads(job.read_text())
    content["dataset"][0]["dimensions"]["region"]["levels"] = ["part", "region"]
    content["dataset"][0]["rule"].append({"type": "dominance", "n": 2, "k": 85})
    job.write_text(to_toml({**content, "web": {"anonymous": True}}))
    assert post(desk, "/dataset", **{**DATASET, "label region": "Area"}) == 303
    config = read_config(job)
    assert config.web.anonymous
    assert config.datasets[0].dimensions["region"].levels == ["part", "region"]
    assert {rule.type for rule in config.datasets[0].rule} == {"p-percent", "dominance"}
    assert post(desk, "/dataset", **{**DATASET, "tree region": "flat"}) == 303
    assert read_config(job).datasets[0].dimensions["region"].levels is None, "names of levels belong to their tree"


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimension": []},
        {"measure": []},
        {"depth": "x"},
        {"p-percent p": ""},
        {"dimension": ["firm"]},
        {"p-percent p": "-3"},
        {"depth": "0"},
    ],
)
def test_a_wrong_dataset_changes_nothing(tmp_path: Path, wrong: dict[str, object]) -> None:
    desk = valley(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/dataset", **{**DATASET, **wrong}) == 422
    assert (tmp_path / "job.toml").read_bytes() == before


def test_a_code_that_the_tree_lacks_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    assert "region: 6 codes" in desk.get("/dataset").text
    (tmp_path / "data" / "regions.csv").write_text("code,parent,label\nAll,,\nN1,All,\nN2,All,\n")
    assert "S1" in desk.get("/dataset").text.partition('role="alert"')[2].partition("</div>")[0]


def test_words_among_the_numbers_of_a_measure_are_named_before_anything_is_measured(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    lines = FIRMS.splitlines()
    text = "\n".join([f"{lines[0]},staff", *(f"{line},{'k.A.' if at == 7 else at}" for at, line in enumerate(lines[1:]))]) + "\n"
    desk.post("/data/add", files={"file": ("more.csv", text)})
    assert post(desk, "/data/open", name="data/more.csv", kind="server") == 303
    assert post(desk, "/dataset", **{**DATASET, "measure": ["turnover", "staff"]}) == 303
    told = desk.get("/dataset").text.partition('role="alert"')[2].partition("</div>")[0]
    assert "one value that is not a number" in told
    assert str(tmp_path) not in told
    for kind in ("evaluate", "prepare"):
        assert post(desk, f"/server/{kind}") == 422
    assert post(desk, "/data/missing", column="staff", word="k.A.") == 303
    assert post(desk, "/data/complete", column="staff") == 303
    assert 'role="alert"' not in desk.get("/dataset").text


def test_the_records_of_a_server_are_chosen_as_those_of_a_table(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    assert post(desk, "/data/records", missing="NA", where="turnover > 20") == 303
    (part,) = read_config(tmp_path / "job.toml").datasets
    assert (part.where, part.missing) == ("turnover > 20", ["NA"])
    assert post(desk, "/data/records", missing="", where="nothing > 1") == 422
    assert post(desk, "/undo") == 303
    assert read_config(tmp_path / "job.toml").datasets[0].where is None


def test_screens_of_other_jobs_say_what_this_job_is_and_the_other_way_round(tmp_path: Path) -> None:
    server, table = valley(tmp_path / "server"), tabulated(tmp_path / "table")
    for path in ("/table", "/risk", "/keys", "/record-risk"):
        answer = server.get(path)
        assert answer.status_code == 422
        assert "server" in answer.text
    for path in ("/dataset", "/server-keys", "/alarms"):
        assert table.get(path).status_code == 422
    for path, form in (("/runs", {}), ("/protect/settings", {"norm": "l2"}), ("/compare", {}), ("/front", {}), ("/server/protect", {})):
        assert post(server, path, **form) == 422
    assert post(table, "/server/evaluate") == 422


def test_a_key_is_shown_once_and_stops_when_it_is_revoked(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    answer = desk.post("/server-keys", data={"name": "Research <b>desk</b>", "role": "user", "dataset": "firms", "expires": "2099-12-31"})
    (token,) = re.findall(r"sv_[0-9a-f]{12}_[\w-]{43}", answer.text)
    keys = read_config(tmp_path / "job.toml").api_keys_file
    caller = KeyRing(keys).caller(token)
    assert caller is not None
    assert caller.datasets == frozenset({"firms"})
    page = desk.get("/server-keys").text
    assert "&lt;b&gt;desk" in page
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.suffix in (".jsonl", ".json", ".toml")]
    assert not [text for text in [page, *kept] if token.rpartition("_")[2] in text]
    assert post(desk, "/server-keys/revoke", key=caller.id) == 303
    assert KeyRing(keys).caller(token) is None
    told = [line["event"] for line in Project(tmp_path).log.last(9)]
    assert told[-2:] == ["server key made", "server key revoked"]
    assert desk.get("/log").text.count(caller.id) == 2, "the log says which key"


@pytest.mark.parametrize("wrong", [{"name": ""}, {"role": "king"}, {"dataset": "others"}, {"expires": "soon"}, {"name": "a\nb"}])
def test_a_wrong_wish_makes_no_key(tmp_path: Path, wrong: dict[str, str]) -> None:
    desk = valley(tmp_path)
    assert post(desk, "/server-keys", **{"name": "Ann", "role": "user", **wrong}) == 422
    assert read_keys(read_config(tmp_path / "job.toml").api_keys_file) == []


def test_only_an_author_makes_keys(tmp_path: Path) -> None:
    valley(tmp_path)
    for role in ("reader", "approver"):
        desk = client(tmp_path, token=invite(tmp_path, role, role))
        assert desk.get("/server-keys").status_code == 200
        assert desk.post("/server-keys", data={"name": "Ann", "role": "user"}).status_code == 403


def test_alarms_come_first_and_a_changed_log_is_told(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    assert "was not started" in desk.get("/alarms").text
    path = read_config(tmp_path / "job.toml").audit_log_file
    path.parent.mkdir(exist_ok=True)
    log = AuditLog(path)
    log.write("server started", version="1", processes=2)
    log.write("wrong key", address="ab12")
    log.write("alarm", kind="store", detail="older than the counter")
    head = log.write("table given", dataset="firms", table="f00d", form="csv")
    page = desk.get("/alarms").text
    assert "The log is sound: 4 lines" in page
    assert head.hash in page
    alarms = page.partition("What went wrong")[2].partition("Everything")[0]
    assert "older than the counter" in alarms
    assert "wrong key" in alarms
    assert "table given" not in alarms
    path.write_text(path.read_text().replace("f00d", "cafe"))
    assert "line 4 does not continue the chain" in desk.get("/alarms").text


@pytest.mark.slow
def test_measured_and_prepared_as_by_the_command_line(tmp_path: Path) -> None:
    desk = valley(tmp_path)
    assert post(desk, "/dataset", **{**DATASET, "dimension": ["region"], "filter": [], "measure": ["turnover"]}) == 303
    job = tmp_path / "job.toml"
    job.write_text(f"{job.read_text()}\n[web]\nport = 0\nworkers = 1\n")
    assert post(desk, "/server/evaluate") == 303
    page = ended(desk, tmp_path)
    assert "Run 0001: evaluation" in page
    told = json.loads((tmp_path / "results" / "0001" / "internal" / "evaluation.json").read_text())["datasets"][0]
    assert told["accuracy"][0]["mean"] in page
    assert [row for row in told["attacks"] if f"{row['id']} {escape(row['name'])}" not in page] == []
    assert "T01" in desk.get("/runs/0001/report").text
    assert not (tmp_path / "store.sqlite").exists(), "what is measured is thrown away"
    assert post(desk, "/server/prepare") == 303
    assert "Run 0002: the server is prepared" in ended(desk, tmp_path, "0002")
    assert (tmp_path / "store.sqlite").stat().st_size > 0
    assert list(tmp_path.glob(".serve-*")) == []
    _opened_and_stopped(desk, tmp_path)
    _killed_and_stopped(desk, tmp_path)
    (tmp_path / "secret.key").unlink()
    assert post(desk, "/server/prepare") == 303
    assert "secret.key" in ended(desk, tmp_path, "0005"), "the words of the command line"


def _opened_and_stopped(desk: TestClient, folder: Path) -> None:
    """The server that run 0002 prepared: not before a second person approves, not by another job, and then until it is stopped."""
    assert post(desk, "/server/serve", prepared="0002") == 403, "nobody has approved it"
    second = client(folder, token=invite(folder, "Ben", "approver"))
    assert second.post("/runs/0002/approve", data={"reason": "accuracy and attacks read"}).status_code == 303
    assert post(desk, "/dataset", **{**DATASET, "label": "Another name"}) == 303
    assert post(desk, "/server/serve", prepared="0002") == 403, "the job was changed since"
    assert post(desk, "/undo") == 303
    key = desk.post("/server-keys", data={"name": "Ann", "role": "user"}).text
    assert post(desk, "/server/serve", prepared="0001") == 403, "an evaluation is not a server"
    assert "Open the server" in desk.get("/runs/0002").text
    assert post(desk, "/server/serve", prepared="0002") == 303
    (token,) = re.findall(r"sv_[0-9a-f]{12}_[\w-]{43}", key)
    asked = urllib.request.Request(_where_it_listens(desk), headers={"Authorization": f"Bearer {token}"})
    assert "firms" in urllib.request.urlopen(asked).read().decode()
    assert post(desk, "/server/serve", prepared="0002") == 409, "one server is enough"
    assert "The server runs" in desk.get("/protect").text
    assert post(desk, "/runs/0003/stop") == 303
    assert "the server was stopped" in _page_that_says(desk, "was stopped|: failed|: lost")
    assert _last_event(folder) == "server stopped"


def _killed_and_stopped(desk: TestClient, folder: Path) -> None:
    """A server whose run was killed goes on: it is still told, and can still be stopped."""
    assert post(desk, "/server/serve", prepared="0002") == 303
    address = _where_it_listens(desk, "0004")
    os.kill(json.loads((folder / "results" / "0004.run" / "pid.json").read_text())["pid"], signal.SIGKILL)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(address)
    assert "Stop the server" in desk.get("/runs/0004").text
    assert post(desk, "/server/serve", prepared="0002") == 409
    assert post(desk, "/runs/0004/stop") == 303
    assert "Stopped by Ada" in _page_that_says(desk, "was stopped", "0004")
    assert _last_event(folder) == "server stopped"
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(address)


def _last_event(folder: Path) -> str:
    return str(AuditLog(read_config(folder / "job.toml").audit_log_file).last(1)[0]["event"])


def _where_it_listens(desk: TestClient, id_: str = "0003") -> str:
    found = re.search(r"Listening on (\S+)", _page_that_says(desk, "Listening on|: failed|: lost", id_))
    assert found
    return f"{found[1]}/v1/datasets"


def _page_that_says(desk: TestClient, words: str, id_: str = "0003") -> str:
    for _ in range(3000):
        page = desk.get(f"/runs/{id_}").text
        if re.search(words, page):
            return page
        time.sleep(0.1)
    raise AssertionError(page)


def test_a_second_dataset_is_served_beside_the_first_and_taken_out(tmp_path: Path) -> None:
    """Each has its records, its words for missing values, its dimensions; the one that is not edited stays byte for byte."""
    desk, job = valley(tmp_path), tmp_path / "job.toml"
    before = job.read_bytes()
    desk.post("/data/add", files={"file": ("shops.csv", FIRMS.replace("food", "k.A."))})
    answer = desk.post("/dataset/add", data={"state": state(desk), "name": "data/shops.csv"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/dataset?at=1")
    assert post(desk, "/dataset/add", name="data/firms.csv") == 303, "the same file once more, by another name"
    assert [part.id for part in read_config(job).datasets] == ["firms", "shops", "firms-2"]
    assert post(desk, "/dataset", **{**DATASET, "at": "1", "label": "Shops of the valley"}) == 303
    assert post(desk, "/data/missing", at="1", column="trade", word="k.A.") == 303
    assert post(desk, "/data/complete", at="1", column="trade") == 303
    first, second, _ = read_config(job).datasets
    assert (first.label, second.label, second.missing, second.where) == (
        "Firms of the valley", "Shops of the valley", {"trade": ["k.A."]}, "trade is not missing",
    )  # fmt: skip
    assert (first.missing, first.where) == ([], None)
    assert 'aria-current="page">Shops of the valley</a>' in desk.get("/dataset?at=1").text
    assert "Columns of data/shops.csv" in desk.get("/?at=1").text
    assert post(desk, "/dataset/drop", at="2") == 303
    assert post(desk, "/dataset/drop", at="1") == 303
    assert tomllib.loads(job.read_text()) == tomllib.loads(before.decode())
    assert post(desk, "/dataset/drop", at="0") == 422
    assert post(desk, "/dataset/add", name="../secret.csv") == 422
