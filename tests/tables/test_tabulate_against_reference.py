"""`tabulate` equals a slow plain implementation on whatever records hypothesis invents."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.data.hierarchy import Hierarchy
from statveil.data.readers import read_microdata
from statveil.tables.relations import relations
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate
from tests.reference.tabulate import PlainCell, plain_tabulate

pytestmark = pytest.mark.slow

COUNTIES = Hierarchy.from_dict({"North": ["a", "b"], "South": {"Coast": ["c"], "d": None}})
TOURISM = Hierarchy.from_dict({"Beach": ["a", "c"], "Hills": ["b", "d"]})
SECTOR = Hierarchy.flat(["x", "y"])
TOP = 3

record = st.fixed_dictionaries(
    {
        "region": st.sampled_from("abcd"),
        "sector": st.sampled_from("xy"),
        "turnover": st.decimals(-50, 50, places=2).map(str),
        "jobs": st.integers(-9, 9).map(str),
        "weight": st.sampled_from(["0", "0.5", "1", "1.25", "2", "7"]),
        "group": st.sampled_from("gh"),
        "waived": st.booleans(),
        "asked": st.booleans(),
    }
)
roles = st.fixed_dictionaries(
    {
        "measure": st.sampled_from(["turnover", None]),
        "shadow": st.sampled_from(["jobs", None]),
        "weight": st.sampled_from(["weight", None]),
        "weight_policy": st.sampled_from(["units", "contribution"]),
        "holding": st.sampled_from(["group", None]),
        "waiver": st.sampled_from(["waived", None]),
        "request": st.sampled_from(["asked", None]),
    }
)


def records_frame(records: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: [str(each[name]) for each in records] for name in records[0]})


def found_cells(table: Table, view: int = 0) -> dict[tuple[str, ...], tuple[int, PlainCell]]:
    def number(units: int, scale: int) -> Fraction:
        return Fraction(int(units), 10**scale)

    def largest(units: int) -> Fraction | None:
        return None if units < 0 else number(units, table.rule_scale)

    cells = [
        PlainCell(
            records=int(table.records[cell]),
            value=number(table.value[cell], table.scale),
            respondents=int(table.respondents[cell]),
            frequency=number(table.frequency[cell], table.frequency_scale),
            magnitude=number(table.magnitude[cell], table.rule_scale),
            top=tuple(number(units, table.rule_scale) for units in table.top[cell]),
            unwaived=largest(table.largest_unwaived[cell]),
            requested=largest(table.largest_requested[cell]),
        )
        for cell in range(table.size)
    ]
    seen = table.views[view]
    codes = [tuple(axis.codes[place] for axis, place in zip(seen.dimensions, row, strict=True)) for row in seen.coordinates]
    return {each: (int(cell), cells[cell]) for each, cell in zip(codes, seen.cell, strict=True)}


@settings(max_examples=60, deadline=None)
@given(records=st.lists(record, min_size=1, max_size=14), chosen=roles)
def test_every_cell_equals_the_plain_one(records: list[dict[str, Any]], chosen: dict[str, Any]) -> None:
    spec = TableSpec(dimensions={"region": [COUNTIES, TOURISM], "sector": SECTOR}, **chosen)
    table = tabulate(read_microdata(records_frame(records)), spec, top=TOP)
    expected = plain_tabulate(records, spec, TOP)
    found = found_cells(table)
    assert {codes: cell for codes, (_, cell) in found.items()} == {codes: cell for codes, (_, cell) in expected.items()}
    groups = {cell: {expected[codes][0] for codes, (other, _) in found.items() if other == cell} for cell in range(table.size)}
    assert all(len(sets) == 1 for sets in groups.values())
    assert len({next(iter(sets)) for sets in groups.values()}) == table.size
    assert not (relations(table) @ table.value).any()


@settings(max_examples=30, deadline=None)
@given(records=st.lists(record, min_size=1, max_size=14), chosen=roles)
def test_linked_tables_share_the_cells_of_equal_records(records: list[dict[str, Any]], chosen: dict[str, Any]) -> None:
    specs = [
        TableSpec(dimensions={"region": COUNTIES, "sector": SECTOR}, name="wide", **chosen),
        TableSpec(dimensions={"region": TOURISM}, name="narrow", **chosen),
    ]
    table = tabulate(read_microdata(records_frame(records)), specs, top=TOP)
    sets: dict[int, set[frozenset[int]]] = {}
    for view, spec in enumerate(specs):
        expected = plain_tabulate(records, spec, TOP)
        for codes, (cell, contents) in found_cells(table, view).items():
            assert contents == expected[codes][1]
            sets.setdefault(cell, set()).add(expected[codes][0])
    assert all(len(each) == 1 for each in sets.values())
    assert len({next(iter(each)) for each in sets.values()}) == table.size
    assert not (relations(table) @ table.value).any()
