"""SDMX messages: valid, complete, the same bytes each time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import BackendMissing
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, sdmx
from tests.publish.stories import MakeRelease

GENERIC = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/generic}"


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
