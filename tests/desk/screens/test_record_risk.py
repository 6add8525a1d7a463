"""Risk by record: the figures of the library, and no column that is not a key."""

from __future__ import annotations

from pathlib import Path

from statveil.desk.screens.record_risk import riskiest, score_bars
from statveil.jobs.record_job import read_file_job
from statveil.records.risk import find_unsafe
from tests.desk.screens.test_keys import PEOPLE, village
from tests.desk.stories import post, tabulated


def test_the_page_tells_what_the_library_finds(tmp_path: Path) -> None:
    page = village(tmp_path).get("/record-risk").text
    job = read_file_job(tmp_path / "job.toml")
    found = find_unsafe(job.microdata, job.keys())
    assert f"{found.records:,} of 120 records" in page
    assert found.records > 0
    first = riskiest(found)[0]
    assert first.score == found.scores.max()
    assert first.why[0].replace("'", "&#39;") in page
    assert sum(each.records for each in score_bars(found)) == found.records


def test_what_is_decided_counts(tmp_path: Path) -> None:
    desk = village(tmp_path)
    assert post(desk, "/keys/fix", field="age", level="width 20") == 303
    job = read_file_job(tmp_path / "job.toml")
    found = find_unsafe(job.microdata, job.keys(), recoding={"age": "width 20"})
    page = desk.get("/record-risk").text
    assert f"{found.records:,} of 120 records" in page
    assert found.records == 0
    assert "riskiest" not in page


def test_only_key_values_are_shown(tmp_path: Path) -> None:
    page = village(tmp_path).get("/record-risk").text
    names = [line.partition(",")[0] for line in PEOPLE.splitlines()[1:]]
    assert not [name for name in names if f"{name}<" in page or f" {name}." in page or f"= {name}" in page]


def test_a_table_has_no_risk_by_record(tmp_path: Path) -> None:
    assert tabulated(tmp_path).get("/record-risk").status_code == 422
