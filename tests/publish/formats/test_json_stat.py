"""A published table read back from JSON-stat gives the same bytes in every public format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.core.errors import FormatError, InputError
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.convert import Conversion, convert
from statveil.publish.formats import export
from statveil.publish.formats.json_stat import read_json_stat
from tests.publish.stories import MakeRelease

FORMATS = {
    "x.csv": export.write_csv,
    "x.sdmx.csv": export.write_sdmx_csv,
    "x.json": export.write_json_stat,
    "x.px": export.write_pc_axis,
    "x.xml": export.write_sdmx_ml,
    "x.parquet": export.write_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_village_in_every_format(village: Any, tmp_path: Path, name: str) -> None:
    [source] = export.write_json_stat(village, tmp_path / "source.json")
    convert(source, tmp_path / name)
    [expected] = FORMATS[name](village, tmp_path / f"expected.{name}")
    assert (tmp_path / name).read_bytes() == expected.read_bytes()


def test_the_older_sdmx_csv_on_request(village: Any, tmp_path: Path) -> None:
    source = tmp_path / "village.json"
    export.write_json_stat(village, source)
    convert(source, tmp_path / "x.sdmx.csv", Conversion(sdmx_csv="1.0"))
    export.write_sdmx_csv(village, tmp_path / "y.sdmx.csv", version="1.0")
    assert (tmp_path / "x.sdmx.csv").read_bytes() == (tmp_path / "y.sdmx.csv").read_bytes()
    assert (tmp_path / "x.sdmx.csv").read_text().startswith("DATAFLOW,")
    with pytest.raises(InputError, match=r"3\.0"):
        convert(source, tmp_path / "z.sdmx.csv", Conversion(sdmx_csv="3.0"))  # type: ignore[arg-type]


def test_excel_is_written_too(village: Any, tmp_path: Path) -> None:
    [source] = export.write_json_stat(village, tmp_path / "source.json")
    assert convert(source, tmp_path / "x.xlsx") == [tmp_path / "x.xlsx"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.integers(-(10**12), 10**12), min_size=4, max_size=4), decimals=st.integers(0, 6))
def test_numbers_come_back_exactly(make_release: MakeRelease, tmp_path: Path, values: list[int], decimals: int) -> None:
    tree = Hierarchy(parent={"N": "Total", " a": "N", ".b": "N", "c": "Total"}, labels={"c": "Cë"})
    cells = dict(zip([(" a", "x"), (".b", "x"), ("c", "x"), ("c", "y")], values, strict=True))
    release = make_release({"r": tree, "s": Hierarchy.flat("xy")}, cells, scale=decimals, decimals=decimals)
    [path] = export.write_json_stat(release, tmp_path / "x.json")
    [again] = export.write_json_stat(read_json_stat(path), tmp_path / "y.json")  # type: ignore[arg-type]
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content["value"].pop(), "line 1: There must be 12 values"),
        (lambda content: content.pop("id"), r"line 1: not a JSON-stat 2.0 dataset \(KeyError\)"),
        (lambda content: content["dimension"]["region"]["category"].pop("child"), "does not tell which code is its total"),
        (lambda content: content["value"].__setitem__(0, "secret"), "A value is not a number"),
        (lambda content: content["value"].__setitem__(0, 0.5), "more decimals than the table"),
        (lambda content: content["size"].__setitem__(0, 10**9), "The sizes are not those"),
        (lambda content: content.__setitem__("class", "collection"), "not a JSON-stat dataset"),
    ],
)
def test_an_edited_file_is_refused(village: Any, tmp_path: Path, change: Callable[[Any], Any], words: str) -> None:
    [path] = export.write_json_stat(village, tmp_path / "x.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        read_json_stat(path)


@pytest.mark.parametrize(
    ("text", "words"), [("{\n\n", "x.json, line 3: not JSON"), ("[" * 100_000, "line 1: not JSON text"), ("[1]", "not a JSON-stat")]
)
def test_what_is_not_json_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        read_json_stat(tmp_path / "x.json")
