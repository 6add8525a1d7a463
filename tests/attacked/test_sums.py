"""A reader adds up what the server does not: the cells of several codes."""

from __future__ import annotations

import numpy as np

from statveil.attacked.sums import added_up
from statveil.audit.attacks.public import Axis, PublicAxis, PublicTable, Request

VALUES = np.array([[10, 20, 30], [1, 2, 3]])
"""Regions a and b by sizes s, m, l."""


def server(request: Request) -> PublicTable:
    """Takes one code a filter, and shows the dimensions it is asked for, in that order, totals left out."""
    assert all(len(codes) == 1 for _, codes in request.filters)
    codes = {axis.id: axis.codes or ("a", "b") for axis in request.axes}
    sizes = codes.get("size", dict(request.filters).get("size", ()))
    places = ["sml".index(code) for code in sizes]
    values = VALUES[:, places] if "size" in codes else VALUES[:, places[0]]
    axes = tuple(PublicAxis(id=axis.id, codes=codes[axis.id]) for axis in request.axes)
    return PublicTable(axes=axes, values=values, shown=values != 30)


def test_several_codes_are_asked_for_as_a_dimension_and_summed() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    table = added_up(server, request)
    assert [axis.id for axis in table.axes] == ["region"]
    assert table.values.tolist() == [30, 3]
    assert table.shown.all()


def test_a_sum_is_shown_where_all_its_parts_are() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("m", "l")),))
    assert added_up(server, request).shown.tolist() == [False, True]


def test_one_code_is_left_to_the_server() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("m",)),))
    assert added_up(server, request).values.tolist() == [20, 2]
