"""Menus from every source, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import statveil as sv
from statveil.anonymise.recodings import resolve
from tests.anonymise.stories import microdata


def new_values(menu: sv.Menu, values: list[str], level: int = 1) -> list[str]:
    found = resolve(menu, values, column="x")[level]
    return [found.values[code] for code in found.code]


def test_intervals_and_their_names() -> None:
    assert new_values(sv.Menu.intervals(10), ["0", "9", "10", "39"]) == ["0-9", "0-9", "10-19", "30-39"]
    edges = sv.Menu(recodings=(sv.Intervals(name="e", edges=(18, 65)),))
    assert new_values(edges, ["3", "18", "70"]) == ["below 18", "18-64", "65 and over"]


def test_extremes_leave_the_middle_alone() -> None:
    menu = sv.Menu(recodings=(sv.Extremes(name="e", bottom=5, top=90),))
    assert new_values(menu, ["1", "40", "95"]) == ["5 or less", "40", "90 or more"]


def test_a_hierarchy_gives_its_levels() -> None:
    tree = sv.Hierarchy.from_dict({"North": {"N1": {}, "N2": {}}, "South": ["S1"]})
    menu = sv.Menu.from_hierarchy(tree)
    assert [each.name for each in menu.recodings] == ["level 1", "total"]
    assert new_values(menu, ["N1", "N2", "S1"]) == ["North", "North", "South"]


def test_grc_lines_take_ranges_and_keep_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "age.grc"
    file.write_text("1: -20\n2: 21-30, 35\n3: 61-\n\n<MISSING> 8 9\n<CODELIST> age.cdl\n")
    assert new_values(sv.Menu.from_grc(file), ["7", "25", "35", "50", "80"]) == ["1", "2", "2", "50", "3"]


@pytest.mark.parametrize("text", ["", "one two", "<TREERECODE>\na\n", "1:\n"])
def test_a_broken_grc_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.grc"
    file.write_text(text + "\n")
    with pytest.raises(sv.FormatError):
        sv.Menu.from_grc(file)


def test_an_arx_hierarchy_with_uneven_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;b;*\nc;*\n")
    with pytest.raises(sv.FormatError):
        sv.Menu.from_arx_csv(file)
    file.write_text("a;b;*\na;b;*\n")
    with pytest.raises(sv.HierarchyError):
        sv.Menu.from_arx_csv(file)


def test_a_code_missing_from_the_hierarchy_is_named() -> None:
    menu = sv.Menu.own({"all": {"x": "*"}})
    with pytest.raises(sv.HierarchyError, match="'y'"):
        sv.find_unsafe(microdata([("x",), ("y",)]), sv.KeyVariables(fields={"a": menu}))


def test_mixed_types_are_told_by_number_not_by_value() -> None:
    with pytest.raises(sv.InputError, match="1 different values that are not numbers") as caught:
        sv.find_unsafe(microdata([("12",), ("secret",)]), sv.KeyVariables(fields={"a": sv.Menu.intervals(5)}))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fields": {}},
        {"fields": {"a": "text"}},
        {"fields": dict.fromkeys(f"c{n}" for n in range(63))},
        {"threshold": 0},
        {"threshold": {1: 3}},
        {"order": 0},
        {"order": "half"},
        {"rule": "none"},
        {"missing": "zero"},
        {"counting": "weights"},
        {"combinations": []},
        {"combinations": [["zz"]]},
        {"combinations": [["a"]], "levels": {"a": 1}},
        {"levels": {"a": 0}},
        {"costs": {"a": 1.0}},
        {"costs": {"a": 1.0, "b": -1.0}},
        {"costs": "cheap"},
        {"recoding_weight": -1.0},
        {"recoding_costs": {"a": {"none": 1.0}}},
        {"shared": ["a"]},
        {"household": "h"},
        {"household": "h", "shared": ["a"], "rule": "wildcard"},
        {"caps": {"a": -1}},
        {"caps": {"a": 1}, "rule": "wildcard"},
        {"linked": [["a"]]},
        {"linked": [["a", "x"], ["b", "x"]]},
        {"candidates": -1},
        {"counting": "weights", "weight": "w", "rule": "wildcard"},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(sv.InputError):
        sv.KeyVariables(**{"fields": {"a": None, "b": None}, **wrong})


def test_forty_keys_up_to_three_are_refused_at_once_and_listed_tables_are_not() -> None:
    fields = dict.fromkeys(f"c{n}" for n in range(40))
    with pytest.raises(sv.InputError, match="10,700 combinations"):
        sv.KeyVariables(fields=fields, order=3)
    assert len(sv.KeyVariables(fields=fields, order=2).tables()) == 820
    assert len(sv.KeyVariables(fields=fields, combinations=[list(fields)]).tables()) == 1


def test_a_menu_has_no_two_recodings_of_one_name() -> None:
    with pytest.raises(sv.InputError):
        sv.Menu.intervals(5) + sv.Menu.intervals(5)


@pytest.mark.shared
def test_mu_argus_recodings_fit_its_demonstration_codes(shared_data: Path) -> None:
    folder = shared_data / "microdata" / "muargus"
    menu = sv.Menu.from_grc(folder / "Age3.grc", folder / "Marstat.grc")
    assert new_values(menu, ["12", "31", "70"]) == ["1", "2", "3"]
    assert new_values(menu, ["1", "2", "3", "4"], level=2) == ["1", "1", "3", "3"]
