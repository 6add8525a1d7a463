"""Columns become exact whole numbers, or are refused without a value shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from statveil.core.errors import HierarchyError, InputError, UnknownColumn
from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate
from tests.tables.village import TOWNS, VILLAGE, build, cell


def test_a_known_weight_is_part_of_the_contribution() -> None:
    table = build(weight="weight", weight_policy="contribution")
    assert table.top[cell(table, "Urk", "baker")].tolist() == [30000, 0, 0]
    assert table.frequency_scale == 0


def test_more_decimals_than_the_records_have_make_finer_units() -> None:
    table = build(decimals=4)
    assert (table.scale, table.decimals, table.value[0]) == (4, 4, 375000)
    assert build(decimals=0).scale == 2


@pytest.mark.parametrize("decimals", [{"decimals": 10}, {"weight_decimals": -1}, {"weight_decimals": 10}])
def test_decimals_beyond_reason_are_refused(decimals: dict[str, int]) -> None:
    with pytest.raises(InputError, match="decimals of 'table' is"):
        build(weight="weight", **decimals)


def test_weights_are_rounded_half_to_even_when_asked() -> None:
    columns = VILLAGE | {"weight": ["0.125", "0.375", "1", "1", "1.0000000001"]}
    table = build(columns, measure=None, weight="weight", weight_decimals=2)
    assert table.frequency[cell(table, "Urk", "vet")] == 12
    assert table.frequency[cell(table, "Urk", "baker")] == 38
    assert table.frequency[cell(table, "Ede", "Total")] == 100


def test_floats_are_taken_as_they_are_written() -> None:
    table = build(VILLAGE | {"turnover": [0.1, 0.2, 1e-7, 12345678.5, 3.0]})
    assert (table.scale, table.value[0]) == (7, 123456818000001)


def test_pandas_categories_and_integers_are_read() -> None:
    frame = pd.DataFrame({"town": pd.Categorical(["Urk", "Ede"]), "year": [2024, 2024], "turnover": [1, 2]})
    table = tabulate(read_microdata(frame), TableSpec(dimensions={"town": TOWNS, "year": None}, measure="turnover"))
    assert table.views[0].dimensions[1].codes == ("Total", "2024")
    assert table.value[0] == 3


@pytest.mark.parametrize(
    ("change", "spec", "words"),
    [
        ({"turnover": ["1", "x", "secret", "1", "1"]}, {}, "'turnover' has 2 values that are not numbers, the first in row 2 ("),
        ({"turnover": [1.0, float("nan"), float("inf"), 1.0, 1.0]}, {}, "'turnover' has 2 values that are not numbers"),
        ({"turnover": ["1,5", "1", "1", "1", "1"]}, {}, "'turnover' has one value that is not a number, in row 1 (counted from 1)."),
        ({"turnover": ["1", None, "", "1", "1"]}, {}, "'turnover' has 2 missing values, the first in row 2 (counted from 1)."),
        ({"town": ["Urk", None, "Urk", "Urk", "Urk"]}, {}, "'town' has one missing value, in row 2 ("),
        ({"turnover": ["1", "0.0000000001", "1", "1", "1"]}, {}, "more than 9 decimals"),
        ({"turnover": ["1", "1e-99999999999", "1", "1", "1"]}, {}, "more than 9 decimals"),
        ({"turnover": ["1", "1e30", "1", "1", "1"]}, {}, "too large"),
        ({"turnover": ["4e18", "4e18", "1", "1", "1"]}, {}, "too large"),
        ({"weight": ["1", "-1", "1", "1", "1"]}, {"weight": "weight"}, "'weight' has one negative weight, in row 2 ("),
        ({"weight": ["1", "0.1234567", "1", "1", "1"]}, {"weight": "weight"}, "more than 6 decimals"),
        (
            {"waived": ["1", "0", "perhaps", "no", "no"]},
            {"waiver": "waived"},
            "'waived' has one value that is neither true nor false, in row 3 (",
        ),
        ({"owner": ["a", None, "b", "b", "b"]}, {"holding": "owner"}, "'owner' has one missing value, in row 2 ("),
    ],
)
def test_bad_values_are_counted_and_never_shown(change: dict[str, Any], spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        build(VILLAGE | change, **spec)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_unknown_columns_and_codes_are_named() -> None:
    with pytest.raises(UnknownColumn, match="'profit'"):
        build(measure="profit")
    with pytest.raises(HierarchyError, match="lacks: 'Ede', 'Urk'"):
        build(dimensions={"town": Hierarchy.flat(["Almere"])})


def test_decimal_commas_are_understood_in_files_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_bytes("stad;omzet;n\n s-Hertogenbosch ;1,5;1\nÅ.b c;-2,25;2\n".encode("latin-1"))
    table = tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet", weight="n"))
    assert table.views[0].dimensions[0].codes == ("Total", " s-Hertogenbosch ", "Å.b c")
    assert (table.scale, table.value[0]) == (2, -300)


def test_two_decimal_marks_in_one_column_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("stad;omzet\na;1,5\nb;2.5\n")
    with pytest.raises(InputError, match="one number with another decimal mark than the rest, in line 2"):
        tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet"))


def test_the_points_of_a_word_are_no_decimal_marks(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("stad;omzet\na;1,5\nb;k.A.\n")
    with pytest.raises(InputError, match="'omzet' has one value that is not a number, in line 3"):
        tabulate(read_microdata(path), TableSpec(dimensions={"stad": None}, measure="omzet"))


def test_a_bad_value_in_a_file_is_found_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text('town,turnover\n"U\nrk",1\n\nEde,secret\nEde,x\n')
    with pytest.raises(InputError, match="'turnover' has 2 values that are not numbers, the first in line 5") as caught:
        tabulate(read_microdata(path), TableSpec(dimensions={"town": None}, measure="turnover"))
    assert "secret" not in str(caught.value)
