"""PC-Axis and SDMX-ML: the released numbers and nothing else, in the words of each standard."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import BackendMissing, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, frames, pc_axis, sdmx

MakeRelease = Callable[..., Any]
GENERIC = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/generic}"


def keywords(path: Path) -> dict[str, str]:
    """A plain reading of a .px file: KEY=content; with line ends taken out of lists."""
    found = re.findall(r'([A-Z-]+(?:\("[^"]*"\))?)=((?:"[^"]*"|[^";])*);', path.read_text(encoding="utf-8"))
    return {key: " ".join(content.split()) for key, content in found}


def test_a_px_file_has_stub_heading_values_codes_and_data(village: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(village, tmp_path / "x.px")
    px = keywords(path)
    assert px["STUB"] == '"region"'
    assert px["HEADING"] == '"trade"'
    assert px['VALUES("region")'] == '"Total","Urk","Ens"'
    assert px['CODES("region")'] == '"Total","U","E"'
    assert px["DATA"] == '1386623 9000 1377623 0 1004000 5000 999000 "." 382623 4000 378623 0'
    assert {"MATRIX", "SUBJECT-AREA", "SUBJECT-CODE", "TITLE", "CONTENTS", "UNITS", "DECIMALS"} <= set(px)
    assert "777123" not in path.read_text(encoding="utf-8")


def test_a_px_file_has_decimals_hierarchies_and_no_quotation_marks_in_texts(make_release: MakeRelease, tmp_path: Path) -> None:
    tree = Hierarchy(parent={"N": "Total", "a": "N", "b": "N"}, labels={"a": 'say "hi"', "b": "same", "N": "same"})
    release = make_release({"r": tree}, {("a",): 15, ("b",): -5}, scale=1, decimals=1)
    [path] = export.write_pc_axis(release, tmp_path / "x.px")
    px = keywords(path)
    assert (px["DECIMALS"], px["DATA"]) == ("1", "1.0 1.0 1.5 -0.5")
    assert px['VALUES("r")'] == '"Total","same (N)","say \'hi\'","same (b)"'
    assert px['HIERARCHIES("r")'] == '"Total","Total":"N","N":"a","N":"b"'


def test_a_table_too_large_to_list_has_no_px_file(village: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(view: Any, released: Any) -> Any:
        return frames.public_positions(view, released, largest_grid=1)

    monkeypatch.setattr(pc_axis, "public_positions", few)
    with pytest.raises(InputError, match="too large for a PC-Axis file"):
        export.write_pc_axis(village, tmp_path / "x.px")


def test_an_sdmx_message_fits_the_schema_and_holds_every_cell(village: Any, tmp_path: Path) -> None:
    pytest.importorskip("pysdmx")
    [path] = export.write_sdmx_ml(village, tmp_path / "x.xml")
    observations = list(ET.parse(path).getroot().iter(f"{GENERIC}Obs"))
    assert len(observations) == 12
    first = observations[0]
    assert [value.attrib for value in first.find(f"{GENERIC}ObsKey")] == [
        {"id": "REGION", "value": "Total"},
        {"id": "TRADE", "value": "Total"},
    ]
    assert first.find(f"{GENERIC}ObsValue").attrib == {"value": "1386623"}
    statuses = {
        value.attrib["value"] for each in observations for value in each.iter(f"{GENERIC}Value") if value.attrib["id"] == "CONF_STATUS"
    }
    assert statuses == {"F"}
    assert sum(each.find(f"{GENERIC}ObsValue") is None for each in observations) == 1


def test_codes_with_marks_of_xml_are_written_as_they_are(make_release: MakeRelease, tmp_path: Path) -> None:
    pytest.importorskip("pysdmx")
    codes = ["<a>", '"b" & c', " d"]
    [path] = export.write_sdmx_ml(make_release({"r": Hierarchy.flat(codes)}, {(code,): 1 for code in codes}), tmp_path / "x.xml")
    keys = [each.find(f"{GENERIC}ObsKey")[0].attrib["value"] for each in ET.parse(path).getroot().iter(f"{GENERIC}Obs")]
    assert keys == ["Total", *codes]


def test_a_missing_package_is_named_with_its_extra(village: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdmx, "find_spec", lambda _name: None)
    with pytest.raises(BackendMissing, match=r"statveil\[sdmx\]"):
        export.write_sdmx_ml(village, tmp_path / "x.xml")


def test_the_same_release_gives_the_same_bytes(village: Any, tmp_path: Path) -> None:
    for write in (export.write_pc_axis, export.write_sdmx_ml):
        [one], [other] = write(village, tmp_path / "one"), write(village, tmp_path / "other")
        assert one.read_bytes() == other.read_bytes()
