"""What is counted for each different key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import statveil as sv
from statveil.data.queries.keys import (
    RecordKey,
    count_keys,
    count_members,
    count_values,
    count_where,
    no_amount,
    records_by_risk,
    total_units,
)

PEOPLE = sv.read_microdata(
    pa.table(
        {
            "age": ["30", "30", "9", " 9", None],
            "sex": ["f", "f", "m", "m", "f"],
            "home": ["h1", "h1", "h2", None, "h2"],
            "weight": ["1.5", "2", "1", "0.25", "1"],
            "job": ["baker", "vet", "vet", "", "vet"],
        }
    )
)


def rows(found: pa.Table) -> set[tuple[Any, ...]]:
    return {tuple(each.values()) for each in found.to_pylist()}


def test_records_and_weights_of_each_key() -> None:
    key = RecordKey(data=PEOPLE, fields=["age", "sex"], missing={"age": ["9"]}, weight="weight")
    with PEOPLE.engine.session() as session:
        found = count_keys(session, key)
    assert rows(found) == {("30", "f", 2, 3_500_000), (None, "m", 2, 1_250_000), (None, "f", 1, 1_000_000)}


def test_keys_may_be_told_apart_by_numbers_and_texts() -> None:
    key = RecordKey(data=PEOPLE, fields=["sex"], numbers=["weight"], values=["job"])
    assert key.names == ["k0", "n0", "v0"]
    with PEOPLE.engine.session() as session:
        found = rows(count_keys(session, key))
    assert len(found) == 5
    assert ("m", 250_000, "", 1) in found


def test_members_of_households_by_key() -> None:
    key = RecordKey(data=PEOPLE, fields=["sex"], household="home")
    with PEOPLE.engine.session() as session:
        assert rows(count_members(session, key)) == {("h1", "f", 2), ("h2", "m", 1), ("h2", "f", 1), ("", "m", 1)}


def test_values_of_another_column_by_key() -> None:
    with PEOPLE.engine.session() as session:
        found = count_values(session, RecordKey(data=PEOPLE, fields=["sex"]), "job")
    assert rows(found) == {("f", "baker", 1), ("f", "vet", 2), ("m", "vet", 1), ("m", "", 1)}


def test_sums_and_values_that_are_no_amounts() -> None:
    with PEOPLE.engine.session() as session:
        assert total_units(session, PEOPLE, "weight") == 5_750_000
        assert count_where(session, no_amount(PEOPLE, "weight")) == 0
        assert count_where(session, no_amount(PEOPLE, "age")) == 1  # the missing one


def test_records_come_most_risky_first() -> None:
    risks = pa.table({"k0": ["f", "m"], "risk": [0.1, 0.9], "unsafe": [0, 2]})
    with PEOPLE.engine.session() as session:
        found = records_by_risk(session, RecordKey(data=PEOPLE, fields=["sex"]), risks, ["job", "sex"])
    assert found.column_names == ["job", "sex", "risk", "unsafe"]
    assert found["sex"].to_pylist() == ["m", "m", "f", "f", "f"]
    assert found["job"].to_pylist() == ["", "vet", "baker", "vet", "vet"]
