"""Zeros and small cells (T17, T18)."""

from __future__ import annotations

import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.floors import AS_GIVEN
from statveil.risk.rules import ManualCell
from tests.jobs.tables.stories import FIVE, original, protect, released, sensitive, table

pytestmark = pytest.mark.slow

ZEROS = {"area": list("ppqqqr"), "trade": list("uvuvvv"), "sales": [0, 30, 10, 50, 20, 9]}
"""p has a record of nothing in u; r has no record in u."""


def test_a_zero_with_respondents_stays_when_no_rule_minds_and_the_rest_moves() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.rules.Manual([ManualCell(cell={"area": "p", "trade": "v"}, status="sensitive")]))
    assert sensitive(release) == {("p", "v")}
    assert released(release)["p", "u"] == 0


def test_a_zero_with_respondents_moves_up_when_the_policy_says_so() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.rules.ZeroRule(5))
    assert sensitive(release) == {("p", "u")}
    assert released(release)["p", "u"] >= 5


def test_an_empty_cell_stays_empty() -> None:
    release = protect(ZEROS, table("area", "trade"), sv.rules.ZeroRule(5), sv.MinimumFrequency(2))
    assert ("r", "u") not in released(release)


def test_a_structural_zero_stays_and_is_told_apart() -> None:
    spec = table("area", "trade", structural_zeros=[{"area": "r", "trade": "u"}])
    release = protect(ZEROS, spec, sv.rules.ZeroRule(5))
    assert ("r", "u") not in released(release)
    view = release.protected.views[0]
    assert [tuple(d.codes[i] for d, i in zip(view.dimensions, at, strict=True)) for at in view.structural] == [("r", "u")]


def test_a_record_at_a_structural_zero_is_refused() -> None:
    with pytest.raises(sv.InputError, match="structural_zeros"):
        protect(ZEROS, table("area", "trade", structural_zeros=[{"area": "p", "trade": "u"}]), sv.rules.ZeroRule(5))


def test_a_lone_sensitive_zero_lifts_its_zero_total_and_no_other_zero() -> None:
    """The lone zero of p and u is sensitive; the total of p must rise with it, the zero of p and v has no reason to."""
    data = {"area": list("ppppqq"), "trade": list("uvvvuv"), "sales": [0, 0, 0, 0, 5, 9]}
    numbers = released(protect(data, table("area", "trade"), sv.MinimumFrequency(2)))
    assert numbers["p", "u"] == numbers["p", "Total"] >= 1
    assert numbers["p", "v"] == 0


def test_a_cell_smaller_than_its_level_goes_up() -> None:
    """T18: with levels of 100% and more no cell can go down, for it would vanish."""
    release = protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2, level=100), sv.MinimumFrequency(3, level=150))
    small = [codes for codes in sensitive(release) if codes not in {("Total", "v"), ("q", "Total")}]
    assert ("q", "u") in small
    assert all(released(release)[codes] >= 2 * original(release)[codes] for codes in small)


def test_no_cell_with_something_in_it_is_released_as_zero() -> None:
    data = {"area": list("pqrst"), "sales": [1, 1, 1, 1, 1]}
    release = protect(data, table("area"), sv.MinimumFrequency(2))
    assert min(released(release).values()) >= 1


def test_a_cell_that_can_go_neither_down_nor_up_is_told() -> None:
    """The lone 1 of q and u cannot fall, for it would vanish, and the office lets it not rise."""
    held = sv.rules.Manual([ManualCell(cell={"area": "q", "trade": "u"}, maximum=1)])
    with pytest.raises(sv.InfeasibleProblem, match="No safe table exists"):
        protect(FIVE, table("area", "trade"), sv.MinimumFrequency(2), held)


def test_a_row_of_sensitive_zeros_lifts_its_zero_total() -> None:
    """Four zeros of one respondent each must rise; their total, a zero of four respondents, must rise with them."""
    rows = [("a", column, value) for column in "wxyz" for value in (10, 20, 30)] + [("u", column, 0) for column in "wxyz"]
    data = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("row", "column", "value"))})
    spec = sv.TableSpec(dimensions={"row": None, "column": None}, measure="value")
    options = sv.Options(floors=AS_GIVEN)
    release = sv.protect_table(data, spec, rules=[sv.MinimumFrequency(3)], options=options, limits=sv.Limits(seconds=60))
    view = release.protected.views[0]
    released = dict(zip(map(tuple, view.coordinates.tolist()), release.protected.value[view.cell].tolist(), strict=True))
    codes = [dimension.codes.index for dimension in view.dimensions]
    assert [released[codes[0]("u"), codes[1](column)] for column in "wxyz"] == [1, 1, 1, 1]
    assert released[codes[0]("u"), codes[1]("Total")] == 4
