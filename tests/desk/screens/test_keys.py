"""A safe file: keys, what each recoding would do, and the same bytes as the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from statveil.core.errors import AuditFailed
from statveil.desk.people import invite
from statveil.jobs.folders.records import anonymise_to_folder
from statveil.jobs.kinds import kind_of
from statveil.jobs.recheck import audit_file_folder
from statveil.jobs.record_job import read_file_job
from statveil.jobs.records.explore import explore_recoding
from tests.desk.screens.test_protect import files_of
from tests.desk.stories import client, ended, post, tabulated

PEOPLE = "name,age,job,village\n" + "".join(
    f"P{each},{20 + each % 40},{('cook', 'smith', 'vet')[(each % 7) // 3]},{('Urk', 'Ens')[each % 2]}\n" for each in range(120)
)
KEYS = {"field": ["age", "job", "village"], "menu age": "widths", "widths age": "10 20", "threshold": "3", "order": "2", "drop": ["name"]}


def village(folder: Path) -> TestClient:
    desk = client(folder)
    desk.post("/data/add", files={"file": ("people.csv", PEOPLE)})
    assert post(desk, "/data/open", name="data/people.csv", kind="records") == 303
    assert post(desk, "/keys", **KEYS) == 303
    return desk


def test_the_form_writes_what_the_library_reads(tmp_path: Path) -> None:
    village(tmp_path)
    job = read_file_job(tmp_path / "job.toml")
    assert list(job.keys().names) == ["age", "job", "village"]
    assert (job.parts.safety.threshold, job.parts.safety.order, job.parts.output.drop) == (3, 2, ["name"])


def test_the_figures_of_each_recoding_are_those_of_the_explorer(tmp_path: Path) -> None:
    page = village(tmp_path).get("/keys").text
    job = read_file_job(tmp_path / "job.toml")
    explorer = explore_recoding(job.microdata, job.keys())
    seen = explorer.recode(age="width 10")
    row = page.partition('<td class="left">width 10</td>')[2].partition("</tr>")[0]
    assert row.startswith(f"<td>{seen.unsafe_records:,}</td><td>{seen.recoding_cost:,.0f}</td><td>{seen.blank_cost:,.0f}</td>")


def test_a_decided_recoding_is_a_key_of_the_job_and_is_freed_again(tmp_path: Path) -> None:
    desk = village(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/keys/fix", field="age", level="width 10") == 303
    assert read_file_job(tmp_path / "job.toml").parts.recoding.fixed == {"age": "width 10"}
    assert "decided: free it" in desk.get("/keys").text
    assert post(desk, "/keys/fix", field="age", level="") == 303
    assert (tmp_path / "job.toml").read_bytes() == before


@pytest.mark.parametrize("wrong", [{"field": []}, {"widths age": "x"}, {"menu job": "file"}, {"threshold": "x"}])
def test_wrong_keys_change_nothing(tmp_path: Path, wrong: dict[str, object]) -> None:
    desk = village(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert post(desk, "/keys", **{**KEYS, **wrong}) == 422
    assert (tmp_path / "job.toml").read_bytes() == before


def test_every_page_of_a_file_job_answers(tmp_path: Path) -> None:
    desk = village(tmp_path)
    for page in ("/", "/keys", "/protect", "/log"):
        assert desk.get(page).status_code == 200
    for page in ("/table", "/risk"):
        assert desk.get(page).status_code == 422, "there is no table"


def test_a_table_has_no_keys(tmp_path: Path) -> None:
    assert "not a safe file" in tabulated(tmp_path).get("/keys").text


@pytest.mark.slow
def test_a_safe_file_is_made_approved_and_published_byte_for_byte_as_by_the_command_line(tmp_path: Path) -> None:
    desk = village(tmp_path)
    assert post(desk, "/runs") == 303
    assert "Run 0001: done" in ended(desk, tmp_path)
    assert desk.get("/runs/0001/report").status_code == 200
    assert desk.get("/runs/0001/public-report").status_code == 422
    second = client(tmp_path, token=invite(tmp_path, "Ben", "approver"))
    assert second.post("/runs/0001/approve", data={"reason": "report read"}).status_code == 303
    assert second.post("/runs/0001/publish").status_code == 303
    again = anonymise_to_folder(read_file_job(tmp_path / "job.toml"), tmp_path.parent / f"{tmp_path.name}-again").folder
    assert files_of(tmp_path / "release") == {
        name: content for name, content in files_of(again).items() if not name.startswith("internal/")
    }
    assert kind_of(tmp_path / "release") == "file release"
    assert audit_file_folder(tmp_path / "release").passed, "the mapping is not released, and is found where the run left it"
    (tmp_path / "results" / "0001" / "internal" / "mapping.csv").unlink()
    with pytest.raises(AuditFailed, match="stays in the office"):
        audit_file_folder(tmp_path / "release")
    assert desk.get("/runs/0001/files/safe.csv").content == (again / "public" / "safe.csv").read_bytes()


def test_counts_follow_the_form_before_anything_is_changed(tmp_path: Path) -> None:
    desk = village(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    asked = {"field": ["age", "village"], "menu age": "widths", "widths age": "10 30", "threshold": "2", "order": "2"}
    tried = desk.get("/keys", params=asked).text.partition('id="priced"')[2]
    assert "As the form has it" in tried
    assert "width 30" in tried
    assert "/keys/fix" not in tried, "what is only tried cannot be decided"
    assert "a width must be a number" in desk.get("/keys", params={**asked, "widths age": "ten"}).text
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/keys", **asked) == 303
    made = desk.get("/keys").text.partition('id="priced"')[2]
    figures = [re.findall(r"<td>([\d,]+)</td>", page.partition("</table>")[0]) for page in (tried, made)]
    assert figures[0] == figures[1] != []


def test_who_approves_a_safe_file_reads_that_an_attack_succeeds(tmp_path: Path) -> None:
    """Blanks that are guessed, as only rare values are blanked."""
    desk = village(tmp_path)
    (tmp_path / "job.toml").write_text((tmp_path / "job.toml").read_text().replace("[10, 20]", "[2]"))
    assert post(desk, "/runs") == 303
    assert "Attacks succeed on this result: M03" in ended(desk, tmp_path)
