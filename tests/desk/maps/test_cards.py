"""What the card of a cell says: checked by hand on two areas and two trades."""

from __future__ import annotations

import pyarrow as pa
import pytest

import statveil as sv
from statveil.desk.maps.cards import card, listed_cells, sums_of

SHOPS = pa.table({"area": list("ppqqq"), "trade": list("uvuvv"), "sales": [7, 3, 1, 50, 20]})
RULES = [sv.MinimumFrequency(2)]


@pytest.fixture(scope="module")
def story() -> tuple[sv.Table, sv.rules.Sensitivity]:
    table = sv.tabulate(sv.read_microdata(SHOPS), sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales"))
    return table, sv.rules.assess(table, RULES)


def cell_of(table: sv.Table, area: str, trade: str) -> int:
    (view,) = table.views
    places = [dimension.codes.index(code) for dimension, code in zip(view.dimensions, (area, trade), strict=True)]
    return int(view.cell[(view.coordinates == places).all(axis=1)][0])


def test_sensitive_cells_are_listed_largest_first_with_their_rule(story: tuple[sv.Table, sv.rules.Sensitivity]) -> None:
    table, found = story
    listed, number = listed_cells(table, found, table.views[0], "sensitive")
    assert ([each.value for each in listed], number) == (["7", "3", "1"], 3)
    assert listed[0].codes == ["p", "u"]
    assert {each.why for each in listed} == {RULES[0].words}


def test_nothing_is_listed_under_a_word_that_no_rule_has(story: tuple[sv.Table, sv.rules.Sensitivity]) -> None:
    table, found = story
    assert listed_cells(table, found, table.views[0], "no such rule") == ([], 0)


def test_a_leaf_is_part_of_two_sums_and_the_total_adds_up_both_ways(story: tuple[sv.Table, sv.rules.Sensitivity]) -> None:
    table, _ = story
    (view,) = table.views
    assert [(each.words, each.cell) for each in sums_of(view, cell_of(table, "p", "u"))] == [
        ("area: one of 2 parts of Total", cell_of(table, "Total", "u")),
        ("trade: one of 2 parts of Total", cell_of(table, "p", "Total")),
    ]
    assert [each.words for each in sums_of(view, cell_of(table, "Total", "Total"))] == ["area: the sum of p, q", "trade: the sum of u, v"]


def test_the_card_tells_shares_and_status(story: tuple[sv.Table, sv.rules.Sensitivity]) -> None:
    table, found = story
    (view,) = table.views
    alone, safe = (card(table, found, view, cell_of(table, "q", trade), RULES) for trade in "uv")
    assert (alone["status"], alone["records"], alone["value"]) == ("sensitive", "1", "1")
    assert (safe["status"], safe["must move by"], safe["respondents"]) == ("safe", "nothing", "2")
