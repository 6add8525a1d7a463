"""The table and its trees."""

from __future__ import annotations

from pathlib import Path

from statveil.jobs.table_job import TableJob, read_job
from tests.desk.stories import SHOPS, TABLE, opened, post, state, tabulated


def test_the_form_writes_what_the_library_reads(tmp_path: Path) -> None:
    tabulated(tmp_path)
    (spec,) = read_job(tmp_path / "job.toml").specs()
    assert (spec.measure, list(spec.dimensions)) == ("turnover", ["region", "trade"])


def test_the_trees_are_drawn(tmp_path: Path) -> None:
    page = tabulated(tmp_path).get("/table").text
    assert "region: 6 codes" in page
    assert '<li class="depth-1">N <span class="note">North</span></li>' in page


def test_the_trees_follow_the_form_and_the_job_stays(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    asked = {"measure": "turnover", "dimension": ["region", "trade"], "tree region": "digits", "digits region": "1 1"}
    page = desk.get("/table", params=asked).text
    assert "region: 6 codes" in page
    assert "North" not in page.partition('id="trees"')[2], "digits have no labels"
    wrong = desk.get("/table", params={**asked, "digits region": "x"})
    assert wrong.status_code == 200
    assert "digits are whole numbers" in wrong.text.partition('id="trees"')[2]
    assert (tmp_path / "job.toml").read_bytes() == before


def test_values_of_records_cannot_become_codes_and_the_job_stays(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    answer = desk.post("/table", data={**TABLE, "state": state(desk), "dimension": ["region", "turnover"]})
    assert answer.status_code == 422
    assert "cannot be a dimension" in answer.text
    assert (tmp_path / "job.toml").read_bytes() == before


def test_a_code_that_the_tree_lacks_is_named(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    (tmp_path / "data" / "regions.csv").write_text("code,parent,label\nAll,,\nN1,All,\nN2,All,\n")
    post(desk, "/table", **TABLE)
    page = desk.get("/table")
    assert page.status_code == 200
    assert "S1" in page.text.partition('role="alert"')[2].partition("</div>")[0]


def test_a_table_that_cannot_be_made_yet_keeps_what_was_chosen_and_says_why(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    (tmp_path / "data" / "shops.csv").write_text(SHOPS + "N1,food,k.A.\n")
    answer = desk.post("/table", data={**TABLE, "state": state(desk)})
    assert answer.headers["location"] == "/table"
    page = desk.get("/table").text
    told = page.partition('role="alert"')[2].partition("</div>")[0]
    assert "turnover&#39; has one value that is not a number" in told
    assert str(tmp_path) not in told, "files are named from the project's folder on"
    assert '<option value="file" selected>' in page
    asked = desk.get("/risk")
    assert asked.status_code == 422
    assert "Nothing was changed" not in asked.text, "nothing was to be changed"


def test_a_linked_table_is_added_and_taken_out(tmp_path: Path) -> None:
    """Both are protected as one; the second has no name, and gets one that tells what it is."""
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert "Add a linked table" in desk.get("/table").text
    assert '<input type="hidden" name="at" value="new">' in desk.get("/table?at=new").text
    assert post(desk, "/table", at="new", measure="turnover", dimension=["trade"]) == 303
    job = read_job(tmp_path / "job.toml")
    assert [(spec.name, list(spec.dimensions)) for spec in job.specs()] == [
        ("turnover", ["region", "trade"]),
        ("turnover by trade", ["trade"]),
    ]
    page = desk.get("/table?at=1").text
    assert "trade: 3 codes" in page
    assert "region: 6 codes" not in page
    assert 'aria-current="page">turnover by trade</a>' in page
    assert "<option selected>turnover by trade</option>" in desk.get("/risk?view=turnover by trade").text
    assert post(desk, "/table/drop", at="1") == 303
    assert read_job(tmp_path / "job.toml").specs() == read_job_of(before, tmp_path).specs()
    assert post(desk, "/table/drop", at="0") == 422


def read_job_of(text: bytes, folder: Path) -> TableJob:
    (folder / "before.toml").write_bytes(text)
    return read_job(folder / "before.toml")


def test_a_tree_is_written_on_the_desk_and_undone(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    before = (tmp_path / "job.toml").read_bytes()
    assert '<a href="/tree?of=region">Write this tree anew</a>' in desk.get("/table").text
    page = desk.get("/tree?of=region").text
    assert "N,All,North\nN1,N,\n" in page
    tried = desk.get("/tree", params={"of": "region", "text": "All,,\nN1,All,\nN2,All,\nX,All,\n"}).text
    assert "no leaves of this tree: S1." in tried
    assert post(desk, "/tree", of="region", text="All,,\nEast,All,The East\nN1,East,\nS1,East,\nN2,All,\n") == 303
    assert '<li class="depth-1">East <span class="note">The East</span></li>' in desk.get("/table").text
    assert post(desk, "/tree", of="region", text="a,b,\na,c,\n") == 422
    assert post(desk, "/tree", of="turnover", text="a,b,\n") == 422
    assert post(desk, "/undo") == 303
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/redo") == 303
    assert "The East" in desk.get("/table").text
