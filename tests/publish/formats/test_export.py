"""Data files: the public ones tell nothing but the released numbers, the internal ones tell everything."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastexcel
import jsonschema
import numpy as np
import pytest

from statveil.core.errors import BackendMissing, FormatError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from statveil.publish.read_back.csv_file import read_public_csv
from tests.publish.formats.csv_of_village import JSON_STAT, WRITERS, row_codes, rows_of
from tests.publish.stories import MakeRelease


def test_the_public_csv_has_codes_labels_and_the_value_and_nothing_else(village: Any, tmp_path: Path) -> None:
    [path] = export.write_csv(village, tmp_path / "x.csv")
    assert path.read_text().splitlines() == [
        "region,region_label,trade,value",
        "Total,Total,Total,1386623",
        "Total,Total,baker,9000",
        "Total,Total,vet,1377623",
        "Total,Total,smith,0",
        "U,Urk,Total,1004000",
        "U,Urk,baker,5000",
        "U,Urk,vet,999000",
        "U,Urk,smith,",
        "E,Ens,Total,382623",
        "E,Ens,baker,4000",
        "E,Ens,vet,378623",
        "E,Ens,smith,0",
    ]


def test_the_internal_csv_tells_the_story_of_the_vet_of_urk(village: Any, tmp_path: Path) -> None:
    [path] = export.write_csv(village, tmp_path / "x.csv", edition="internal")
    rows = {(row["region"], row["trade"]): row for row in rows_of(path)}
    vet = rows["U", "vet"]
    assert [vet[name] for name in ("original", "adjusted", "change")] == ["777123", "999000", "221877"]
    assert (vet["status"], vet["sense"]) == ("sensitive", "up")
    assert vet["reasons"] == "fewer than 3 respondents; p% rule, p = 10"
    assert (vet["lower_level"], vet["upper_level"]) == ("77712", "77712")
    baker, smith, no_smith = rows["U", "baker"], rows["E", "smith"], rows["U", "smith"]
    assert [baker[name] for name in ("status", "reasons", "lower_level", "sense")] == ["safe", "", "", ""]
    assert [smith[name] for name in ("status", "original", "adjusted")] == ["empty", "", "0"]
    assert [no_smith[name] for name in ("status", "original", "adjusted")] == ["structural zero", "", ""]


def test_an_unknown_edition_is_refused(village: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Known: external, internal"):
        export.write_csv(village, tmp_path / "x.csv", edition="secret")  # type: ignore[arg-type]


LABELS = {"A": "=cmd|' /C calc'!A0", "B": "  +1", "C": "\t@x", "D": "'-quoted", "E": 'say "hi", twice\nor so', "-5": "minus five"}


@pytest.fixture
def nasty(make_release: MakeRelease) -> Any:
    tree = Hierarchy(parent=dict.fromkeys(LABELS, "Total"), labels=LABELS)
    return make_release({"=kind": tree}, {(code,): -100 * place for place, code in enumerate(LABELS, start=1)})


def test_a_formula_in_a_label_is_guarded_and_read_back(nasty: Any, tmp_path: Path) -> None:
    [path] = export.write_csv(nasty, tmp_path / "x.csv")
    rows = rows_of(path)
    texts = [row[name] for row in rows for name in ("'=kind", "'=kind_label")]
    assert not any(text.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")) for text in texts)
    assert [row["value"] for row in rows][1:3] == ["-100", "-200"]
    table = read_public_csv(path)
    assert table.dimensions == ("=kind",)
    assert table.codes == (("Total", *LABELS),)
    assert table.labels == ({"Total": "Total", **LABELS},)
    assert table.units.tolist() == [-2100, -100, -200, -300, -400, -500, -600]


def test_no_label_is_a_formula_in_excel(nasty: Any, tmp_path: Path) -> None:
    [path] = export.write_excel(nasty, tmp_path / "x.xlsx")
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")
    frame = fastexcel.read_excel(path).load_sheet(0).to_arrow()
    assert frame["=kind_label"].to_pylist()[1] == LABELS["A"]
    assert frame["value"].to_pylist()[1] == -100


def test_what_is_read_back_is_what_was_released(village: Any, tmp_path: Path) -> None:
    [path] = export.write_csv(village, tmp_path / "x.csv")
    table = read_public_csv(path)
    assert [row_codes(table, row) for row in np.flatnonzero(table.missing)] == [("U", "smith")]
    assert table.decimals == 0
    assert table.labels == ({"Total": "Total", "U": "Urk", "E": "Ens"}, {})
    assert table.units.sum() == sum(int(row["value"] or 0) for row in rows_of(path))


@pytest.mark.parametrize("text", ["", "value\n1\n", "r,value\na,1.5\nb,2\n", "r,value\na,x\n", "r,value\na,1,2\n"])
def test_an_edited_file_is_not_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(FormatError):
        read_public_csv(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.csv"):
        read_public_csv(tmp_path / "missing.csv")


def test_json_stat_is_valid_and_complete(village: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(village, tmp_path / "x.json")
    content = json.loads(path.read_text())
    jsonschema.validate(content, JSON_STAT)
    assert (content["id"], content["size"]) == (["region", "trade"], [3, 4])
    assert content["value"] == [1386623, 9000, 1377623, 0, 1004000, 5000, 999000, None, 382623, 4000, 378623, 0]
    assert content["dimension"]["region"]["category"] == {
        "index": ["Total", "U", "E"],
        "label": {"Total": "Total", "U": "Urk", "E": "Ens"},
        "child": {"Total": ["U", "E"]},
    }
    assert content["extension"]["provenance"]["release"] == village.provenance.release_hash


def test_no_public_file_holds_the_hash_of_the_records_the_rules_or_the_seed(village: Any, tmp_path: Path) -> None:
    for place, write in enumerate(WRITERS):
        content = write(village, tmp_path / f"x{place}")[0].read_bytes()
        assert not any(secret in content for secret in (village.provenance.input_hash.encode(), b"p% rule", b"seed"))


def test_sdmx_publishes_every_cell_as_free(village: Any, tmp_path: Path) -> None:
    [path] = export.write_sdmx_csv(village, tmp_path / "x.csv")
    rows = rows_of(path)
    assert list(rows[0]) == ["STRUCTURE", "STRUCTURE_ID", "ACTION", "REGION", "TRADE", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "DECIMALS"]
    assert {(row["CONF_STATUS"], row["DECIMALS"]) for row in rows} == {("F", "0")}
    assert [(row["OBS_VALUE"], row["OBS_STATUS"]) for row in rows if row["TRADE"] == "smith"] == [("0", "A"), ("", "M"), ("0", "A")]
    [old] = export.write_sdmx_csv(village, tmp_path / "y.csv", version="1.0")
    assert rows_of(old)[0]["DATAFLOW"] == "STATVEIL:TURNOVER(1.0)"
    with pytest.raises(InputError, match=r"1\.0, 2\.0"):
        export.write_sdmx_csv(village, tmp_path / "z.csv", version="3.0")  # type: ignore[arg-type]


@pytest.mark.parametrize("write", WRITERS)
def test_two_writes_give_the_same_bytes(write: Callable[..., list[Path]], village: Any, tmp_path: Path) -> None:
    first, second = write(village, tmp_path / "one"), write(village, tmp_path / "two")
    assert first[0].read_bytes() == second[0].read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one", "two"]


def test_linked_views_give_a_file_each(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 1, ("b",): 2}, names=("by region", "by/region", "Other"))
    paths = export.write_csv(release, tmp_path / "x.csv")
    assert [path.name for path in paths] == ["x-by_region.csv", "x-by_region-2.csv", "x-Other.csv"]
    assert all(path.exists() for path in paths)


def test_linked_views_keep_both_endings_of_sdmx_csv(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 1, ("b",): 2}, names=("one", "one.sdmx"))
    paths = [*export.write_csv(release, tmp_path / "x.csv"), *export.write_sdmx_csv(release, tmp_path / "x.sdmx.csv")]
    assert [path.name for path in paths] == ["x-one.csv", "x-one_sdmx.csv", "x-one.sdmx.csv", "x-one_sdmx.sdmx.csv"]


def test_a_missing_folder_is_named(village: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        export.write_csv(village, tmp_path / "nowhere" / "x.csv")


def test_a_failed_write_leaves_the_old_file_and_no_scraps(village: Any, tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InputError, match="Cannot write"):
        export.write_csv(village, tmp_path / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_excel_without_its_library_says_what_to_install(village: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    with pytest.raises(BackendMissing, match=r"statveil\[excel\]"):
        export.write_excel(village, tmp_path / "x.xlsx")


def test_a_table_longer_than_a_sheet_goes_on_in_the_next(village: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ROWS_PER_SHEET", 5)
    [path] = export.write_excel(village, tmp_path / "x.xlsx", edition="internal")
    book = fastexcel.read_excel(path)
    assert [book.load_sheet(name).height for name in book.sheet_names] == [5, 5, 2]


def test_a_number_too_long_for_excel_is_written_as_text(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {("a",): 12345678901234567})
    [path] = export.write_excel(release, tmp_path / "x.xlsx")
    assert fastexcel.read_excel(path).load_sheet(0).to_arrow()["value"].to_pylist()[0] == "12345678901234567"


def test_decimals_are_stored_in_excel_as_they_are_published(make_release: MakeRelease, tmp_path: Path) -> None:
    """The double next to 9.95, written with sixteen digits, is 9.949999999999999."""
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 995, ("b",): -12345678901234}, scale=2, decimals=2)
    [path] = export.write_excel(release, tmp_path / "x.xlsx")
    sheet = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")
    assert b"<v>9.95</v>" in sheet
    assert b"<v>-123456789012.34</v>" in sheet


@pytest.mark.parametrize("word", ["<r><t>x</t></r>", "x" * 32_768, "𝄞" * 16_384])
def test_a_word_that_excel_would_not_keep_is_refused(make_release: MakeRelease, tmp_path: Path, word: str) -> None:
    release = make_release({"r": Hierarchy(parent={"a": "Total"}, labels={"a": word})}, {("a",): 1})
    with pytest.raises(InputError, match="Excel keeps"):
        export.write_excel(release, tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []
