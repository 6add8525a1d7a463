"""What a table is worth: the statistics of a few cells by hand."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect.keep.tabu.objective import Moments, Objective, moments_of, outcomes
from statveil.protect.keep.wishes import Coefficients, Keep, targets_of
from tests.protect.keep.tables import small_table

S = "sensitive"


def test_statistics_of_three_cells_are_those_of_numpy() -> None:
    problem = small_table()
    (target,) = targets_of(Keep(slope=S), problem)
    deviation = np.array([10, -40, 15])
    before = problem.value[target.cells].astype(float)
    after = before + deviation
    now = moments_of(target, deviation)
    assert now.slope == pytest.approx(np.cov(before, after, bias=True)[0, 1] / before.var())
    assert now.variance_ratio == pytest.approx(after.var() / before.var())
    assert now.correlation == pytest.approx(np.corrcoef(before, after)[0, 1])
    assert now.sum == -15


def test_released_values_that_are_all_equal_have_no_correlation() -> None:
    assert Moments(linear=-1.0, spread=1.0, sum=0.0).correlation == 0.0


def test_an_outcome_tells_what_was_asked() -> None:
    problem = small_table()
    deviation = np.zeros(problem.size, dtype=np.int64)
    (found,) = outcomes(targets_of(Keep(slope=S, mean=S), problem), deviation)
    assert set(found.asked) == {"mean", "slope"}
    assert (found.mean_off, found.slope, found.correlation) == (0, 1.0, 1.0)


def test_what_a_statistic_loses_has_its_price() -> None:
    problem = small_table()
    keep = Keep(slope=S, coefficients=Coefficients(change=1.0, correlation=0.0, slope=2.0, variance=0.0))
    targets = targets_of(keep, problem)
    objective = Objective(problem, targets, keep, cost=10.0)
    deviation = np.zeros(problem.size, dtype=np.int64)
    assert objective.lost(deviation) == 0
    deviation[targets[0].cells] = [10, -40, 15]
    slope = moments_of(targets[0], deviation[targets[0].cells]).slope
    assert objective.lost(deviation) == pytest.approx(2.0 * abs(slope - 1))
