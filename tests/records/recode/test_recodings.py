"""Menus from every source, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import statveil as sv
from statveil.records.recode.recodings import resolve
from tests.records.stories import microdata


def new_values(menu: sv.recode.Menu, values: list[str], level: int = 1) -> list[str]:
    found = resolve(menu, values, column="x")[level]
    return [found.values[code] for code in found.code]


def test_intervals_and_their_names() -> None:
    assert new_values(sv.recode.Menu.intervals(10), ["0", "9", "10", "39"]) == ["0-9", "0-9", "10-19", "30-39"]
    edges = sv.recode.Menu(recodings=(sv.recode.Intervals(name="e", edges=(18, 65)),))
    assert new_values(edges, ["3", "18", "70"]) == ["below 18", "18-64", "65 and over"]


def test_intervals_of_decimals_are_exact() -> None:
    """In binary 0.3 / 0.1 is just below 3."""
    assert new_values(sv.recode.Menu.intervals(0.1), ["0.3", "0.6", "0,7", "0.35"]) == [
        "0.3 to under 0.4",
        "0.6 to under 0.7",
        "0.7 to under 0.8",
        "0.3 to under 0.4",
    ]
    assert new_values(sv.recode.Menu.intervals(0.1), ["-0.05", "-0.1"]) == ["-0.1 to under 0"] * 2
    assert new_values(sv.recode.Menu.intervals(10), ["-1", "-10", "-11"]) == ["-10 to -1", "-10 to -1", "-20 to -11"]


def test_a_class_of_whole_numbers_is_named_as_such_only_where_all_values_are_whole() -> None:
    assert new_values(sv.recode.Menu.intervals(10), ["9", "9.5", "10.0"]) == ["0 to under 10", "0 to under 10", "10 to under 20"]
    assert new_values(sv.recode.Menu.intervals(10), ["9.0", "10.0"]) == ["0-9", "10-19"]


def test_different_classes_have_different_names() -> None:
    values = ["1234567.35", "1234569.75", "1234571.05"]
    assert new_values(sv.recode.Menu.intervals(0.1), values)[0] == "1234567.3 to under 1234567.4"
    assert len(set(new_values(sv.recode.Menu.intervals(0.1), values))) == 3
    edges = sv.recode.Intervals(name="e", edges=(1000000.5, 1000001.5, 1000002.5))
    assert len(set(edges.apply(["1000000", "1000001", "1000002", "1000003"], column="x"))) == 4
    assert sv.recode.Extremes(name="e", top=1234567.5).apply(["1234568", "5"], column="x") == ["1234567.5 or more", "5"]
    assert [each.name for each in sv.recode.Menu.intervals(0.1, 0.10000001).recodings] == ["width 0.1", "width 0.10000001"]


@pytest.mark.parametrize("value", ["1e999999999", "1" * 5000, "nan", "-inf", "1_0"])
def test_a_number_out_of_all_bounds_is_a_word(value: str) -> None:
    with pytest.raises(sv.InputError, match="1 different values that are not numbers"):
        sv.recode.Intervals(name="e", width=1).apply(["1", value], column="x")


@pytest.mark.parametrize(
    "make",
    [
        lambda: sv.recode.Intervals(name="e", edges=(1, float("inf"))),
        lambda: sv.recode.Intervals(name="e", edges=(float("nan"), 5)),
        lambda: sv.recode.Intervals(name="e", width=float("nan")),
        lambda: sv.recode.Intervals(name="e", width=1, start=float("inf")),
        lambda: sv.recode.Intervals(name="e", width=True),
        lambda: sv.recode.Intervals(name="e", edges=("1", "2")),  # type: ignore[arg-type]
        lambda: sv.recode.Extremes(name="e", top=float("nan")),
        lambda: sv.recode.Menu.intervals("5"),  # type: ignore[arg-type]
        lambda: sv.recode.Menu.own({"n": {"x": 1}}),  # type: ignore[dict-item]
        lambda: sv.recode.Menu.own({"n": {1: "x"}}),  # type: ignore[dict-item]
        lambda: sv.recode.Menu.own({"n": ["x"]}),  # type: ignore[dict-item]
        lambda: sv.recode.Menu.own(["n"]),  # type: ignore[arg-type]
        lambda: sv.recode.Recoding(name="n", new={}, others="drop"),
    ],
)
def test_recodings_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(sv.InputError):
        make()


def test_whole_numbers_that_a_frame_made_decimal_are_found_in_a_list_of_codes() -> None:
    """Whole numbers with a gap become 1.0, 2.0, ... in many frames."""
    menu = sv.recode.Menu.own({"all": {"1": "*", "2": "*", "2.5": "*"}})
    assert new_values(menu, ["1.0", "2.0", "2.5"]) == ["*"] * 3
    kept = sv.recode.Recoding(name="k", new={"1": "one", "1.0": "one point"}, others="keep")
    assert kept.apply(["1.0", "1", "3.0"], column="x") == ["one point", "one", "3.0"]


def test_extremes_leave_the_middle_alone() -> None:
    menu = sv.recode.Menu(recodings=(sv.recode.Extremes(name="e", bottom=5, top=90),))
    assert new_values(menu, ["1", "40", "95"]) == ["5 or less", "40", "90 or more"]


def test_a_hierarchy_gives_its_levels() -> None:
    tree = sv.Hierarchy.from_dict({"North": {"N1": {}, "N2": {}}, "South": ["S1"]})
    menu = sv.recode.Menu.from_hierarchy(tree)
    assert [each.name for each in menu.recodings] == ["level 1", "total"]
    assert new_values(menu, ["N1", "N2", "S1"]) == ["North", "North", "South"]


def test_grc_lines_take_ranges_and_keep_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "age.grc"
    file.write_text("1: -20\n2: 21-30, 35\n3: 61-\n\n<MISSING>\n")
    assert new_values(sv.recode.Menu.from_grc(file), ["7", "25", "35", "50", "80"]) == ["1", "2", "2", "50", "3"]


def test_what_a_grc_file_says_beyond_its_lines_is_told(tmp_path: Path) -> None:
    """Missing codes belong to all recodings of a field, and labels are not written: both must be said."""
    file = tmp_path / "age.grc"
    file.write_text("1: -20\n2: 21-\n<MISSING> 8 9\n<CODELIST> age.cdl\n")
    with pytest.warns(UserWarning, match="missing codes 8, 9"), pytest.warns(UserWarning, match=r"age\.cdl"):
        sv.recode.Menu.from_grc(file)


@pytest.mark.parametrize("text", ["", "one two", "<TREERECODE>\na\n", "1:\n"])
def test_a_broken_grc_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.grc"
    file.write_text(text + "\n")
    with pytest.raises(sv.errors.FormatError):
        sv.recode.Menu.from_grc(file)


def test_an_arx_hierarchy_with_uneven_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;b;*\nc;*\n")
    with pytest.raises(sv.errors.FormatError):
        sv.recode.Menu.from_arx_csv(file)
    file.write_text("a;b;*\na;b;*\n")
    with pytest.raises(sv.errors.HierarchyError):
        sv.recode.Menu.from_arx_csv(file)


def test_a_code_missing_from_the_hierarchy_is_named() -> None:
    menu = sv.recode.Menu.own({"all": {"x": "*"}})
    with pytest.raises(sv.errors.HierarchyError, match="'y'"):
        sv.find_unsafe(microdata([("x",), ("y",)]), sv.KeyVariables(fields={"a": menu}))


def test_mixed_types_are_told_by_number_not_by_value() -> None:
    with pytest.raises(sv.InputError, match="1 different values that are not numbers") as caught:
        sv.find_unsafe(microdata([("12",), ("secret",)]), sv.KeyVariables(fields={"a": sv.recode.Menu.intervals(5)}))
    assert "secret" not in str(caught.value)


def test_a_menu_has_no_two_recodings_of_one_name() -> None:
    with pytest.raises(sv.InputError):
        sv.recode.Menu.intervals(5) + sv.recode.Menu.intervals(5)


@pytest.mark.shared
def test_mu_argus_recodings_fit_its_demonstration_codes(shared_data: Path) -> None:
    folder = shared_data / "microdata" / "muargus"
    with pytest.warns(UserWarning, match="are not used"), pytest.warns(UserWarning, match="is not used"):
        menu = sv.recode.Menu.from_grc(folder / "Age3.grc", folder / "Marstat.grc")
    assert new_values(menu, ["12", "31", "70"]) == ["1", "2", "3"]
    assert new_values(menu, ["1", "2", "3", "4"], level=2) == ["1", "1", "3", "3"]
