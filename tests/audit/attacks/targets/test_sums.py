"""A reader adds up what the server does not: the cells of several codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from statveil.audit.attacks.public import Axis, Catalogue, PublicAxis, PublicTable, Request
from statveil.audit.attacks.targets.sums import added_up
from statveil.core.errors import DisclosureRefused, InputError, StatveilError

VALUES = np.array([[10, 20, 30], [1, 2, 3]])
"""Regions a and b by sizes s, m, l."""


SLICES = Catalogue(dimensions=(), measures=("turnover",), filters=("size",), populations=())
MAKES_POPULATIONS = replace(SLICES, populations=("size",))


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
    table = added_up(server, request, SLICES)
    assert [axis.id for axis in table.axes] == ["region"]
    assert table.values.tolist() == [30, 3]
    assert table.shown.all()


def test_a_sum_is_shown_where_all_its_parts_are() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("m", "l")),))
    assert added_up(server, request, SLICES).shown.tolist() == [False, True]


def test_one_code_is_left_to_the_server() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("m",)),))
    assert added_up(server, request, SLICES).values.tolist() == [20, 2]


def test_codes_that_make_a_population_are_left_to_the_server() -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))
    heard: list[Request] = []

    def listens(one: Request) -> PublicTable:
        heard.append(one)
        return PublicTable(axes=(), values=VALUES, shown=VALUES > 0)

    assert not added_up(listens, request, MAKES_POPULATIONS).sums
    assert heard == [request]


@pytest.mark.parametrize("refusal", [DisclosureRefused("Not this one."), InputError("Not two at once.")])
def test_a_population_that_is_refused_is_added_up(refusal: StatveilError) -> None:
    request = Request(axes=(Axis(id="region"),), measure="turnover", filters=(("size", ("s", "m")),))

    def refuses_populations(one: Request) -> PublicTable:
        if any(len(codes) > 1 for _, codes in one.filters):
            raise refusal
        return server(one)

    table = added_up(refuses_populations, request, MAKES_POPULATIONS)
    assert table.values.tolist() == [30, 3]
    assert table.sums, "it is no cell that anybody judged"


def test_what_is_refused_and_cannot_be_added_up_is_refused() -> None:
    def refuses(one: Request) -> PublicTable:
        raise DisclosureRefused("Not this one.")

    for catalogue in (SLICES, MAKES_POPULATIONS):
        with pytest.raises(DisclosureRefused):
            added_up(refuses, Request(axes=(), measure="turnover", filters=(("size", ("s", "m")),)), catalogue)
