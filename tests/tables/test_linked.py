"""Linked tables: shared cells, equations between responses, sets of cells, many dimensions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv

FIRMS = pd.DataFrame(
    {
        "region": list("ppqqqr"),
        "size": list("aababb"),
        "domestic": [60, 10, 5, 20, 30, 4],
        "export": [40, 0, 5, 0, 10, 0],
        "turnover": [100, 10, 10, 20, 40, 4],
    }
)
SPLIT = sv.Equation(total="turnover", parts=["domestic", "export"])


def by(*dimensions: str, measure: str = "turnover", **further: Any) -> sv.TableSpec:
    return sv.TableSpec(**{"dimensions": dict.fromkeys(dimensions), "measure": measure, "name": f"{measure} by {dimensions}", **further})


def three(*dimensions: str) -> list[sv.TableSpec]:
    return [by(*dimensions, measure=measure) for measure in ("turnover", "domestic", "export")]


def build(specs: list[sv.TableSpec], data: pd.DataFrame = FIRMS, **further: Any) -> sv.Table:
    return sv.tabulate(sv.read_microdata(data), specs, **further)


def cell(table: sv.Table, view: int, *codes: str) -> int:
    chosen = table.views[view]
    wanted = [dimension.position[code] for dimension, code in zip(chosen.dimensions, codes, strict=True)]
    return int(chosen.cell[np.flatnonzero((chosen.coordinates == wanted).all(axis=1))[0]])


def test_the_same_records_are_one_cell_only_for_the_same_response() -> None:
    table = build([by("region"), by("size"), by("region", measure="export")])
    assert cell(table, 0, "Total") == cell(table, 1, "Total") != cell(table, 2, "Total")
    assert table.value[cell(table, 0, "Total")] == 184
    assert table.value[cell(table, 2, "Total")] == 55


def test_different_labels_of_the_same_records_are_one_cell() -> None:
    """Region r has firms of size b only."""
    table = build([by("region"), by("region", "size", name="both")])
    assert cell(table, 0, "r") == cell(table, 1, "r", "b") == cell(table, 1, "r", "Total")


def test_an_equation_holds_wherever_all_its_responses_are_shown() -> None:
    table = build([by("region", "size"), *three("region")[1:]], equations=[SPLIT])
    (rows,) = table.equations
    assert rows.words == "turnover = domestic + export"
    assert sorted(table.value[rows.total].tolist()) == [4, 70, 110, 184]
    assert (table.value[rows.total] == table.value[rows.parts].sum(axis=1)).all()
    assert not (sv.systems.relations(table) @ table.value).any()


def test_an_equation_adds_its_rows_to_the_relations() -> None:
    """Four regions' worth of rows: three regions and the total."""
    assert (
        sv.systems.relations(build(three("region"), equations=[SPLIT])).shape[0]
        == sv.systems.relations(build(three("region"))).shape[0] + 4
    )


def test_responses_of_different_decimals_have_one_unit() -> None:
    data = FIRMS.assign(export=[Decimal("40.25"), 0, 5, 0, 10, 0], turnover=[Decimal("100.25"), 10, 10, 20, 40, 4]).astype(str)
    table = build(three("region"), data, equations=[SPLIT])
    assert table.decimals == table.scale == 2
    assert table.value[cell(table, 1, "p")] == 7000
    assert table.value[cell(table, 2, "p")] == 4025


def test_an_equation_that_does_not_hold_is_refused_without_values() -> None:
    with pytest.raises(sv.InputError) as refused:
        build(three("region"), FIRMS.assign(export=[41, 0, 5, 0, 10, 0]), equations=[SPLIT])
    assert "turnover = domestic + export does not hold in 2 of 4 cells" in str(refused.value)
    assert not any(number in str(refused.value) for number in ("41", "40", "110", "111", "185"))


def test_an_equation_that_gives_a_missing_table_away_is_refused() -> None:
    """Turnover minus domestic, by region, is export by region, which nobody would have judged."""
    with pytest.raises(sv.InputError, match=r"gives away 3 cells that no table has, the first of them of 'export'"):
        build([by("region"), by("region", measure="domestic"), by("size", measure="export")], equations=[SPLIT])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sv.Equation(total="a", parts="bc"), "must be a list of measures"),
        (lambda: sv.Equation(total="a", parts=[]), "must be a list of measures"),
        (lambda: sv.Equation(total="a", parts=["b", "b"]), "names a measure twice"),
        (lambda: sv.Equation(total="a", parts=["a"]), "names a measure twice"),
        (lambda: sv.Equation(total=1, parts=["a"]), "by their columns"),  # type: ignore[arg-type]
        (lambda: build(three("region"), equations=[sv.Equation(total="turnover", parts=["imports"])]), "no table has that measure"),
        (lambda: build(three("region"), equations="turnover = domestic"), "a list of Equation"),
        (lambda: build([by("region"), by("size", measure=None)]), "differ in measure"),
        (lambda: build([by("region"), by("size", measure="export", shadow="domestic")]), "differ in shadow"),
        (lambda: build([by("region", shadow="export"), by("size", shadow="domestic")]), "both are of 'turnover'"),
        (lambda: build([by("region"), by("size", measure="export", holding="region")]), "differ in holding"),
        (lambda: sv.CellSet(cells=[{"region": "p"}]), "two cells or more"),
        (lambda: sv.CellSet(cells="pq"), "must be a list"),
        (lambda: sv.CellSet(cells=[{}, {}], level=-1), "zero or more"),
        (lambda: sv.CellSet(cells=[{}, {}], level=float("nan")), "zero or more"),
        (lambda: sv.CellSet(cells=[{}, {}], level=(1, 2, 3)), "or two"),  # type: ignore[arg-type]
        (lambda: build([by("region")], sets=[sv.CellSet(cells=[{"region": "p"}, {}])]), "overlap"),
        (lambda: build([by("region")], sets=[sv.CellSet(cells=[{"region": "p"}, {"region": "x"}])]), "code 'x'"),
        (lambda: build([by("region")], sets=[sv.CellSet(cells=[{"region": "p"}, {"town": "x"}])]), "'town', which is not a dimension"),
        (lambda: build([by("region")], sets=[sv.CellSet(cells=[{"region": "p"}, {"region": "q"}], view="none")]), "a table 'none'"),
        (lambda: build(three("region"), sets=[sv.CellSet(cells=[{"region": "p"}, {"region": "q"}])]), "which is meant"),
        (lambda: build([by("region")], sets=[{"region": "p"}]), "a list of CellSet"),
        (
            lambda: build([by("region", "size")], sets=[sv.CellSet(cells=[{"region": "p", "size": "b"}, {"region": "q"}])]),
            "is empty",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, words: str) -> None:
    with pytest.raises(sv.InputError, match=words):
        make()


