"""JSON-stat: dimensions, trees and how positions are listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, frames
from statveil.publish.read_back.compare import differences
from statveil.publish.read_back.json_stat_file import read_json_stat_file
from tests.publish.read_back.stories import edit, found
from tests.publish.stories import MakeRelease


def test_dimensions_that_change_places_are_found_in_json_stat(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    assert found(trade, read_json_stat_file, path) == []
    edit(path, '"id":["from","to"]', '"id":["to","from"]')
    assert found(trade, read_json_stat_file, path)[0] == "the dimensions are not the table's"


def test_a_number_as_text_is_no_number(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    edit(path, '"value":[12,', '"value":["12",')
    assert found(trade, read_json_stat_file, path) == ["from=Total, to=Total: not a number, or one with other decimals"]


def test_another_tree_is_found(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    content["dimension"]["to"]["category"]["child"] = {"p": ["q", "Total"]}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert found(trade, read_json_stat_file, path) == ["to: another tree"]


def test_codes_may_be_numbered_in_json_stat(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    edit(path, '"index":["Total","p","q"]', '"index":{"q":2,"p":1,"Total":0}')
    assert found(trade, read_json_stat_file, path) == []


def test_a_very_large_table_lists_what_is_not_zero(make_release: MakeRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, {("a",): 7, ("b",): 0}, structural=((3,),))
    monkeypatch.setattr(frames.all_positions, "__kwdefaults__", {"largest_grid": 2})
    monkeypatch.setattr(frames.public_positions, "__kwdefaults__", {"largest_grid": 2})
    [path] = export.write_json_stat(release, tmp_path / "x.json")
    [view] = release.protected.views
    assert differences(view, read_json_stat_file(path, view, 0), release.protected, whole=2).first == []
    edit(path, '"1":7', '"1":8')
    shown = read_json_stat_file(path, view, 0)
    assert differences(view, shown, release.protected, whole=2).first == ["r=a: another number than in the table audited"]
    edit(path, '"1":8', '"9":8')
    with pytest.raises(FormatError, match="not a JSON-stat file"):
        read_json_stat_file(path, view, 0)
