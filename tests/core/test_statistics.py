"""Statistics before and after, by hand and against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core import statistics as st
from statveil.core.errors import InputError


def test_figures_of_five_cells_by_hand() -> None:
    found = st.statistics_of(np.array([1, 2, 3, 4, 10]), np.array([2, 2, 3, 3, 10]))
    assert found.mean == (4.0, 4.0)
    assert found.variance == (10.0, 9.2)
    assert found.variance_ratio == pytest.approx(0.92)
    assert found.slope == pytest.approx(47 / 50)  # sum (a - 4)(x - 4) = 6 + 4 + 1 + 0 + 36
    assert found.correlation == pytest.approx(0.94 / np.sqrt(0.92))
    assert found.intercept == pytest.approx(4 - 0.94 * 4)
    assert (found.total_change, found.largest_change) == (2.0, 1.0)
    assert dict(found.quantiles)[0.5] == (3.0, 3.0)
    assert found.top == (5, 5, 1)  # of the two threes the earlier cell counts as the larger


def test_nothing_changed_loses_nothing() -> None:
    values = np.array([5, 1, 7, 7])
    found = st.statistics_of(values, values)
    assert (found.correlation, found.slope, found.rank_correlation, found.variance_ratio) == pytest.approx((1, 1, 1, 1))
    assert found.gini.before == found.gini.after


def test_weights_count_a_cell_several_times() -> None:
    heavy = st.statistics_of(np.array([1, 5]), np.array([2, 5]), weights=np.array([3, 1]))
    listed = st.statistics_of(np.array([1, 1, 1, 5]), np.array([2, 2, 2, 5]))
    assert (heavy.mean, heavy.variance, heavy.slope) == (listed.mean, listed.variance, listed.slope)


def test_a_subset_by_numbers_or_marks() -> None:
    true, released = np.array([1, 2, 30]), np.array([1, 3, 30])
    marked = st.statistics_of(true, released, subset=np.array([True, True, False]))
    assert marked == st.statistics_of(true, released, subset=[0, 1])
    assert marked.cells == 2


def test_independence_has_no_chi_square() -> None:
    assert st.chi_square_of(np.array([[10, 20], [30, 60]])) == pytest.approx(0)
    assert st.chi_square_of(np.array([[10, 0], [0, 10]])) == pytest.approx(20)
    assert st.cramers_v_of(np.array([[10, 0], [0, 10]])) == pytest.approx(1)
    assert (st.chi_square_of(np.zeros((2, 2))), st.cramers_v_of(np.zeros((2, 2)))) == (0, 0)
    both = st.statistics_of(np.array([10, 0, 0, 10]), np.array([5, 5, 5, 5]), rows=np.array([0, 0, 1, 1]), columns=np.array([0, 1, 0, 1]))
    assert both.chi_square == (pytest.approx(20), pytest.approx(0))
    assert both.cramers_v == (pytest.approx(1), pytest.approx(0))


def test_gini_of_equals_and_of_one_giant() -> None:
    assert st.gini_of(np.array([3, 3, 3])) == pytest.approx(0)
    assert st.gini_of(np.array([0, 0, 0, 9])) == pytest.approx(0.75)
    assert st.gini_of(np.zeros(3)) == 0


def test_ranks_of_equal_values_are_shared() -> None:
    assert st.ranks_of(np.array([10, 20, 20, 5])).tolist() == [2, 3.5, 3.5, 1]


def test_cells_that_do_not_vary() -> None:
    same, other = np.array([4, 4]), np.array([4, 6])
    assert (st.correlation_of(same, same), st.correlation_of(same, other), st.slope_of(same, other)) == (1, 0, 1)
    assert st.BeforeAfter(0, 0).ratio == 1
    assert st.BeforeAfter(0, 1).ratio == float("inf")


def test_variables_against_one_another() -> None:
    x, y = np.array([1.0, 2, 3, 5]), np.array([2.0, 3, 7, 8])
    assert st.correlations([x, y])[0, 1] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert st.slopes([x, y])[0, 1] == pytest.approx(np.polyfit(x, y, 1)[0])
    assert st.distance_of(np.array([4, 0, 10]), np.array([6, 3, 10])) == 1


@pytest.mark.parametrize(
    ("true", "released", "more"),
    [([1, 2], [1], {}), ([1], [1], {"subset": []}), ([1], [1], {"weights": [-1]}), ([1], [1], {"weights": [0]})],
)
def test_what_has_no_statistics_is_refused(true: list[int], released: list[int], more: dict[str, list[int]]) -> None:
    with pytest.raises(InputError):
        st.statistics_of(np.array(true), np.array(released), **{key: np.array(each, dtype=np.int64) for key, each in more.items()})