def test_a_set_of_cells_is_a_cell_that_no_view_shows() -> None:
    table = build([by("region", holding="size")], sets=[sv.CellSet(cells=[{"region": "p"}, {"region": "r"}])], top=2)
    (union,) = table.unions
    assert table.size == 5
    assert table.shown == union.cell == 4
    assert table.value[union.cell] == 114
    assert table.records[union.cell] == 3
    assert table.top[union.cell].tolist() == [110, 4]  # the holdings a and b, each added up over both cells
    assert not (sv.systems.relations(table) @ table.value).any()


def test_a_set_that_has_the_records_of_a_cell_is_that_cell() -> None:
    table = build([by("region")], sets=[sv.CellSet(cells=[{"region": code} for code in "pqr"])])
    assert table.unions[0].cell == cell(table, 0, "Total")
    assert table.size == table.shown == 4


def test_leaders_are_the_largest_holdings_of_every_cell_and_all_of_equal_ones() -> None:
    data = pd.DataFrame({"region": list("ppq"), "group": ["h", "g", "g"], "turnover": [5, 5, 1]})
    table = build([by("region", holding="group")], data, leaders=True)
    assert table.leaders is not None
    count = {code: int((table.leaders[:, 0] == cell(table, 0, code)).sum()) for code in ("p", "q", "Total")}
    assert count == {"p": 2, "q": 1, "Total": 1}


DIMENSIONS = ("d0", "d1", "d2", "d3", "d4")


@st.composite
def records(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(1, 12))
    columns = {name: draw(st.lists(st.sampled_from("xy"), min_size=rows, max_size=rows)) for name in DIMENSIONS}
    amounts = {name: draw(st.lists(st.integers(0, 99), min_size=rows, max_size=rows)) for name in ("domestic", "export")}
    data = pd.DataFrame({**columns, **amounts})
    return data.assign(turnover=data.domestic + data.export)


def sums_by_records(table: sv.Table, specs: list[sv.TableSpec], data: pd.DataFrame) -> dict[tuple[str, frozenset[int]], set[int]]:
    """Slow and plain: for every response and set of records, the cells that stand for it."""
    found: dict[tuple[str, frozenset[int]], set[int]] = {}
    for spec, view in zip(specs, table.views, strict=True):
        for row, number in zip(view.coordinates, view.cell.tolist(), strict=True):
            inside = np.ones(len(data), dtype=bool)
            for dimension, place in zip(view.dimensions, row, strict=True):
                code = dimension.codes[place]
                inside &= (data[dimension.name] == code).to_numpy() | (code == dimension.total)
            assert table.value[number] == data[spec.measure][inside].sum()
            found.setdefault((str(spec.measure), frozenset(np.flatnonzero(inside).tolist())), set()).add(number)
    return found


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(records(), st.sets(st.sampled_from(DIMENSIONS), min_size=1), st.sets(st.sampled_from(DIMENSIONS), min_size=1))
def test_a_cell_is_a_response_and_a_set_of_records(data: pd.DataFrame, one: set[str], other: set[str]) -> None:
    specs = [*three(*sorted(one)), by(*sorted(other), name="other")]
    table = build(specs, data, equations=[] if one != other else [SPLIT])
    found = sums_by_records(table, specs, data)
    assert all(len(cells) == 1 for cells in found.values())
    assert len({next(iter(cells)) for cells in found.values()}) == len(found) == table.size


def test_five_dimensions() -> None:
    """Two codes each: three positions an axis where both occur. Two opposite corners share no margin but the grand total."""
    data = pd.DataFrame({**{name: ["x", "y"] for name in DIMENSIONS}, "turnover": [3, 4]})
    table = build([by(*DIMENSIONS)], data)
    assert table.views[0].cell.size == 2 * 2**5 - 1
    assert sorted(table.value.tolist()) == [3, 4, 7]
