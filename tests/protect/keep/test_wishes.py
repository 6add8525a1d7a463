"""Wishes at the door, and what they mean for one problem's cells."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.jobs.tables.released import keep_as_json
from statveil.protect.keep.wishes import cells_of, several, targets_of
from tests.protect.keep.tables import small_table


def test_one_target_for_each_set_of_cells() -> None:
    keep = sv.keep.Keep(mean=["sensitive", "all"], slope="sensitive", variance=[0, 4, 5])
    sensitive, everything = targets_of(keep, small_table())
    assert (sensitive.words, everything.words) == ("the sensitive cells", "all cells")
    assert (sensitive.mean, sensitive.slope, sensitive.variance, sensitive.correlation) == (True, True, True, False)
    assert (everything.mean, everything.spread) == (True, False)
    assert sensitive.cells.tolist() == [0, 4, 5]


def test_the_gradient_gives_the_slope() -> None:
    (target,) = targets_of(sv.keep.Keep(slope="sensitive"), small_table())
    deviation = np.array([10.0, -40.0, 15.0])
    slope = np.polyfit(target.value, target.value + deviation, 1)[0]
    assert 1 + target.gradient @ deviation == pytest.approx(slope)


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ("all", tuple(range(12))),
        ("relation:0", (0, 1, 2)),
        ("cells:3, 1", (1, 3)),
        ([5, 4, 4], (4, 5)),
        (np.arange(12) < 2, (0, 1)),
        ([True, False, True] + [False] * 9, (0, 2)),
        (sv.keep.Cells((7,), "one cell"), (7,)),
    ],
)
def test_sets_of_cells_by_name_and_number(where: Any, numbers: tuple[int, ...]) -> None:
    assert cells_of(where, small_table()).numbers == numbers


@pytest.mark.parametrize("where", ["everything", "relation:99", "cells:x", [99], [], {"region": "A"}, [0.5, 1], [True] * 11, [True, 3]])
def test_sets_that_are_none_are_refused(where: Any) -> None:
    with pytest.raises(InputError, match="Keep"):
        cells_of(where, small_table())


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"mean": "all", "within": 1.0},
        {"mean": "all", "widen": (2, 1.5)},
        {"mean": "all", "widen": (0.5,)},
        {"mean": "all", "senses": "any"},
        {"mean": "all", "by": "magic"},
        {"mean": "all", "coefficients": sv.keep.Coefficients(change=-1)},
        {"measures": ["beauty"]},
        {"mean": "all", "measures": ["gini"], "by": "programs"},
    ],
)
def test_wishes_that_make_no_sense_are_refused(wishes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sv.keep.Keep(**wishes)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"mean": "all", "widen": 2}, "widen is a list of caps"),
        ({"mean": "all", "coefficients": 3}, "coefficients must be Coefficients"),
        ({"measures": "ranks"}, "measures is a list of names and functions"),
        ({"measures": len}, "measures is a list"),
        ({"mean": []}, "a list of cells is empty"),
        ({"slope": ["all", []]}, "a list of cells is empty"),
        ({"mean": np.zeros(0, dtype=np.int64)}, "a list of cells is empty"),
    ],
)
def test_a_wish_of_the_wrong_kind_is_refused_with_what_it_should_be(wishes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sv.keep.Keep(**wishes)


def test_cells_that_do_not_differ_have_no_slope() -> None:
    alike = dataclasses.replace(small_table(), value=np.full(12, 100))
    with pytest.raises(InputError, match="cells that do not differ have no variance, correlation or slope to keep: 2 cells listed"):
        targets_of(sv.keep.Keep(slope=[3, 5]), alike)
    with pytest.raises(InputError, match="a single cell has no variance, correlation or slope to keep: 1 cell listed"):
        targets_of(sv.keep.Keep(slope=[3, 3]), small_table())


def test_numbers_in_a_row_are_one_set() -> None:
    assert several([1, 2]) == [[1, 2]]
    assert several(["all", [1, 2]]) == ["all", [1, 2]]
    assert several(None) == []
    assert several([True, False]) == [[True, False]]


def test_arrays_become_lists_that_the_provenance_can_hold() -> None:
    marks = np.arange(12) < 2
    keep = sv.keep.Keep(mean=np.array([4, 5]), slope=[marks, range(3)], variance=marks)
    assert keep.mean == [4, 5]
    assert json.loads(json.dumps(keep_as_json(keep)))["keep"]["slope"] == [marks.tolist(), [0, 1, 2]]
    assert [target.cells.tolist() for target in targets_of(keep, small_table())] == [[4, 5], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("where", [3, np.array([[1, 2], [3, 4]]), [[1, 2], 0.5]])
def test_what_is_no_list_of_cells_is_refused_at_the_door(where: Any) -> None:
    with pytest.raises(InputError, match="a set of cells is"):
        sv.keep.Keep(mean=where)


def test_over_no_sensitive_cells_there_is_nothing_to_keep() -> None:
    nothing = dataclasses.replace(small_table(), sensitive=np.zeros(12, dtype=np.bool_))
    assert targets_of(sv.keep.Keep(mean="sensitive", slope="sensitive"), nothing) == []


def test_one_sensitive_cell_has_a_mean_and_no_spread() -> None:
    one = dataclasses.replace(small_table(), sensitive=np.arange(12) == 4)
    (target,) = targets_of(sv.keep.Keep(mean="sensitive", slope="sensitive", variance="sensitive"), one)
    assert (target.cells.tolist(), target.mean, target.spread) == ([4], True, False)
    assert targets_of(sv.keep.Keep(correlation="sensitive"), one) == []
