"""Columns of whole numbers are read by their type, all others by their text: what is found is the same."""

from __future__ import annotations

import datetime
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.tables import rollup
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def shops(sales: pa.Array, **more: Any) -> sv.Microdata:
    return sv.read_microdata(pa.table({"area": list("aabbbc")[: len(sales)], "sales": sales, **more}))


def table_of(data: sv.Microdata, **asked: Any) -> Table:
    return tabulate(data, sv.TableSpec(dimensions={"area": sv.Hierarchy.from_dict({"A": ["a", "b"], "c": None})}, measure="sales", **asked))


def arrays_of(table: Table) -> dict[str, list[Any]]:
    found = {each.name: getattr(table, each.name) for each in fields(Table)}
    return {name: value.tolist() for name, value in found.items() if isinstance(value, np.ndarray)} | {"hash": table.input_hash}


@pytest.mark.parametrize("kind", WHOLE, ids=str)
@pytest.mark.parametrize("asked", [{}, {"decimals": 2}, {"weight": "w"}, {"holding": "w"}], ids=str)
def test_whole_numbers_of_every_type_are_what_their_texts_are(kind: pa.DataType, asked: dict[str, Any]) -> None:
    sales = [5, 0, 100, 7, 7, 3]
    weights = {"w": ["1", "2", "1", "3", "1", "1"]}
    as_numbers = table_of(shops(pa.array(sales, kind), **weights), **asked)
    as_texts = table_of(shops(pa.array(map(str, sales)), **weights), **asked)
    assert arrays_of(as_numbers) == arrays_of(as_texts)
    if not asked:
        assert as_numbers.value.tolist() == [122, 119, 5, 114, 3]


def test_negative_numbers_count_by_their_size() -> None:
    table = table_of(shops(pa.array([-9, 4, 1, -2, 3, 0])))
    assert table.value[0] == -3
    assert table.magnitude[0] == 19
    assert table.top[0].tolist() == [9, 4, 3]


def test_a_missing_whole_number_is_missing_and_none_that_is_not_a_number() -> None:
    with pytest.raises(InputError, match=r"column 'sales' has one missing value, in row 2"):
        table_of(shops(pa.array([1, None, 3])))


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**62])
def test_whole_numbers_too_large_to_be_added_up_are_refused(value: int) -> None:
    with pytest.raises(InputError, match="too large to be added up"):
        table_of(shops(pa.array([value, 1, 2])))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([datetime.date(2024, 1, 1)] * 3),
        pa.array([True, False, True]),
        pa.array([b"a", b"b", b"c"]),
        pa.array([[1], [2], [3]]),
        pa.array([{"x": 1}] * 3),
    ],
    ids=lambda values: str(values.type),
)
def test_other_types_are_looked_at_as_text(values: pa.Array) -> None:
    with pytest.raises(InputError, match="3 values that are not numbers, the first in row 1"):
        table_of(shops(values))


def test_decimals_are_found_in_numbers_that_have_them() -> None:
    exact = table_of(shops(pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("3.00")])))
    assert (exact.scale, exact.value[0]) == (2, 675)


def test_a_grid_of_few_cells_in_many_positions_adds_up_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    data = shops(pa.array([5, 0, 100, 7, 7, 3]), firm=list("xyxyzz"))
    found = [arrays_of(table_of(data)), arrays_of(table_of(data, holding="firm"))]
    monkeypatch.setattr(rollup, "TUNING", rollup.RollUpTuning(dense=0))
    assert found == [arrays_of(table_of(data)), arrays_of(table_of(data, holding="firm"))]
