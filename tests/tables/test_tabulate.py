"""Records are added up: respondents, waivers, weights, linked tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from statveil.core.errors import InputError
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate
from tests.tables.village import TOWNS, TRADES, VILLAGE, build, cell


@pytest.mark.slow
def test_values_are_exact_units() -> None:
    table = build()
    assert (table.scale, table.decimals) == (2, 2)
    assert table.value[cell(table, "Total", "Total")] == 3750
    assert table.value[cell(table, "Flevoland", "Total")] == 3050


def test_two_records_of_one_owner_are_one_respondent() -> None:
    table = build(holding="owner")
    bakers = cell(table, "Total", "baker")
    assert (table.records[bakers], table.respondents[bakers], table.frequency[bakers]) == (4, 2, 2)
    assert table.top[bakers].tolist() == [1475, 1225, 0]


def test_an_owner_has_waived_only_if_all_its_records_have() -> None:
    table = build(holding="owner", waiver="waived")
    assert table.largest_unwaived[cell(table, "Total", "baker")] == 1475
    assert table.largest_unwaived[cell(table, "Urk", "baker")] == -1
    assert (table.largest_requested == -1).all()


def test_a_weight_repeats_the_unit() -> None:
    table = build(weight="weight")
    urk = cell(table, "Urk", "baker")
    assert (table.scale, table.rule_scale, table.frequency_scale) == (3, 3, 1)
    assert (table.value[urk], table.magnitude[urk], table.frequency[urk]) == (30000, 30000, 15)
    assert table.top[urk].tolist() == [20000, 10000, 0]


def test_without_measure_records_are_counted() -> None:
    table = build(measure=None)
    assert (table.scale, table.decimals, table.value[0]) == (0, 0, 5)


def test_the_same_margin_in_two_linked_tables_is_one_cell() -> None:
    specs = [
        TableSpec(dimensions={"town": TOWNS}, measure="turnover", name="a"),
        TableSpec(dimensions={"trade": TRADES}, measure="turnover", name="b"),
    ]
    table = tabulate(read_microdata(pa.table(VILLAGE)), specs)
    assert cell(table, "Total", view=0) == cell(table, "Total", view=1)
    assert cell(table, "Urk", view=0) != cell(table, "vet", view=1)


def test_linked_tables_must_agree() -> None:
    specs = [TableSpec(dimensions={"town": TOWNS}, measure="turnover", name="a"), TableSpec(dimensions={"trade": TRADES}, name="b")]
    with pytest.raises(InputError, match="differ in measure: 'a' has 'turnover', 'b' has None"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs)
    with pytest.raises(InputError, match="same name"):
        tabulate(read_microdata(pa.table(VILLAGE)), [specs[0], specs[0]])
    with pytest.raises(InputError, match="no table"):
        tabulate(read_microdata(pa.table(VILLAGE)), [])
    with pytest.raises(InputError, match="at least 1"):
        tabulate(read_microdata(pa.table(VILLAGE)), specs[0], top=0)


def test_a_header_without_records_is_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("town,turnover,weight,owner\n")
    for extra in ({}, {"weight": "weight"}, {"holding": "owner"}):
        table = tabulate(read_microdata(path), TableSpec(dimensions={"town": TOWNS}, measure="turnover", **extra))
        assert (table.size, table.views[0].coordinates.shape, table.top.shape) == (0, (0, 1), (0, 3))
    with pytest.raises(InputError, match="has no records to take the codes of 'town' from"):
        tabulate(read_microdata(path), TableSpec(dimensions={"town": None}, measure="turnover"))
