"""Statistics that are said to be kept, in exact integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statveil.audit.kept import KeptStatistic, Statistic, check_kept, is_kept
from statveil.audit.tables import Requirements
from tests.audit.stories import TOTAL, A, B, C, audit, failed, named, row, sensitivity_of


def mean(words: str, *cells: int) -> KeptStatistic:
    return KeptStatistic(what="mean", words=words, cells=cells)


def test_sums_are_compared_to_the_unit() -> None:
    value, released = np.array([2**53, 1, 5]), np.array([2**53 + 1, 0, 6])
    [kept] = check_kept([mean("the first two", 0, 1)], value, released)
    assert kept.passed
    assert (kept.name, kept.checked) == ("means", 1)
    [off] = check_kept([mean("the first two", 0, 1), mean("all", 0, 1, 2)], value, released)
    assert not off.passed
    assert off.findings == ("all",)


def test_nothing_promised_is_nothing_checked() -> None:
    assert check_kept([], np.array([1]), np.array([2])) == ()


@pytest.mark.parametrize(
    ("what", "within", "released", "kept"),
    [
        ("slope", "0.5", [0, 3], True),  # true values 0 and 2: the slope is 1.5
        ("slope", "0.499", [0, 3], False),
        ("slope", "0.5", [0, 1], True),
        ("variance", "1.25", [0, 3], True),  # 9 by 4
        ("variance", "1.2499", [0, 3], False),
        ("variance", "0.75", [0, 1], True),
        ("correlation", "0", [0, 3], True),  # two points are on a line
        ("correlation", "0.9", [3, 0], False),
        ("correlation", "0.9", [1, 1], False),  # no spread is left, so nothing correlates
    ],
)
def test_statistics_are_compared_with_the_distance_promised(what: Statistic, within: str, released: list[int], kept: bool) -> None:
    assert is_kept(what, Fraction(within), [0, 2], released) is kept


def test_a_correlation_is_compared_without_a_root() -> None:
    """0, 1, 2 released as 0, 1, 5: the correlation is 5 / sqrt(28), a little below 0.945."""
    assert is_kept("correlation", Fraction("0.0551"), [0, 1, 2], [0, 1, 5])
    assert not is_kept("correlation", Fraction("0.0550"), [0, 1, 2], [0, 1, 5])


def test_a_slope_off_by_less_than_a_double_can_tell_is_off() -> None:
    large = 2**52
    assert is_kept("slope", Fraction(0), [0, large], [5, large + 5])
    assert not is_kept("slope", Fraction(0), [0, large - 1, large], [0, large - 1, large + 1])
    assert not is_kept("variance", Fraction(0), [0, large - 1, large], [0, large - 1, large + 1])


def test_a_release_is_held_to_what_it_promises_to_keep() -> None:
    """A moves by its level, and B takes it back: the mean of A and B is kept, that of A alone is not."""
    table = row(10, 20, 30)
    levels, released = sensitivity_of(table, {A: 4}), [60, 14, 16, 30]
    kept = Requirements(kept=(mean("A and B", A, B),))
    assert audit(table, released, levels, kept).passed
    report = audit(table, released, levels, Requirements(kept=(mean("A and B", A, B), mean("A", A))))
    assert failed(report) == {"means"}
    assert named(report, "means").findings == ("A",)


def test_other_statistics_of_a_release_are_checked_apart_from_its_means() -> None:
    table = row(10, 20, 30)
    slope = KeptStatistic(what="slope", words="the finest cells", cells=(A, B, C), within=Fraction("0.2"))
    report = audit(table, [60, 14, 16, 30], sensitivity_of(table, {A: 4}), Requirements(kept=(mean("all", TOTAL, A, B, C), slope)))
    assert report.passed  # the slope of 14, 16, 30 on 10, 20, 30 is 0.8
    tight = KeptStatistic(what="slope", words="the finest cells", cells=(A, B, C), within=Fraction("0.19"))
    report = audit(table, [60, 14, 16, 30], sensitivity_of(table, {A: 4}), Requirements(kept=(tight,)))
    assert named(report, "statistics").findings == ("the slope of the finest cells",)


def test_what_is_kept_is_the_sum_of_the_published_truth() -> None:
    """0.2 and 0.2 are published as whole numbers: each is nearest to zero, and so is what is to be kept."""
    table = row("0.2", "0.2", decimals=1, published=0)
    both = Requirements(kept=(mean("both", 1, 2),))
    assert audit(table, [0, 0, 0], None, both).passed
    assert "means" in failed(audit(table, [1, 1, 0], None, both))
