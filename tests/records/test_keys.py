"""Key variables: settings checked at the door, identification levels, too many combinations refused at once."""

from __future__ import annotations

from typing import Any

import pytest

import statveil as sv


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
        {"levels": {"a": 3, "b": 3}},
        {"levels": {"a": 10**9}},
        {"levels": {"a": "1"}},
        {"levels": {"a": 1.5}},
        {"levels": ["a"]},
        {"fields": ["a", "b"]},
        {"combinations": ["a", "b"]},
        {"combinations": {"a": 3}},
        {"linked": ["ab"]},
        {"household": "h", "shared": "a"},
        {"missing_codes": {"a": "99"}},
        {"caps": ["a"]},
        {"costs": ["a"]},
        {"costs": {"a": "1", "b": "1"}},
        {"recoding_weight": "1"},
        {"recoding_costs": ["a"]},
        {"threshold": 10**13},
        {"candidates": True},
        {"edits": [sv.recode.EditRule(when={"a": "13"}, then={"b": "x"})]},
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


def test_identification_levels_are_counted_before_they_are_listed() -> None:
    fields = dict.fromkeys(f"c{n}" for n in range(40))
    levels = {name: 1 if place < 35 else place - 33 for place, name in enumerate(fields)}
    with pytest.raises(sv.InputError, match="combinations of key fields are more than"):
        sv.KeyVariables(fields=fields, levels=levels)


def test_identification_levels_by_hand() -> None:
    """One of level 1 (a, b), one of level 2 or less, one of any level but 0."""
    keys = sv.KeyVariables(fields=dict.fromkeys("abcde"), levels={"a": 1, "b": 1, "c": 2, "d": 3, "e": 0})
    assert [places for places, _ in keys.tables()] == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
