"""Methods side by side and the frontier: the figures of the library, what is taken into the job, and nothing that can be published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from statveil.desk.people import invite
from statveil.jobs.record_job import read_file_job
from statveil.jobs.table_job import read_job
from tests.desk.screens.test_keys import village
from tests.desk.stories import client, ended, opened, post, tabulated


@pytest.mark.parametrize("wrong", [{"method": "magic"}, {"base": "0"}, {"base": "x"}])
def test_what_cannot_be_compared_starts_no_run(tmp_path: Path, wrong: dict[str, str]) -> None:
    desk = tabulated(tmp_path)
    assert post(desk, "/compare", **wrong) == 422
    assert list((tmp_path / "results").iterdir()) == []


def test_a_table_has_no_frontier_and_a_file_no_comparison(tmp_path: Path) -> None:
    assert post(opened(tmp_path / "table"), "/front") == 422
    assert post(village(tmp_path / "file"), "/compare") == 422


@pytest.mark.slow
def test_methods_are_shown_as_compared_taken_into_the_job_and_never_approved(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    assert post(desk, "/compare", method=["keep", "rounding", "cell-key"], base="10") == 303
    page = ended(desk, tmp_path)
    figures = json.loads((tmp_path / "results" / "0001" / "internal" / "compare.json").read_text())
    assert [each["name"] for each in figures["methods"]] == ["keep", "rounding", "cell-key"]
    for each in figures["methods"]:
        row = page.partition(f'<th scope="row">{each["words"]}')[2].partition("</tr>")[0]
        assert (f"<td>{each['loss']['moved']:,}</td>" in row) if each["loss"] else (each["failed"] in row)
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    assert second.post("/runs/0001/approve", data={"reason": "read"}).status_code == 409, "a comparison is no release"
    assert desk.get("/runs/0001/report").status_code == 200
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/runs/0001/take", choice="rounding") == 422, "a job cannot ask for it"
    assert post(desk, "/runs/0001/take", choice="keep") == 303
    assert read_job(tmp_path / "job.toml").keep() is not None
    assert post(desk, "/runs/0001/take", choice="adjustment") == 303
    assert read_job(tmp_path / "job.toml").keep() is None
    assert post(desk, "/undo") == 303
    assert post(desk, "/undo") == 303
    assert (tmp_path / "job.toml").read_bytes() == before


@pytest.mark.slow
def test_a_point_of_the_frontier_becomes_the_recoding_of_the_job(tmp_path: Path) -> None:
    desk = village(tmp_path)
    assert post(desk, "/front") == 303
    page = ended(desk, tmp_path)
    assert "Run 0001: frontier" in page
    path = tmp_path / "results" / "0001" / "internal" / "front.json"
    found = json.loads(path.read_text())
    assert page.count('aria-label="Take point') == len(found["points"]) > 1
    assert post(desk, "/runs/0001/take", choice="99") == 422
    assert post(desk, "/runs/0001/take", choice=str(found["least"])) == 303
    assert read_file_job(tmp_path / "job.toml").parts.recoding.fixed == found["points"][found["least"] - 1]["recoding"]
    path.write_text(path.read_text() + " ")
    assert post(desk, "/runs/0001/take", choice="1") == 403, "changed since the run wrote it"
