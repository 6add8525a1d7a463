"""The desk's pages over HTTP, without a browser."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from statveil.core.audit_log import verify
from statveil.jobs.table_job import read_job
from statveil.jobs.tables.assess import assess_records
from tests.desk.stories import client, opened, post, state

TABLE = {"measure": "turnover", "dimension": ["region", "trade"], "tree region": "file", "file region": "regions.csv"}


def test_an_empty_folder_shows_where_to_begin(tmp_path: Path) -> None:
    page = client(tmp_path).get("/")
    assert page.status_code == 200
    assert "Add a file to the project" in page.text


def test_records_become_a_table_and_a_map_that_the_library_agrees_with(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    assert "turnover" in desk.get("/").text
    assert post(desk, "/table", **TABLE) == 303
    page = desk.get("/risk")
    job = read_job(tmp_path / "job.toml")
    _, found = assess_records(job.microdata, job.linked(), job.rules())
    assert f"<dt>sensitive in all</dt><dd>{int(found.sensitive.sum())}</dd>" in page.text
    assert "North" not in page.text or "Open North" in page.text


def test_a_cell_says_why_it_is_sensitive(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    post(desk, "/table", **TABLE)
    job = read_job(tmp_path / "job.toml")
    table, found = assess_records(job.microdata, job.linked(), job.rules())
    cell = int(found.sensitive.nonzero()[0][0])
    page = desk.get(f"/risk?cell={cell}").text
    assert found.reasons_of(cell)[0].replace("'", "&#39;") in page
    assert f"<dd>{int(table.respondents[cell])}</dd>" in page


def test_another_rule_changes_the_counts_and_undo_brings_them_back(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    post(desk, "/table", **TABLE)
    before, job = desk.get("/risk").text, (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/rules", type="minimum-frequency", place="1", n="6", level="20") == 303
    assert desk.get("/risk").text.count('class="sensitive"') > before.count('class="sensitive"')
    assert post(desk, "/undo") == 303
    assert (tmp_path / "job.toml").read_bytes() == job


def test_a_second_window_is_told_that_the_job_moved_on(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    old = state(desk)
    post(desk, "/table", **TABLE)
    answer = desk.post("/rules", data={"state": old, "type": "p-percent", "p": "5"})
    assert answer.status_code == 409
    assert "changed meanwhile" in answer.text


def test_a_wrong_job_is_told_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    assert post(desk, "/table", **{**TABLE, "dimension": ["region", "turnover"]}) == 303
    page = desk.get("/risk")
    assert page.status_code == 422
    assert "cannot be a dimension" in page.text
    assert desk.get("/table").status_code in (200, 422)
    assert post(desk, "/undo") == 303


def test_html_in_codes_and_names_is_escaped(tmp_path: Path) -> None:
    desk = client(tmp_path)
    text = "<b>x</b>,turnover\n" + "".join(f"<script>{code}</script>,{value}\n" for code in "ab" for value in (3.5, 40, 7, 1200))
    desk.post("/data/drop", files={"file": ("bad.csv", text)})
    assert post(desk, "/data/open", name="bad.csv") == 303
    for page in ("/", "/table", "/risk", "/log"):
        shown = desk.get(page).text
        assert "<script>" not in shown
        assert "<b>x" not in shown


@pytest.mark.parametrize("name", ["../job.toml", "..", "/etc/passwd", "a/b.csv", ".hidden", ""])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    desk = opened(tmp_path)
    assert post(desk, "/data/open", name=name) == 422
    assert desk.get(f"/static/{name}").status_code in (404, 405)
    assert desk.get("/runs/..%2f..").status_code in (404, 422)


def test_fifty_walks_of_clicks_never_break_it_and_undo_returns_to_the_same_bytes(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    draw = random.Random(0)
    clicks = [
        lambda: post(desk, "/table", **TABLE),
        lambda: post(desk, "/table", measure="turnover", dimension=draw.sample(["region", "trade"], 1)),
        lambda: post(desk, "/table", **{**TABLE, "tree region": "digits", "digits region": draw.choice(["1 1", "x", "9"])}),
        lambda: post(desk, "/rules", type="p-percent", place=str(draw.randrange(3)), p=str(draw.choice([5, 15, 500, "x"]))),
        lambda: post(desk, "/rules/drop", place=str(draw.randrange(4))),
        lambda: post(desk, "/protect/settings", norm=draw.choice(["l1", "l2", "l9"]), seconds="5"),
        lambda: post(desk, "/undo"),
        lambda: post(desk, "/redo"),
        *(lambda page=page: desk.get(page).status_code for page in ("/", "/table", "/risk", "/protect", "/log", "/risk?rows=trade&cell=2")),
    ]
    for _ in range(50):
        for click in draw.choices(clicks, k=6):
            before, text = state(desk), (tmp_path / "job.toml").read_bytes()
            assert click() < 500
            if state(desk) != before:
                seen = (tmp_path / "job.toml").read_bytes()
                back = "/undo" if post(desk, "/undo") == 303 else "/redo"
                other = "/redo" if back == "/undo" else "/undo"
                assert post(desk, other) in (303, 409)
                assert (tmp_path / "job.toml").read_bytes() in (seen, text)
    assert verify(tmp_path / "log.jsonl").lines > 50
