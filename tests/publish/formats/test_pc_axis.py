"""PC-Axis files: stub, heading, values, codes, decimals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, frames, pc_axis
from tests.publish.stories import MakeRelease


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
