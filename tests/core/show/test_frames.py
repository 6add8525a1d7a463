"""Numbers arrive in pandas and polars as they are published."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from statveil.core.errors import BackendMissing
from statveil.core.show import CONFIDENTIAL, FrameExports, ViewFrameExports, frames
from statveil.core.show.frames import pandas_of, polars_of, whole_numbers


def decimals(*texts: str | None, places: int) -> pa.Array:
    return pa.array([None if text is None else Decimal(text) for text in texts], pa.decimal128(38, places))


def test_decimals_become_the_doubles_that_a_reader_would_type() -> None:
    found = pandas_of(pa.table({"x": decimals("0.3", "-12.3", None, places=1)}))
    assert found["x"].tolist()[:2] == [0.3, -12.3]
    assert found["x"].isna().tolist() == [False, False, True]


def test_more_digits_than_a_double_has_stay_decimals() -> None:
    assert pandas_of(pa.table({"x": decimals("9007199254740993.5", places=1)}))["x"].tolist() == [Decimal("9007199254740993.5")]


def test_whole_numbers_are_integers_missing_ones_too() -> None:
    table = whole_numbers(pa.table({"x": decimals("7", None, places=0), "y": decimals("7", "8", places=0)}))
    found = pandas_of(table)
    assert (str(found["x"].dtype), str(found["y"].dtype)) == ("Int64", "int64")
    assert polars_of(table).schema == {"x": pl.Int64, "y": pl.Int64}


def test_a_number_beyond_64_bits_stays_a_decimal() -> None:
    table = pa.table({"x": decimals(str(2**63), places=0)})
    assert whole_numbers(table) == table


def test_names_that_stand_twice_and_empty_tables_are_no_trouble() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert pandas_of(table).columns.tolist() == ["a", "a"]
    assert pandas_of(whole_numbers(pa.table({"x": decimals(places=2)}))).empty


def test_words_about_a_table_are_attributes_of_the_frame() -> None:
    found = pandas_of(frames.marked(pa.table({"x": [1]}), CONFIDENTIAL))
    assert found.attrs == {"statveil.edition": "internal: confidential"}
    assert isinstance(found, pd.DataFrame)


@pytest.mark.parametrize(("package", "function"), [("pandas", pandas_of), ("polars", polars_of)])
def test_a_package_that_is_not_there_is_named(package: str, function: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)
    with pytest.raises(BackendMissing, match=f"pip install {package}"):
        function(pa.table({"x": [1]}))  # type: ignore[operator]


@pytest.mark.parametrize("kind", [FrameExports, ViewFrameExports])
def test_a_mixin_has_no_table_of_its_own(kind: type[FrameExports]) -> None:
    with pytest.raises(NotImplementedError):
        kind().to_pandas()
