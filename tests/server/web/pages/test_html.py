"""A table as rows and columns, and its bars."""

from __future__ import annotations

from statveil.server.engine.query import DimensionChoice
from statveil.server.web.pages.html import TUNING, bars, grid
from tests.server.web.test_formats import asked

BOTH = (DimensionChoice(id="region"), DimensionChoice(id="size"))


def test_rows_and_columns_are_put_where_they_were_wanted():
    made = grid(asked(*BOTH), ["size"], "region")
    assert made.row_names == ["Size"]
    assert [each.label for each in made.columns][:2] == ["Total", "North"]
    assert [each.depth for each in made.columns] == [0, 1, 2, 2, 1, 2]
    assert made.rows[0].cells[:2] == ["-2.5", "0.5"]


def test_all_dimensions_may_be_rows():
    made = grid(asked(*BOTH), ["region", "size"], None)
    assert len(made.rows) == 18
    assert [each.label for each in made.rows[4].headings] == ["North", "big"]
    assert made.rows[4].cells == ["1.5"]


def test_a_long_table_is_cut_and_says_so():
    made = grid(asked(*BOTH), ["region"], "size", most_cells=7)
    assert (len(made.rows), made.rows_left_out) == (2, 4)


def test_bars_show_the_finest_rows_in_the_order_of_the_columns():
    spec = bars(asked(*BOTH), ["region"], "size")
    assert spec is not None
    points = spec["data"]["values"]
    assert {point["part"] for point in points} == {"big", "small"}, "the total of the sizes is no part of it"
    assert [point["value"] for point in points[:2]] == [13.5, 14.5]
    assert len({point["row"] for point in points}) == 3 <= TUNING.most_bars


def test_a_table_with_two_dimensions_of_rows_has_no_chart():
    assert bars(asked(*BOTH), ["region", "size"], None) is None


def test_without_columns_there_is_one_bar_for_each_row():
    spec = bars(asked(BOTH[0]), ["region"], None)
    assert spec is not None
    assert "color" not in spec["encoding"]
    assert len(spec["data"]["values"]) == 3
