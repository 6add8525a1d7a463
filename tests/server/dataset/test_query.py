from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.server.dataset.query import DimensionChoice, TableQuery


def query(*dimensions: DimensionChoice, **rest: object) -> TableQuery:
    return TableQuery(dataset="d", measure="m", dimensions=dimensions, **rest)  # type: ignore[arg-type]


def test_the_order_of_dimensions_codes_and_filters_does_not_matter() -> None:
    one = query(
        DimensionChoice(id="a", codes=("2", "1", "2")), DimensionChoice(id="b", level="top"), filters={"y": ("q", "p"), "x": ("r",)}
    )
    two = query(DimensionChoice(id="b", level="top"), DimensionChoice(id="a", codes=("1", "2")), filters={"x": ("r",), "y": ("p", "q")})
    assert one.canonical() == two.canonical()
    assert one.hash("v1") == two.hash("v1") != one.hash("v2")


def test_what_differs_has_another_hash() -> None:
    plain = query(DimensionChoice(id="a"))
    others = [query(DimensionChoice(id="a", level="x")), query(DimensionChoice(id="a"), totals=False), query(DimensionChoice(id="b"))]
    assert len({each.hash("v") for each in (plain, *others)}) == 4


def test_the_canonical_text_can_be_read_back() -> None:
    one = query(DimensionChoice(id="a", codes=("1", "é")), DimensionChoice(id="b"), filters={"y": ("q",)}, totals=False)
    assert TableQuery.from_canonical(one.canonical()) == one


@pytest.mark.parametrize(
    "make",
    [
        lambda: DimensionChoice(id="a", level="x", codes=("1",)),
        lambda: DimensionChoice(id=""),
        lambda: DimensionChoice(id="a" * 1000),
        lambda: DimensionChoice(id="a", codes=()),
        lambda: DimensionChoice(id="a", codes="12"),
        lambda: DimensionChoice(id="a", codes=(1,)),  # type: ignore[arg-type]
        query,
        lambda: query(DimensionChoice(id="a"), DimensionChoice(id="a")),
        lambda: query(DimensionChoice(id="a"), filters={"a": ("1",)}),
        lambda: query(DimensionChoice(id="a"), filters={"b": ()}),
        lambda: query(DimensionChoice(id="a"), totals="yes"),
    ],
)
def test_what_is_not_a_request_is_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
