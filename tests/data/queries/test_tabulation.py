"""Records coded as integers, and what is added up of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.data.queries import tabulation
from statveil.data.queries.tabulation import (
    CodedRecords,
    CodeKeys,
    RecordFlag,
    ResponseUnits,
    amounts_in,
    holding_parts,
    keep_coded_records,
    largest_record_amounts,
    leaf_sums,
    read_coded,
    read_units,
    refuse_large_sums,
)

SHOPS = sv.read_microdata(
    pa.table(
        {
            "area": ["p", "q", "p", "q", "p"],
            "owner": ["x", "x", "x", "y", "z"],
            "sales": [5, 7, -2, 1, 9],
            "asks": [False, True] + [False] * 3,
        }
    )
)
SALES = "CAST(c2 AS BIGINT)"


def coded(*, holding: str | None = "owner") -> CodedRecords:
    """Area p is cell 0, area q cell 10."""
    return CodedRecords(
        tables=[[CodeKeys("area", ["p", "q"], [0, 10])]],
        holding=holding,
        weight=None,
        responses=[ResponseUnits(SALES, SALES)],
        flags=[RecordFlag("asks", 2, 0)],
        one=None,
    )


def test_sums_of_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    with SHOPS.engine.session() as session:
        keep_coded_records(session, SHOPS.engine, coded())
        found = leaf_sums(session, 0, 0)
        refuse_large_sums(session, 1)
        monkeypatch.setattr(tabulation, "LARGEST_SUM", 20)  # 5 + 7 + 2 + 1 + 9 is more
        with pytest.raises(InputError, match="too large"):
            refuse_large_sums(session, 1)
    assert found.to_pydict() == {
        "key": [0, 10],
        "records": [3, 2],
        "value": [12, 8],
        "weight": [3, 2],
        "mass": [16, 8],
    }


def test_what_each_holding_gives_to_each_cell() -> None:
    """In this process its records come one by one; whoever ranks them adds them up."""
    with SHOPS.engine.session() as session:
        keep_coded_records(session, SHOPS.engine, coded())
        parts = list(holding_parts(session, 0, 0, 1))
        inside = amounts_in(session, 0, 0, np.array([0]), holdings=True)
    ((amounts, names),) = parts
    assert sorted((each["key"], each["amount"], each["flags"]) for each in amounts.to_pylist()) == [
        (0, -2, 0),
        (0, 5, 0),
        (0, 9, 0),
        (10, 1, 0),
        (10, 7, 2),
    ]
    assert names.num_rows == 3
    assert sorted(inside["amount"].to_pylist()) == [3, 9]


def test_the_largest_records_of_each_cell_without_their_signs() -> None:
    with SHOPS.engine.session() as session:
        keep_coded_records(session, SHOPS.engine, coded(holding=None))
        found = largest_record_amounts(session, 0, 0, 2, repeats=False)
    assert sorted((each["key"], each["flags"], each["amount"]) for each in found.to_pylist()) == [
        (0, 0, 5),
        (0, 0, 9),
        (10, 0, 1),
        (10, 2, 7),
    ]


def test_records_one_by_one() -> None:
    with SHOPS.engine.session() as session:
        found = read_coded(session, SHOPS.engine, ["area"], [SALES], owner=None, order=["sales"])
        batches = list(read_units(session, SHOPS.engine, ["area"], [SALES], unit=["area", "sales"], holding="owner", rows=2))
    units = pa.Table.from_batches(batches)
    assert found["code0"].to_pylist() == ["p", "q", "p", "q", "p"]
    assert found["amount0"].to_pylist() == [-2, 1, 5, 7, 9]
    assert len(set(found["owner"].to_pylist())) == 5
    assert sorted(units["unit"].to_pylist()) == sorted(["1:p1:5", "1:q1:7", "1:p2:-2", "1:q1:1", "1:p1:9"])
    assert dict(zip(units["unit"].to_pylist(), units["holding"].to_pylist(), strict=True))["1:p1:9"] == "z"
