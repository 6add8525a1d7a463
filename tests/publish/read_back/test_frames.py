"""What stands around the numbers of a file: columns, dimensions, attributes, and how a large table lists its positions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, frames
from statveil.publish.read_back.compare import differences, table_shown
from statveil.publish.read_back.csv_file import read_sdmx_csv
from statveil.publish.read_back.json_stat_file import read_json_stat_file
from statveil.publish.read_back.parquet_file import read_parquet
from statveil.publish.read_back.pc_axis_file import read_pc_axis
from statveil.publish.read_back.sdmx_ml_file import read_sdmx_ml
from statveil.publish.read_back.shown import exact_json, shown_grid
from statveil.tables.table import UnionCell

MakeRelease = Callable[..., Any]


@pytest.fixture
def trade(make_release: MakeRelease) -> Any:
    """From p and q to p and q: both dimensions have the same codes, so that only their names tell them apart."""
    tree = Hierarchy.flat("pq")
    return make_release({"from": tree, "to": tree}, {("p", "q"): 7, ("q", "p"): 5})


def found(release: Any, read: Callable[..., Any], path: Path) -> list[str]:
    [view] = release.protected.views
    return differences(view, read(path, view, release.protected.decimals), release.protected).first


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_both_versions_of_sdmx_csv_are_read(trade: Any, tmp_path: Path, version: str) -> None:
    [path] = export.write_sdmx_csv(trade, tmp_path / "x.sdmx.csv", version=version)  # type: ignore[arg-type]
    assert found(trade, read_sdmx_csv, path) == []
    edit(path, "FROM,TO", "TO,FROM")
    assert found(trade, read_sdmx_csv, path)[0] == "the columns are not the table's dimensions and attributes"


def test_dimensions_that_change_places_are_found_in_json_stat(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    assert found(trade, read_json_stat_file, path) == []
    edit(path, '"id":["from","to"]', '"id":["to","from"]')
    assert found(trade, read_json_stat_file, path)[0] == "the dimensions are not the table's"


def test_dimensions_that_change_places_are_found_in_pc_axis(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('STUB="from"', 'STUB="to"').replace('HEADING="to"', 'HEADING="from"'), encoding="utf-8")
    assert found(trade, read_pc_axis, path)[0] == "the dimensions are not the table's"


def test_dimensions_that_change_places_are_found_in_sdmx_ml(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_sdmx_ml(trade, tmp_path / "x.xml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('id="FROM"', 'id="?"').replace('id="TO"', 'id="FROM"').replace('id="?"', 'id="TO"'), encoding="utf-8")
    assert "from=q, to=p: another number than in the table audited" in found(trade, read_sdmx_ml, path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.rename_columns(["to", "from", "value"]), "the columns are not the table's dimensions"),
        (lambda table: table.set_column(2, "value", table["value"].cast(pa.float64())), "text and decimals as they are published"),
        (lambda table: table.set_column(2, "value", table["value"].cast(pa.decimal128(20, 1))), "text and decimals as they are published"),
        (lambda table: pa.concat_tables([table, table]), "it has more rows than the table has positions"),
        (lambda table: table.set_column(0, "from", pa.nulls(9, pa.string())), "codes that the table lacks"),
    ],
)
def test_other_columns_are_found_in_parquet(trade: Any, tmp_path: Path, change: Callable[[Any], Any], words: str) -> None:
    [path] = export.write_parquet(trade, tmp_path / "x.parquet")
    pq.write_table(change(pq.read_table(path)), path)
    assert words in found(trade, read_parquet, path)[0]


def test_too_few_numbers_have_no_place(trade: Any, tmp_path: Path) -> None:
    [axis] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(axis, "DATA=\n12 ", "DATA=\n")
    [stat] = export.write_json_stat(trade, tmp_path / "x.json")
    edit(stat, '"value":[12,', '"value":[')
    for path, read in ((axis, read_pc_axis), (stat, read_json_stat_file)):
        assert found(trade, read, path)[0] == "it has not one number for each position"


def test_a_keyword_that_is_there_twice_is_refused(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(path, "DECIMALS=0;\n", "DECIMALS=0;\nDECIMALS=0;\n")
    with pytest.raises(FormatError, match="not a PC-Axis file"):
        found(trade, read_pc_axis, path)


def test_a_list_that_is_none_is_refused(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_pc_axis(trade, tmp_path / "x.px")
    edit(path, 'STUB="from"', 'STUB=TLIST(A1),"from"')
    with pytest.raises(FormatError, match="not a PC-Axis file"):
        found(trade, read_pc_axis, path)


def test_an_observation_that_says_a_thing_twice_is_found(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_sdmx_ml(trade, tmp_path / "x.xml")
    edit(path, '<gen:ObsValue value="7"/>', '<gen:ObsValue value="7"/><gen:ObsValue value="8"/>')
    assert "from=p, to=q: not a number, or one with other decimals" in found(trade, read_sdmx_ml, path)
    edit(path, '<gen:Value id="CONF_STATUS" value="F"/>', '<gen:Value id="CONF_STATUS" value="C"/><gen:Value id="CONF_STATUS" value="F"/>')
    assert "an observation says one thing twice" in found(trade, read_sdmx_ml, path)


def test_a_number_as_text_is_no_number(trade: Any, tmp_path: Path) -> None:
    [path] = export.write_json_stat(trade, tmp_path / "x.json")
    edit(path, '"value":[12,', '"value":["12",')
    assert found(trade, read_json_stat_file, path) == ["from=Total, to=Total: not a number, or one with other decimals"]


def test_a_key_that_is_there_twice_has_two_meanings() -> None:
    with pytest.raises(FormatError, match="names a key twice"):
        exact_json('{"value": [1], "value": [2]}', Path("x.json"))


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


def test_the_sum_of_a_set_of_cells_is_added_up_from_what_is_shown(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 10, ("b",): 20})
    union = UnionCell(words="a and b", cell=3, members=np.array([1, 2]))
    table = replace(release.table, value=np.array([30, 10, 20, 30]), unions=(union,))
    assert table_shown(table, [shown_grid([["Total", "a", "b"]], ["31", "10", "21"])]).value.tolist() == [31, 10, 21, 31]
