"""What every format writes: positions, codes, labels and exact values, column by column."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import fastexcel
import jsonschema
import pyarrow.parquet as pq
import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export, frames
from statveil.publish.read_back.csv_file import read_public_csv
from tests.publish.formats.csv_of_village import JSON_STAT, WRITERS, row_codes, rows_of
from tests.publish.stories import MakeRelease


@pytest.mark.parametrize(("scale", "decimals", "written"), [(0, 0, "1250"), (3, 1, "1.2"), (2, 2, "12.50"), (0, -3, "1000")])
def test_decimals_are_constant_and_exact(make_release: MakeRelease, tmp_path: Path, scale: int, decimals: int, written: str) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 1250, ("b",): 0}, scale=scale, decimals=decimals)
    [path] = export.write_csv(release, tmp_path / "x.csv")
    values = [row["value"] for row in rows_of(path)]
    assert values[1] == written
    assert {len(value.partition(".")[2]) for value in values} == {max(decimals, 0)}
    [parquet] = export.write_parquet(release, tmp_path / "x.parquet")
    assert pq.read_table(parquet)["value"].to_pylist() == [Decimal(value) for value in values]
    [workbook] = export.write_excel(release, tmp_path / "x.xlsx")
    assert fastexcel.read_excel(workbook).load_sheet(0).to_arrow()["value"].to_pylist() == [float(value) for value in values]


@pytest.mark.parametrize("labelled", [True, False])
def test_a_dimension_called_like_labels_is_read_by_its_place(make_release: MakeRelease, tmp_path: Path, labelled: bool) -> None:
    tree = Hierarchy(parent={"p": "Total"}, labels={"p": "Pea"} if labelled else {})
    release = make_release({"a": tree, "a_label": Hierarchy.flat("q")}, {("p", "q"): 4})
    [path] = export.write_csv(release, tmp_path / "x.csv")
    table = read_public_csv(path, release.protected.views[0].dimensions)
    assert table.dimensions == ("a", "a_label")
    assert row_codes(table, 3) == ("p", "q")
    assert table.labels == ({"Total": "Total", "p": "Pea"} if labelled else {}, {})


def test_an_empty_table_is_all_zeros(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {})
    for write in WRITERS:
        write(release, tmp_path / "x")
    assert [row["value"] for row in rows_of(export.write_csv(release, tmp_path / "x.csv")[0])] == ["0", "0", "0"]
    assert len(rows_of(export.write_csv(release, tmp_path / "i.csv", edition="internal")[0])) == 3


def test_a_single_cell_is_a_table(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"r": Hierarchy.flat([])}, {})
    assert [row["value"] for row in rows_of(export.write_csv(release, tmp_path / "x.csv")[0])] == ["0"]


def test_a_dimension_called_value_keeps_its_name(make_release: MakeRelease, tmp_path: Path) -> None:
    release = make_release({"value": Hierarchy.flat("a")}, {("a",): 4})
    [path] = export.write_csv(release, tmp_path / "x.csv")
    assert path.read_text().splitlines()[0] == "value,value_"


def test_a_very_large_table_leaves_out_zeros(make_release: MakeRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, {("a",): 7, ("b",): 0}, structural=((3,),))
    view = release.protected.views[0]
    public = frames.public_positions(view, release.protected.value, largest_grid=2)
    assert public.coordinates.tolist() == [[0], [1], [3]]
    assert frames.all_positions(view, largest_grid=2).coordinates.tolist() == [[0], [1], [2], [3]]
    monkeypatch.setattr(frames.all_positions, "__kwdefaults__", {"largest_grid": 2})
    monkeypatch.setattr(frames.public_positions, "__kwdefaults__", {"largest_grid": 2})
    content = json.loads(export.write_json_stat(release, tmp_path / "x.json")[0].read_text())
    jsonschema.validate(content, JSON_STAT)
    assert content["value"] == {"0": 7, "1": 7, "3": None}
