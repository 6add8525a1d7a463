"""A workbook is read as a spreadsheet would show it: numbers, their form, and nothing that only looks like one."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back import workbook
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.workbook import read_workbook
from tests.publish.stories import MakeRelease

SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def release(make_release: MakeRelease) -> Any:
    """Total 9.95, a 9.94, b 0.01: what a double shows as 9.949999999999999 with sixteen digits."""
    return make_release({"r": Hierarchy.flat("ab")}, {("a",): 994, ("b",): 1}, scale=2, decimals=2)


@pytest.fixture
def path(release: Any, tmp_path: Path) -> Path:
    return export.write_excel(release, tmp_path / "x.xlsx")[0]


def rewrite(path: Path, old: str, new: str, part: str = SHEET) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def found(path: Path, release: Any) -> list[str]:
    [view] = release.protected.views
    return differences(view, read_workbook(path, view, release.protected.decimals), release.protected).first


def test_a_number_is_stored_as_it_is_published(path: Path, release: Any) -> None:
    assert b"<v>9.95</v>" in zipfile.ZipFile(path).read(SHEET)
    assert found(path, release) == []


@pytest.mark.parametrize("digits", ["9.9499999999999993", "9.949999999999999", "995E-2", "9.950"])
def test_the_same_double_in_other_digits_is_the_same_number(path: Path, release: Any, digits: str) -> None:
    rewrite(path, "<v>9.95</v>", f"<v>{digits}</v>")
    assert found(path, release) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<v>9.95</v>", "<v>9.955</v>", "not a number, or one with other decimals"),
        ("<v>9.95</v>", "<v>x</v>", "not a number, or one with other decimals"),
        ("<v>9.95</v>", "<v>1E999</v>", "not a number, or one with other decimals"),
        ("<v>9.95</v>", "<f>9+1</f><v>9.95</v>", "not a number, or one with other decimals"),
        ("<v>9.95</v>", "", "no number where the table has one"),
        ('s="2"><v>9.95</v>', 's="1"><v>9.95</v>', "not a number, or one with other decimals"),
        ('s="2"><v>9.95</v>', 's="99"><v>9.95</v>', "not a number, or one with other decimals"),
        ('s="2"><v>9.95</v>', 't="inlineStr"><is><t>9.95</t></is>', "not a number, or one with other decimals"),
        ('s="2"><v>9.95</v>', 't="b"><v>1</v>', "not a number, or one with other decimals"),
    ],
)
def test_what_is_no_number_as_it_is_published_is_found(path: Path, release: Any, old: str, new: str, words: str) -> None:
    rewrite(path, old, new)
    assert found(path, release) == [f"r=Total: {words}"]


def test_a_form_that_shows_other_decimals_is_found(path: Path, release: Any) -> None:
    """Shown without decimals, 9.95 would be read as 10; form 4 is the same as the workbook's own."""
    rewrite(path, 'formatCode="#,##0.00"', 'formatCode="#,##0"', "xl/styles.xml")
    assert len(found(path, release)) == 3
    rewrite(path, '<xf numFmtId="164"', '<xf numFmtId="4"', "xl/styles.xml")
    assert found(path, release) == []


def test_a_form_of_the_workbook_s_own_is_known_by_its_words(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {("a",): 12345}, scale=3, decimals=3)
    [path] = export.write_excel(release, tmp_path / "x.xlsx")
    assert found(path, release) == []
    rewrite(path, 'formatCode="#,##0.000"', 'formatCode="&quot;99&quot;"', "xl/styles.xml")
    assert len(found(path, release)) == 2


def test_a_number_of_more_digits_than_a_cell_keeps_is_text(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 1234567890123456, ("b",): -5}, scale=2, decimals=2)
    [path] = export.write_excel(release, tmp_path / "x.xlsx")
    assert b"<t>12345678901234.56</t>" in zipfile.ZipFile(path).read(SHEET)
    assert found(path, release) == []
    rewrite(path, "12345678901234.56", "12345678901234.57")
    assert found(path, release) == ["r=a: another number than in the table audited"]


def test_shared_words_are_words(path: Path, release: Any) -> None:
    rewrite(path, 't="inlineStr"><is><t>a</t></is>', 't="s"><v>1</v>')
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}"><si><t>z</t></si><si><r><t>a</t></r></si></sst>')
    assert found(path, release) == []
    rewrite(path, "<v>1</v></c><c", "<v>7</v></c><c")
    assert "r=: codes that the table lacks" in found(path, release)


def test_cells_beside_the_table_are_found(path: Path, release: Any) -> None:
    rewrite(path, "<v>9.95</v></c>", '<v>9.95</v></c><c r="D2"><v>7</v></c>')
    assert found(path, release) == ["it has cells beside the table"]


def test_a_cell_that_is_there_twice_is_found(path: Path, release: Any) -> None:
    rewrite(path, "<v>9.95</v></c>", '<v>9.95</v></c><c r="B2" s="2"><v>7</v></c>')
    assert found(path, release) == ["it has cells beside the table"]


def test_a_code_that_is_a_number_is_found(path: Path, release: Any) -> None:
    rewrite(path, 't="inlineStr"><is><t>a</t></is>', "><v>1</v>")
    assert "it has codes or labels that are not text" in found(path, release)


def test_a_sheet_of_something_else_is_refused(path: Path, release: Any) -> None:
    rewrite(path, "<t>value</t>", "<t>worth</t>")
    with pytest.raises(FormatError, match="columns of the workbook"):
        found(path, release)


def test_more_rows_than_positions_are_refused(path: Path, release: Any) -> None:
    content = zipfile.ZipFile(path).read(SHEET).decode()
    row = content[content.rindex("<row ") : content.index("</sheetData>")]
    rewrite(path, row, row * 2)
    with pytest.raises(FormatError, match="more rows than the table has positions"):
        found(path, release)


def test_a_sheet_that_unpacks_to_more_than_it_may_is_refused(path: Path, release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite(path, "<sheetData>", "<!--" + " " * 5_000_000 + "--><sheetData>")
    assert path.stat().st_size < 50_000
    monkeypatch.setattr(workbook, "TUNING", workbook.TUNING._replace(largest_file=2_000_000))
    with pytest.raises(FormatError, match="unpacks to more"):
        found(path, release)


def test_a_workbook_without_its_styles_is_refused(path: Path, release: Any) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != "xl/styles.xml"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(FormatError, match="not a workbook"):
        found(path, release)


def test_a_table_longer_than_a_sheet_is_read_on_in_the_next(release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ROWS_PER_SHEET", 2)
    [path] = export.write_excel(release, tmp_path / "long.xlsx")
    assert found(path, release) == []
    rewrite(path, "<v>0.01</v>", "<v>0.02</v>", "xl/worksheets/sheet2.xml")
    assert found(path, release) == ["r=b: another number than in the table audited"]
