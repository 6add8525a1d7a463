"""Every public format, read back by a plain reader: each released number stands under its codes, exactly."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path

import fastexcel
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from statveil.data.hierarchy import Hierarchy
from statveil.publish.formats import export
from tests.publish.stories import MakeRelease

Cells = dict[tuple[str, ...], Decimal]
GENERIC = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/generic}"
CODES = st.text(
    st.characters(codec="utf-8", exclude_characters='"\r\n\t', exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=4
)


def from_csv(path: Path) -> Cells:
    rows = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
    return {tuple(_unguarded(row[name]) for name in ("r", "s")): Decimal(row["value"]) for row in rows}


def _unguarded(text: str) -> str:
    """A text that a spreadsheet would run has an apostrophe before it."""
    return text[1:] if re.match(r"'[=+\-@\t\r']", text) else text


def from_sdmx_csv(path: Path) -> Cells:
    rows = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
    return {tuple(_unguarded(row[name]) for name in ("R", "S")): Decimal(row["OBS_VALUE"]) for row in rows}


def from_parquet(path: Path) -> Cells:
    return {(row["r"], row["s"]): Decimal(row["value"]) for row in pq.read_table(path).to_pylist()}


def from_px(path: Path) -> Cells:
    text = path.read_text(encoding="utf-8")
    lists = [re.findall(r'"([^"]*)"', text[text.index(f'CODES("{name}")=') :].split(";\n")[0])[1:] for name in "rs"]
    numbers = text[text.index("DATA=") + 5 :].strip().rstrip(";").split()
    return dict(zip(product(*lists), map(Decimal, numbers), strict=True))


def from_excel(path: Path) -> Cells:
    """A workbook holds doubles, written with sixteen digits or more: the shortest number that means the same double."""
    sheet = fastexcel.read_excel(path).load_sheet(0, dtypes="string").to_arrow().to_pydict()
    rows = zip(sheet["r"], sheet["s"], sheet["value"], strict=True)
    return {(row, column): Decimal(str(float(value))) for row, column, value in rows}


def from_sdmx_ml(path: Path) -> Cells:
    return dict(_observations(ET.parse(path).getroot()))


def _observations(root: ET.Element) -> Iterator[tuple[tuple[str, ...], Decimal]]:
    for each in root.iter(f"{GENERIC}Obs"):
        keys = {value.attrib["id"]: value.attrib["value"] for value in each.find(f"{GENERIC}ObsKey") or ()}
        number = each.find(f"{GENERIC}ObsValue")
        assert number is not None
        yield (keys["R"], keys["S"]), Decimal(number.attrib["value"])


FORMATS: dict[str, tuple[Callable[..., list[Path]], Callable[[Path], Cells]]] = {
    "x.csv": (export.write_csv, from_csv),
    "x.sdmx.csv": (export.write_sdmx_csv, from_sdmx_csv),
    "y.sdmx.csv": (lambda release, path: export.write_sdmx_csv(release, path, version="1.0"), from_sdmx_csv),
    "x.parquet": (export.write_parquet, from_parquet),
    "x.px": (export.write_pc_axis, from_px),
    "x.xlsx": (export.write_excel, from_excel),
    "x.xml": (export.write_sdmx_ml, from_sdmx_ml),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    codes=st.lists(CODES, min_size=3, max_size=3, unique=True),
    values=st.lists(st.integers(-(10**9), 10**9), min_size=4, max_size=4),
    decimals=st.integers(0, 4),
)
def test_numbers_and_codes_come_back(
    make_release: MakeRelease, tmp_path: Path, name: str, codes: list[str], values: list[int], decimals: int
) -> None:
    codes = [f"k{code}" if code in ("Total", "x", "y") else code for code in codes]
    tree = Hierarchy.flat(dict.fromkeys(codes), total="All of it")
    places = [*((code, "x") for code in tree.leaves), (tree.leaves[-1], "y")][:4]
    release = make_release(
        {"r": tree, "s": Hierarchy.flat("xy")}, dict(zip(places, values, strict=False)), scale=decimals, decimals=decimals
    )
    write, read = FORMATS[name]
    [path] = write(release, tmp_path / name)
    [view] = release.protected.views
    labels = [tuple(axis.codes[at] for axis, at in zip(view.dimensions, row, strict=True)) for row in view.coordinates]
    expected = {
        where: Decimal(int(number)).scaleb(-decimals) for where, number in zip(labels, release.protected.value[view.cell], strict=True)
    }
    found = read(path)
    assert {where: found[where] for where in expected} == expected
    assert all(number == 0 for where, number in found.items() if where not in expected)
