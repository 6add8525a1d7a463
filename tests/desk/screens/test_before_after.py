"""The map of what a run released."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv as pa_csv
import pytest
from starlette.testclient import TestClient

from tests.desk.stories import post, tabulated

pytestmark = pytest.mark.slow


def test_the_map_and_the_cards_of_a_run_show_what_it_released(protected: TestClient, tmp_path: Path) -> None:
    """Every number of the internal edition, at its codes."""
    lines = pa_csv.read_csv(tmp_path / "results" / "0001" / "internal" / "turnover-internal.csv").to_pylist()
    everything = '["All", "N", "S"]'
    page = protected.get("/runs/0001/map", params={"open_rows": everything}).text
    for line in lines:
        assert f'<span class="after">{line["adjusted"]:,} (' in page
    food = next(line for line in lines if (line["region"], line["trade"]) == ("N1", "food"))
    assert food["status"] == "sensitive"
    listed = protected.get("/runs/0001/map?only=sensitive").text.partition('id="found"')[2]
    assert f"{food['adjusted']:,} ({100 * (food['adjusted'] - food['original']) / food['original']:+.2f}%)" in listed


def test_a_run_whose_files_were_changed_is_not_shown(protected: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "results" / "0001" / "internal" / "turnover-internal.csv"
    path.write_text(path.read_text().replace("S1", "S2"))
    assert protected.get("/runs/0001/map").status_code == 403


def test_a_later_job_leaves_the_map_of_a_run_as_it_was(protected: TestClient, tmp_path: Path) -> None:
    before = protected.get("/runs/0001/map?cell=3").text
    assert "Decide on it" in before
    assert post(protected, "/rules", place="0", type="p-percent", p="60") == 303
    after = protected.get("/runs/0001/map?cell=3").text
    assert "Decide on it" not in after, "a cell of another job has another number"
    assert before.partition("<tbody>")[2].partition("</tbody>")[0] == after.partition("<tbody>")[2].partition("</tbody>")[0]


def test_a_run_that_is_not_there_has_no_map(tmp_path: Path) -> None:
    assert tabulated(tmp_path).get("/runs/0001/map").status_code == 422
