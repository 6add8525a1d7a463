"""Files, records and the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from statveil.core.toml import read_toml
from tests.desk.stories import client, opened, post


def test_an_empty_folder_shows_where_to_begin(tmp_path: Path) -> None:
    page = client(tmp_path).get("/")
    assert page.status_code == 200
    assert "Begin with the example" in page.text


def test_the_example_is_a_job_that_runs(tmp_path: Path) -> None:
    desk = client(tmp_path)
    assert post(desk, "/data/example") == 303
    assert "data/enterprises.csv" in desk.get("/").text
    assert desk.get("/risk").status_code == 200


def test_the_columns_are_shown_as_they_look(tmp_path: Path) -> None:
    page = opened(tmp_path).get("/").text
    assert '<th scope="row">turnover</th><td class="left">number</td>' in page


def test_missing_words_and_a_condition_are_keys_of_the_job(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    assert post(desk, "/data/records", missing="NA -9", where="trade = 'food'") == 303
    text = (tmp_path / "job.toml").read_text()
    assert 'missing = ["NA", "-9"]' in text
    assert "<td>1</td>" in desk.get("/").text, "one trade is left"


def test_missing_words_by_column_stay_when_a_condition_is_added(tmp_path: Path) -> None:
    desk = client(tmp_path)
    text = "region,turnover\n" + "".join(f"R{each % 3},{each * 7.5}\n" for each in range(30)) + "R1,NA\n"
    desk.post("/data/add", files={"file": ("gaps.csv", text)})
    assert post(desk, "/data/open", name="data/gaps.csv") == 303
    page = desk.get("/").text
    assert "By column: turnover: NA" in page
    assert 'name="where" value="turnover is not missing"' in page, "the first job leaves records without an amount out"
    assert "30 of 31 records kept" in page
    assert post(desk, "/data/records", missing="", where="") == 303
    assert "one missing value" in desk.get("/risk").text
    assert post(desk, "/data/records", missing="", where="turnover is not missing") == 303
    assert "one missing value" not in desk.get("/risk").text


def test_one_click_makes_words_missing_and_another_leaves_these_records_out(tmp_path: Path) -> None:
    desk = client(tmp_path)
    text = "region,size,turnover\n" + "".join(f"R{each % 3},{each % 2},{each * 7.5}\n" for each in range(60)) + "R1,-9,NA\nR2,1,k.A.\n"
    desk.post("/data/add", files={"file": ("gaps.csv", text)})
    assert post(desk, "/data/open", name="data/gaps.csv") == 303
    page = desk.get("/").text
    assert 'aria-label="These words of turnover mean missing"' in page
    assert 'aria-label="These words of size mean missing"' in page
    assert post(desk, "/data/missing", column="turnover", word=["NA", "k.A."]) == 303
    assert post(desk, "/data/complete", column="turnover") == 303
    assert post(desk, "/data/missing", column="size", word="-9") == 303
    data = client(tmp_path).get("/").text
    assert "60 of 62 records kept" in data
    assert read_toml(tmp_path / "job.toml", start_from="").content["data"]["missing"] == {"turnover": ["NA", "k.A."], "size": ["-9"]}
    assert post(desk, "/table", measure="turnover", dimension=["region"]) == 303
    assert desk.get("/risk").status_code == 200


def test_a_condition_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/data/records", where="trade ==== ") == 422
    assert (tmp_path / "job.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["../job.toml", "..", "/etc/passwd", "a/b.csv", ".hidden", "", "history/stack.json", "data/../job.toml"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    desk = opened(tmp_path)
    assert post(desk, "/data/open", name=name) == 422
    assert desk.post("/data/add", files={"file": (name, "a\n1\n")}).status_code in (303, 422)
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("history", "data", "decisions", "results", "approvals"),
        *("log.jsonl", "job.toml"),
    }


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    before = (tmp_path / "data" / "shops.csv").read_bytes()
    assert desk.post("/data/add", files={"file": ("shops.csv", "a\n1\n")}).status_code == 422
    assert (tmp_path / "data" / "shops.csv").read_bytes() == before
