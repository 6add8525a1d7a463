"""The table and its trees."""

from __future__ import annotations

from pathlib import Path

from statveil.jobs.table_job import TableJob, read_job
from tests.desk.stories import LINES, SHOPS, TABLE, client, opened, post, state, tabulated


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


def test_a_label_may_hold_the_marks_that_separate_fields_elsewhere(tmp_path: Path) -> None:
    """The tree that the desk itself writes is read again, whatever its labels hold; one from a spreadsheet is told by its first line."""
    desk = tabulated(tmp_path)
    text = 'All,,\nN1,All,"Coast; north, inner"\nN2,All,a\tb\nS1,All,"the ""old"" town"\n'
    assert post(desk, "/tree", of="region", text=text) == 303
    page = desk.get("/tree?of=region").text
    assert 'class="fault"' not in page
    assert "Coast; north, inner" in page
    assert post(desk, "/tree", of="region", text="All;;\nN1;All;one, two, three\nN2;All;\nS1;All;\n") == 303
    assert "one, two, three" in desk.get("/table").text


def test_what_was_decided_follows_its_table_through_new_names_and_links(tmp_path: Path) -> None:
    """A decision names its table where there are several; a table's new name is its name there too, and it goes with its table."""
    desk = tabulated(tmp_path)
    assert post(desk, "/decisions", cell="2", status="frozen", reason="printed") == 303
    table = {**TABLE, "name": "sales"}
    assert post(desk, "/table", at="new", measure="turnover", dimension=["trade"], name="by trade") == 303
    assert desk.get("/risk").status_code == 200, "the list says which of the two tables is meant"
    assert post(desk, "/table", **table, at="0") == 303
    assert "frozen, Ada: printed" in desk.get("/risk").text
    assert desk.get("/risk").text.count('class="frozen"') == 1
    assert post(desk, "/table/drop", at="0") == 303
    assert "printed" not in desk.get("/risk").text
    assert post(desk, "/undo") == 303
    assert post(desk, "/table/drop", at="1") == 303
    assert "frozen, Ada: printed" in desk.get("/risk").text


def test_a_decision_on_a_cell_that_is_gone_is_told_and_can_be_taken_back(tmp_path: Path) -> None:
    desk = tabulated(tmp_path)
    assert post(desk, "/decisions", cell="2", status="frozen", reason="printed") == 303
    answer = desk.post("/table", data={"state": state(desk), "measure": "turnover", "dimension": ["region"]})
    assert (answer.status_code, answer.headers["location"]) == (303, "/table")
    page = desk.get("/table").text
    assert 'role="alert"' in page
    assert "frozen, Ada: printed" in page
    assert post(desk, "/decisions/drop", place="0") == 303
    assert 'role="alert"' not in desk.get("/table").text
    for place in ("0", "7", "x", "-1"):
        assert post(desk, "/decisions/drop", place=place) == 422


SPLIT = "region,trade,turnover,home,export\n" + "".join(
    f"{region},{trade},{value + 5 + at % 7},{value},{5 + at % 7}\n" for at, (region, trade, value) in enumerate(LINES)
)


def test_an_equation_between_measures_of_linked_tables_is_added_and_taken_out(tmp_path: Path) -> None:
    desk = client(tmp_path)
    desk.post("/data/add", files={"file": ("shops.csv", SPLIT)})
    assert post(desk, "/data/open", name="data/shops.csv") == 303
    assert post(desk, "/table", measure="turnover", dimension=["region", "trade"]) == 303
    assert "Equations between measures" not in desk.get("/table").text
    assert post(desk, "/equations", total="turnover", part=["home", "export"]) == 422, "their tables are not there"
    for name in ("home", "export"):
        assert post(desk, "/table", at="new", measure=name, dimension=["region", "trade"]) == 303
    before = (tmp_path / "job.toml").read_bytes()
    for total, parts in (("turnover", ["home"]), ("", ["home"]), ("turnover", ["turnover", "home"])):
        assert post(desk, "/equations", total=total, part=parts) == 422
    assert (tmp_path / "job.toml").read_bytes() == before
    assert post(desk, "/equations", total="turnover", part=["home", "export"]) == 303
    assert "turnover = home + export" in desk.get("/table").text
    assert [each.words for each in read_job(tmp_path / "job.toml").linked().equations] == ["turnover = home + export"]
    assert post(desk, "/equations/drop", place="0") == 303
    assert read_job(tmp_path / "job.toml").linked().equations == []
