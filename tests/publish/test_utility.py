"""Statistics before and after: right by hand, never NaN, complete inside, and outside a function of the released numbers alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from statveil.core.statistics import statistics_of
from statveil.data.hierarchy import Hierarchy
from statveil.publish import utility as utility_module
from statveil.publish.report import changes
from statveil.publish.report.changes import measure
from statveil.publish.report.report import report_html
from statveil.publish.report.utility_tables import (
    NOT_DEFINED,
    TUNING,
    released_statistics,
    statistics_row,
    top_cells,
)
from statveil.publish.utility import SubsetUtility, system_utility, utility
from statveil.tables.spec import Dimension
from tests.publish.stories import MakeRelease, section_of


def named(release: Any) -> dict[str, SubsetUtility]:
    return {each.subset.name: each for each in utility(release)}


@pytest.fixture
def streets(make_release: MakeRelease) -> Any:
    """Four houses worth 10, 20, 30 and 40 in two streets of a town; the first (sensitive) went up to 14, the second down to 16."""
    tree = Hierarchy(parent={"north": "Total", "south": "Total", "a": "north", "b": "north", "c": "south", "d": "south"})
    values = {("a",): 10, ("b",): 20, ("c",): 30, ("d",): 40}
    return make_release({"house": tree}, values, changes={("a",): 4, ("b",): -4}, sensitive=(10,))


def test_the_sets_of_cells_are_those_a_reader_thinks_of(streets: Any) -> None:
    assert list(named(streets)) == [
        "all cells", "sensitive cells", "other cells", "level 0 (grand total)", "level 1", "level 2 (finest)",
        "house: its total", "house: level 1", "house: level 2 (finest)",
    ]  # fmt: skip


def test_the_houses_by_hand(streets: Any) -> None:
    found = named(streets)["level 2 (finest)"]
    assert found.statistics.mean == (25.0, 25.0)
    assert found.statistics.variance == (125.0, 113.0)  # 225+25+25+225 over 4; then 14, 16, 30, 40: 121+81+25+225 over 4
    assert found.slope == pytest.approx(0.92)  # 165+45+25+225 over 500
    assert found.correlation == pytest.approx(460 / (500 * 452) ** 0.5)
    assert found.variance_ratio == pytest.approx(113 / 125)
    assert found.rank_correlation == 1.0
    assert found.statistics.top == (4, 4, 4)
    assert statistics_row(found)[1:6] == ["4", "25", "25", "11.18", "10.63"]


def test_an_unchanged_table_keeps_every_statistic(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, {("a",): -50, ("b",): 70, ("c",): 0})
    for each in utility(release):
        assert each.statistics.mean.before == each.statistics.mean.after
        defined = [value for value in (each.correlation, each.slope, each.variance_ratio, each.rank_correlation) if value is not None]
        assert defined == pytest.approx([1.0] * len(defined), abs=1e-12)
    assert not [each for each in utility(release) if each.subset.kind == "row"]
    assert "the mean is unchanged" in section_of(report_html(release, "internal"), "utility")


def test_one_cell_has_no_correlation_and_says_so(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("a")}, {("a",): 50}, changes={("a",): 9}, sensitive=(50,))
    every = named(release)["all cells"]
    assert (every.correlation, every.rank_correlation, every.slope, every.variance_ratio) == (None, None, None, None)
    text = section_of(report_html(release, "internal"), "utility")
    assert "correlation and slope are not defined" in text
    assert NOT_DEFINED in text
    assert "nan" not in text.lower()


def test_equal_values_have_no_slope_and_equal_releases_no_correlation(make_release: MakeRelease) -> None:
    equal = make_release({"r": Hierarchy.flat("ab")}, {("a",): 50, ("b",): 50}, changes={("a",): 9, ("b",): -9})
    finest = named(equal)["r: level 1 (finest)"]
    assert (finest.slope, finest.correlation, finest.why_undefined) == (None, None, "all true values are equal")
    levelled = make_release({"r": Hierarchy.flat("ab")}, {("a",): 40, ("b",): 60}, changes={("a",): 10, ("b",): -10})
    finest = named(levelled)["r: level 1 (finest)"]
    assert (finest.slope, finest.correlation, finest.why_undefined) == (0.0, None, "all released values are equal")
    assert "r: level 1 (finest): all released values are equal" in section_of(report_html(levelled, "internal"), "utility")


def test_equal_values_that_no_double_holds_are_equal_all_the_same(make_release: MakeRelease) -> None:
    release = make_release({"r": Hierarchy.flat("abc")}, dict.fromkeys([("a",), ("b",), ("c",)], 1), scale=1, decimals=1)
    assert named(release)["r: level 1 (finest)"].correlation is None


def test_everything_sensitive_leaves_no_other_cells(make_release: MakeRelease) -> None:
    values = {("a",): 40, ("b",): 61}
    release = make_release({"r": Hierarchy.flat("ab")}, values, changes={("a",): 10, ("b",): -10}, sensitive=(40, 61, 101))
    assert "sensitive cells" in named(release)
    assert "other cells" not in named(release)


def test_negative_values_and_zeros_have_statistics(make_release: MakeRelease) -> None:
    values = {("a",): -40, ("b",): 60, ("c",): 0, ("d",): -7}
    release = make_release({"r": Hierarchy.flat("abcd")}, values, changes={("a",): -5, ("b",): 5}, sensitive=(-40,))
    every = named(release)["all cells"]
    assert every.correlation is not None
    assert "nan" not in section_of(report_html(release, "internal"), "utility").lower()


def test_the_largest_cells_are_listed_with_their_ranks(streets: Any) -> None:
    subset = named(streets)["level 2 (finest)"].subset
    name, columns, rows = top_cells(streets, measure(streets), subset)
    assert (name, columns) == ("level 2 (finest)", ["house"])
    assert rows == [["d", "40", "40", "1", "1"], ["c", "30", "30", "2", "2"], ["b", "20", "16", "3", "3"], ["a", "10", "14", "4", "4"]]


def test_rows_are_those_that_changed_most(make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {(r, c): v for r, line in (("x", (10, 20, 30)), ("y", (11, 25, 31))) for c, v in zip("abc", line, strict=True)}
    trees = {"r": Hierarchy.flat("xy"), "c": Hierarchy.flat("abc")}
    release = make_release(trees, values, changes={("x", "a"): 9, ("x", "b"): -9}, sensitive=(10,))
    rows = [each.subset for each in utility(release) if each.subset.kind == "row"]
    assert rows[0].name == "c = a"  # 10, 11, 21 became 19, 11, 30: even their order is lost
    assert "r = x" in [row.name for row in rows]
    assert not {"r = y", "c = c"} & {row.name for row in rows}
    monkeypatch.setattr(changes, "TUNING", TUNING._replace(subsets=1))
    assert [each.subset.name for each in utility(release) if each.subset.kind == "row"] == ["c = a"]


def test_a_row_scores_as_its_statistics_say(make_release: MakeRelease) -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    before, after, group = rng.normal(size=60), rng.normal(size=60), rng.integers(0, 4, 60)
    scores = utility_module._distortion_by_group(before, after, group, 6)
    for number in range(4):
        found = statistics_of(before, after, subset=group == number)
        asked = 1 - found.correlation**2 + abs(1 - found.slope) + abs(found.variance_ratio - 1)
        assert scores[number] == pytest.approx(asked)
    assert scores[4:].tolist() == [0.0, 0.0]


def test_linked_views_name_their_dimensions_with_the_view(village: Any) -> None:
    views = (village.protected.views[0], dataclasses.replace(village.protected.views[0], name="again"))
    village.protected = dataclasses.replace(village.protected, views=views)
    village.table = dataclasses.replace(village.table, views=views)
    assert {"turnover, region: its total", "again, region: its total"} <= set(named(village))


def hidden_differently(village: Any) -> Any:
    """The same released numbers over other true values, statuses and records."""
    sensitivity = dataclasses.replace(village.sensitivity, sensitive=~village.sensitivity.sensitive, reasons={})
    table = dataclasses.replace(village.table, value=village.table.value * 3 + 1, records=village.table.records + 5)
    return type(village)(**{**vars(village), "sensitivity": sensitivity, "table": table})


def test_public_statistics_are_a_function_of_the_released_numbers(village: Any) -> None:
    assert released_statistics(hidden_differently(village).protected) == released_statistics(village.protected)
    assert report_html(hidden_differently(village), "external") == report_html(village, "external")


def test_an_empty_position_and_a_released_zero_look_alike_in_public(make_release: MakeRelease) -> None:
    trees = {"r": Hierarchy.flat("xy"), "c": Hierarchy.flat("ab")}
    values = {("x", "a"): 10, ("x", "b"): 20, ("y", "a"): 5}
    empty = make_release(trees, values)
    filled = make_release(trees, {**values, ("y", "b"): 0})
    assert filled.table.size == empty.table.size + 1
    assert report_html(filled, "external") == report_html(empty, "external")


def test_two_positions_of_one_cell_count_twice_in_public(make_release: MakeRelease) -> None:
    """Which positions add up the same records is confidential: it would tell where a total has one filled part."""
    dimension = Dimension(name="r", trees=(Hierarchy(parent={"p": "Total", "a": "p", "b": "p", "q": "Total", "c": "q"}),))
    release = make_release({"r": dimension.trees[0]}, {("a",): 10, ("b",): 20, ("c",): 5})
    view = release.protected.views[0]
    place = {dimension.codes[k]: row for row, k in enumerate(view.coordinates[:, 0])}
    cell = view.cell.copy()
    cell[place["c"]] = cell[place["q"]]
    merged = dataclasses.replace(release.protected, views=(dataclasses.replace(view, cell=cell),))
    assert released_statistics(merged) == released_statistics(release.protected)


def test_public_statistics_by_hand(streets: Any) -> None:
    [found] = released_statistics(streets.protected)
    rows = {row[0]: row[1:] for row in found["rows"]}
    assert rows["house: level 2 (finest)"] == ["4", "25", "10.63", "14", "14", "16", "30", "40"]
    assert found["top"] == [["d", "40"], ["c", "30"], ["b", "16"], ["a", "14"]]


def test_a_linear_system_has_figures_and_none_where_nothing_is_defined() -> None:
    value, released = np.array([10, 20, 30, 60]), np.array([14, 16, 30, 60])
    every, sensitive = system_utility(value, released, np.array([True, False, False, False]), decimals=1)
    assert every.figures()["mean"] == [3.0, 3.0]
    assert every.figures()["top_kept"] == 4
    assert sensitive.figures()["correlation"] is None
    assert sensitive.figures()["mean"] == [1.0, 1.4]
    assert [each.subset.name for each in system_utility(value, released, np.zeros(4, dtype=np.bool_), decimals=0)] == ["all cells"]
