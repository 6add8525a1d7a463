"""Rows of a file beside the table: what is missing, doubled, misplaced or written otherwise is told by its labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from statveil.data.hierarchy import Hierarchy
from statveil.publish.read_back import compare
from statveil.publish.read_back.compare import Findings, differences, table_shown
from statveil.publish.read_back.shown import ShownTable, shown_grid
from statveil.tables.shown.positions import LARGEST_GRID
from tests.publish.stories import MakeRelease


@pytest.fixture
def row(make_release: MakeRelease) -> Any:
    """Total 30, a 10, b 20, c empty, d impossible."""
    return make_release({"r": Hierarchy.flat("abcd")}, {("a",): 10, ("b",): 20}, structural=((4,),))


def shown(numbers: dict[str, str | None], **more: Any) -> ShownTable:
    return shown_grid([list(numbers)], list(numbers.values()), **more)


RIGHT: dict[str, str | None] = {"Total": "30", "a": "10", "b": "20", "c": "0", "d": None}


def told(release: Any, numbers: dict[str, str | None], **more: Any) -> list[str]:
    [view] = release.protected.views
    return differences(view, shown(numbers, **more), release.protected).first


def test_the_same_numbers_at_the_same_places_are_no_difference(row: Any) -> None:
    assert told(row, RIGHT) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": "11"}, "r=a: another number than in the table audited"),
        ({"a": "-10"}, "r=a: another number than in the table audited"),
        ({"a": None}, "r=a: no number where the table has one"),
        ({"c": None}, "r=c: no number where the table has one"),
        ({"c": "1"}, "r=c: another number than in the table audited"),
        ({"d": "0"}, "r=d: a number where none can be"),
        ({"a": "10.0"}, "r=a: not a number, or one with other decimals"),
        ({"a": "1e1"}, "r=a: not a number, or one with other decimals"),
        ({"a": "010"}, "r=a: not a number, or one with other decimals"),
        ({"c": "-0"}, "r=c: not a number, or one with other decimals"),
        ({"a": "1" * 40}, "r=a: not a number, or one with other decimals"),
        ({"e": "0"}, "r=e: codes that the table lacks"),
    ],
)
def test_every_other_number_is_told_by_its_labels(row: Any, change: dict[str, str | None], words: str) -> None:
    assert told(row, {**RIGHT, **change}) == [words]


def test_what_is_left_out_is_told(row: Any) -> None:
    assert told(row, {code: number for code, number in RIGHT.items() if code not in "cd"}) == ["r=c: left out", "r=d: left out"]


def test_of_a_large_table_only_zeros_may_be_left_out(row: Any) -> None:
    [view] = row.protected.views
    part = {code: number for code, number in RIGHT.items() if code != "c"}
    assert differences(view, shown(part), row.protected, whole=2).first == []
    few = {code: number for code, number in part.items() if code not in "bd"}
    assert differences(view, shown(few), row.protected, whole=2).first == ["r=b: left out", "r=d: left out"]


def test_a_part_is_whole_in_the_codes_it_shows(row: Any) -> None:
    assert told(row, {"Total": "30", "b": "20"}, part=True) == []
    assert told(row, {"Total": "30", "b": "21"}, part=True) == ["r=b: another number than in the table audited"]


def test_a_position_that_is_there_twice_is_told(row: Any) -> None:
    [view] = row.protected.views
    once = shown(RIGHT)
    twice = replace(once, index=np.concatenate([once.index, once.index[1:2]]), number=pa.array([*RIGHT.values(), "10"], pa.large_string()))
    assert differences(view, twice, row.protected).first == ["r=a: more than once"]


def test_a_release_that_is_another_is_told(row: Any) -> None:
    [view] = row.protected.views
    for said, words in (("ab", []), ("", ["it names another release"]), ("b", ["it names another release"]), (None, [])):
        assert differences(view, shown(RIGHT, release=said), row.protected, release="abc").first == words


def test_another_label_is_told(row: Any) -> None:
    labels = frozenset([("a", "a"), ("b", "Bern"), ("unknown", "x")])
    assert told(row, RIGHT, labels=(labels,)) == ["r=b: another label"]


def test_many_findings_are_counted_and_the_first_are_told() -> None:
    found, all_of_them = Findings(), Findings()
    found.add([f"fault {number}" for number in range(25)])
    all_of_them.include("x.csv", found)
    all_of_them.include("y.csv", found)
    assert (all_of_them.count, len(all_of_them.first)) == (50, 10)
    assert all_of_them.first[0] == "x.csv: fault 0"


@pytest.mark.parametrize(("decimals", "words"), [(2, ["0.30", "0.10", "0.20", "0.00"]), (-3, ["30000", "10000", "20000", "0"])])
def test_numbers_are_read_in_the_units_of_the_table(make_release: MakeRelease, decimals: int, words: list[str]) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, {("a",): 10, ("b",): 20}, scale=decimals, decimals=decimals)
    rows = shown(dict(zip(["Total", "a", "b", "c"], words, strict=True)))
    assert table_shown(release.table, [rows]).value.tolist() == [30, 10, 20]
    [view] = release.protected.views
    assert differences(view, rows, release.protected).first == []


def test_the_first_place_of_a_cell_counts(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("ab")}, {("a",): 10, ("b",): 20}, names=("one", "two"))
    rows = [shown({"Total": "30", "a": first, "b": "20"}) for first in ("10", "11")]
    assert table_shown(release.table, rows).value.tolist() == [30, 10, 20]


def test_a_whole_table_is_as_large_for_the_reader_as_for_the_writer() -> None:
    assert compare.WHOLE_UP_TO == LARGEST_GRID


def test_a_table_without_cells_has_nothing_but_zeros(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {})
    assert told(release, {"Total": "0", "a": "0"}) == []
    assert told(release, {"Total": "0", "a": "1"}) == ["r=a: another number than in the table audited"]
