"""What is told about unsafe combinations: in words, and record by record."""

from __future__ import annotations

import pyarrow as pa
import pytest

import statveil as sv
from tests.records.stories import microdata


def weighted() -> sv.Microdata:
    rows = {"a": ["x"] * 3 + ["y"] * 2, "w": ["0.5", "0.25", "1", "500", "500"]}
    return sv.read_microdata(pa.table(rows))


def test_where_weights_are_compared_with_the_threshold_the_weight_is_told() -> None:
    keys = sv.KeyVariables(fields={"a": None}, threshold=100, order=1, counting="weights", weight="w")
    found = sv.find_unsafe(weighted(), keys)
    assert found.why(int(found.keys[0])) == ["Only a weight of 1.75 (3 records) has a = x."]


def test_every_record_has_its_score() -> None:
    """z is rare alone, q only with x: a minuc of one field weighs more than one of two."""
    rows = [
        ("x", "p", "k", "1"),
        ("x", "p", "k", "2"),
        ("x", "q", "k", "3"),
        ("y", "q", "k", "4"),
        ("y", "q", "k", "5"),
        ("z", None, "k", "6"),
    ]
    data = microdata(rows, ("a", "b", "c", "id"))
    found = sv.find_unsafe(data, sv.KeyVariables(fields=dict.fromkeys("abc"), threshold=2, order=2))
    table = found.by_record(data, "id").to_pydict()
    assert table["id"][:2] == ["6", "3"]
    assert sorted(table["id"]) == list("123456")
    assert table["score"] == sorted(table["score"], reverse=True)
    assert table["score"][2:] == [0.0] * 4
    assert table["score"][0] > table["score"][1] > 0


def test_records_of_equal_keys_are_told_once_each() -> None:
    keys = sv.KeyVariables(fields={"a": None}, threshold=3, order=1, rule="recount", record_cost="w")
    data = weighted()
    plan = sv.plan_recoding(data, keys)
    assert sv.find_unsafe(plan.coded).by_record(data, "w").num_rows == 5


def test_an_unknown_column_of_records_is_refused() -> None:
    data = weighted()
    with pytest.raises(sv.errors.UnknownColumn):
        sv.find_unsafe(data, sv.KeyVariables(fields={"a": None})).by_record(data, "id")
