"""The statistics in the report, by doubles there and by fractions here: never a false alarm, and every digit that is wrong is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.read_back.report_page import Printed
from statveil.publish.read_back.report_statistics import statistics_faults
from statveil.publish.report.utility_tables import released_statistics
from statveil.tables.table import ProtectedTable
from tests.publish.stories import MakeRelease

HEAD = ("Numbers of", "Numbers", "Mean", "Standard deviation", "10%", "25%", "50%", "75%", "90%")


def printed(protected: ProtectedTable) -> list[Printed]:
    """The tables as the page prints them."""
    tables: list[Printed] = []
    for view in released_statistics(protected):
        tables.append((HEAD, *(tuple(row) for row in view["rows"])))
        if view["top"]:
            tables.append(((*view["columns"], "Released"), *(tuple(row) for row in view["top"])))
    return tables


@pytest.fixture
def street(make_release: MakeRelease) -> Any:
    """p1 -12.34, p2 56.78, q 99999.99: two levels below the total."""
    tree = Hierarchy(parent={"p": "Total", "q": "Total", "p1": "p", "p2": "p"}, labels={"q": "Quay"})
    return make_release({"r": tree}, {("p1",): -1234, ("p2",): 5678, ("q",): 9_999_999}, scale=2, decimals=2)


def test_what_is_printed_is_right(street: Any) -> None:
    assert statistics_faults(street.protected, printed(street.protected)) == []


def test_every_field_that_is_changed_is_found(street: Any) -> None:
    tables = printed(street.protected)
    for number, table in enumerate(tables):
        for row in range(len(table)):
            for field in range(len(table[row])):
                words = table[row][field]
                other = words[:-1] + ("8" if words[-1:] == "9" else "9")
                changed = [list(map(list, each)) for each in tables]
                changed[number][row][field] = other
                faults = statistics_faults(street.protected, [tuple(map(tuple, each)) for each in changed])
                assert len(faults) == 1, (number, row, field)


@pytest.mark.parametrize("figure", ["nan", "Infinity", "", "1,2,x"])
def test_what_is_no_figure_is_found(street: Any, figure: str) -> None:
    tables = printed(street.protected)
    first = (tables[0][0], (*tables[0][1][:2], figure, *tables[0][1][3:]), *tables[0][2:])
    assert statistics_faults(street.protected, [first, *tables[1:]]) == [
        "turnover, all numbers: another statistic than the released numbers have"
    ]


def test_tables_that_are_missing_or_too_many_are_found(street: Any) -> None:
    tables = printed(street.protected)
    assert statistics_faults(street.protected, []) == [
        "turnover: the statistics are not of the table's levels",
        "turnover: the largest numbers are not those of the table",
    ]
    assert statistics_faults(street.protected, [*tables, tables[0]]) == ["it prints statistics of something else"]


def test_a_table_of_zeros_has_no_statistics(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {})
    assert statistics_faults(release.protected, printed(release.protected)) == []


@pytest.mark.parametrize("seed", range(40))
def test_doubles_and_fractions_agree_to_the_digits_printed(make_release: MakeRelease, seed: int) -> None:
    draw = np.random.default_rng(seed)
    codes = [f"c{number}" for number in range(int(draw.integers(1, 90)))]
    size = 10 ** int(draw.integers(1, 15))
    decimals = int(draw.integers(-3, 5))
    values = {(code, side): int(draw.integers(-size // 3, size)) for code in codes for side in "xy"}
    if seed % 4 == 0:
        values = {place: size + int(draw.integers(0, 3)) for place in values}
    release = make_release({"r": Hierarchy.flat(codes), "s": Hierarchy.flat("xy")}, values, scale=decimals, decimals=decimals)
    assert statistics_faults(release.protected, printed(release.protected)) == []
