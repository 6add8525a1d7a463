"""What became of the statistics, in figures and in words; what means nothing is not made up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import statveil as sv
from statveil.protect.keep.result import Quality, changes_of, missed
from statveil.protect.keep.tabu.objective import Objective, Pair, moments_of, outcomes
from statveil.protect.keep.wishes import Keep, Target, targets_of
from tests.protect.keep.tables import small_table


def a_deviation(**moved: int) -> np.ndarray:
    deviation = np.zeros(12, dtype=np.int64)
    for cell, by in moved.items():
        deviation[int(cell[1:])] = by
    return deviation


def test_cells_that_do_not_differ_have_no_statistics_but_a_mean() -> None:
    (target,) = targets_of(Keep(mean=[4]), small_table())
    (found,) = outcomes([target], a_deviation(c4=40))
    assert found.mean_off == 40
    assert (found.correlation, found.slope, found.variance_ratio) == (None, None, None)
    words = Quality(plain=(found,), kept=(found,), plain_objective=1.0, objective=1.0, found_by="plain").in_words()[0]
    assert "correlation - (plain table: -)" in words


def test_released_cells_that_are_all_equal_have_no_correlation() -> None:
    keep = Keep(correlation=[0, 4, 5], within=0.1)
    (target,) = targets_of(keep, small_table())  # 100, 400 and 150
    equal = a_deviation(c0=100, c4=-200, c5=50)
    (found,) = outcomes([target], equal)
    assert found.correlation is None
    assert found.variance_ratio == pytest.approx(0)
    assert moments_of(target, equal[target.cells].astype(float)).correlation == 0
    assert missed(keep, [target], equal) == ["the correlation of 3 cells listed"]


def test_a_correlation_is_never_beyond_one() -> None:
    (target,) = targets_of(Keep(correlation=[0, 4]), small_table())
    for by in range(-90, 1000, 7):
        assert -1 <= (outcomes([target], a_deviation(c0=by))[0].correlation or 0) <= 1


def two_variables() -> tuple[list[Target], sv.ProtectionProblem]:
    """The same values twice, the second variable's cells after those of the first."""
    (one,) = targets_of(Keep(variance=[0, 1, 2, 4]), small_table())
    return [one, dataclasses.replace(one, cells=one.cells + 12)], small_table()


def test_relations_of_variables_are_held_to_the_distance_as_well() -> None:
    """Two cells of the second variable change places: its own variance is what it was, its relation to the first is not."""
    targets, _ = two_variables()
    swapped = np.concatenate([np.zeros(12, dtype=np.int64), a_deviation(c0=100, c1=-100)])
    keep = Keep(variance="all", within=0.05)
    assert missed(keep, targets, swapped) == []
    assert missed(keep, targets, swapped, [Pair(0, 1)]) == ["the relations of the variables to one another"]
    true, released = np.array([100, 200, 300, 400]), np.array([200, 100, 300, 400])
    correlation, of_second, of_first = changes_of(Pair(0, 1), targets, swapped)
    assert correlation == pytest.approx(1 - np.corrcoef(true, released)[0, 1])
    assert of_second == pytest.approx(1 - np.polyfit(true, released, 1)[0])
    assert of_first == pytest.approx(1 - np.polyfit(released, true, 1)[0])
    assert missed(Keep(variance="all", within=0.5), targets, swapped, [Pair(0, 1)]) == []


def test_the_search_counts_relations_beyond_the_distance_only() -> None:
    from statveil.protect.keep.problems import side_by_side

    targets, problem = two_variables()
    swapped = np.concatenate([np.zeros(12, dtype=np.int64), a_deviation(c0=100, c1=-100)])
    changes = changes_of(Pair(0, 1), targets, swapped)
    for within in (0.0, 0.1, 0.5):
        keep = Keep(variance="all", within=within)
        objective = Objective(side_by_side([problem, problem]), targets, keep, cost=1.0, pairs=[Pair(0, 1)])
        assert objective.lost(swapped) == pytest.approx(keep.coefficients.correlation * sum(max(each - within, 0) for each in changes))
