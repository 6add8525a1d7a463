"""A table as rows and columns, and its bars."""

from __future__ import annotations

from statveil.server.dataset.query import DimensionChoice
from statveil.server.web.pages.html import TUNING, bars, grid, pivot_data
from tests.server.web.test_formats import asked

BOTH = (DimensionChoice(id="region"), DimensionChoice(id="size"))


def test_rows_and_columns_are_put_where_they_were_wanted():
    made = grid(asked(*BOTH), ["size"], "region")
    assert (made.row_name, made.across) == ("Size", "Region")
    assert [each.label for each in made.columns][:2] == ["Total", "North"]
    assert [each.depth for each in made.columns] == [0, 1, 2, 2, 1, 2]
    assert made.rows[0].cells[:2] == ["-2.5", "0.5"]


def test_all_dimensions_may_be_rows():
    made = grid(asked(*BOTH), ["region", "size"], None)
    assert (made.row_name, len(made.groups), len(made.rows)) == ("Region · Size", 6, 18)
    north = made.groups[1]
    assert north.title == "Region: North"
    assert [(row.heading.label, *row.cells) for row in north.rows] == [("all", "0.5"), ("big", "1.5"), ("small", "2.5")]


def test_a_long_table_is_cut_and_says_so():
    made = grid(asked(*BOTH), ["region"], "size", most_cells=7)
    assert (len(made.rows), made.rows_left_out) == (2, 4)
    made = grid(asked(*BOTH), ["region", "size"], None, most_cells=5)
    assert [len(group.rows) for group in made.groups] == [3, 2]
    assert made.rows_left_out == 13


def test_what_the_page_exchanges_is_the_table_as_it_is_shown():
    told = pivot_data(asked(*BOTH), ["region"], "size")
    assert [each["id"] for each in told["dimensions"]] == ["region", "size"]
    assert told["dimensions"][1]["headings"] == [["all", 0], ["big", 1], ["small", 1]]
    assert told["cells"][:4] == ["-2.5", "-1.5", "-0.5", "0.5"]


def test_bars_show_the_finest_rows_in_the_order_of_the_columns():
    spec = bars(asked(*BOTH), ["region"], "size")
    assert spec is not None
    points = spec["data"]["values"]
    assert {point["part"] for point in points} == {"big", "small"}, "the total of the sizes is no part of it"
    assert [point["value"] for point in points[:2]] == [13.5, 14.5]
    assert len({point["row"] for point in points}) == 3 <= TUNING.most_bars


def test_of_two_dimensions_of_rows_the_last_is_drawn_at_the_total_of_the_other():
    spec = bars(asked(*BOTH), ["region", "size"], None)
    assert spec is not None
    assert [(point["row"], point["value"]) for point in spec["data"]["values"]] == [("big", -1.5), ("small", -0.5)]
    assert bars(asked(*BOTH, totals=False), ["region", "size"], None) is None, "there is no total"


def test_without_columns_there_is_one_bar_for_each_row():
    spec = bars(asked(BOTH[0]), ["region"], None)
    assert spec is not None
    assert "color" not in spec["encoding"]
    assert len(spec["data"]["values"]) == 3
