"""Measures of loss: zero where nothing changed, by hand where something did, and a user's own kept from the table."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.core.errors import InputError
from statveil.protect.keep.tabu.measures import LAID_OUT, PLAIN, ShownCells, chi_square, distance, gini, measure_named, ranks

TRUE = np.array([10.0, 20.0, 30.0, 40.0])


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_nothing_is_lost_where_nothing_changed(name: str) -> None:
    assert measure_named(name)(TRUE, TRUE) == pytest.approx(0)


def test_two_neighbours_that_change_places() -> None:
    """Spearman's rank correlation of 1, 3, 2, 4 with 1, 2, 3, 4 is 0.8."""
    assert ranks(TRUE, TRUE[[0, 2, 1, 3]]) == pytest.approx(0.2)
    assert gini(TRUE, TRUE[[0, 2, 1, 3]]) == pytest.approx(0)


def test_the_distance_is_chi_square_in_shares_of_the_sum() -> None:
    assert distance(TRUE, TRUE + np.array([1.0, 0, 0, -2.0])) == pytest.approx((1 / 10 + 4 / 40) / 100)


def test_a_layout_may_leave_positions_out_and_names_cells_that_exist() -> None:
    measure = chi_square([[0, 1], [2, -1]])
    assert measure(TRUE, TRUE) == 0
    with pytest.raises(InputError, match="names a cell that does not exist"):
        chi_square([[0, 9]])(TRUE, TRUE)


@pytest.mark.parametrize("name", sorted(LAID_OUT))
def test_two_way_measures_by_name_alone_need_a_table(name: str) -> None:
    assert measure_named(name).two_way
    with pytest.raises(InputError, match="need a two-way table"):
        measure_named(name)(TRUE, TRUE)


def test_cells_that_no_reader_sees_are_left_out() -> None:
    assert ShownCells(distance, 2)(TRUE, TRUE + np.array([0, 0, 5.0, 5.0])) == 0


def test_the_words_of_a_function_that_fails_are_not_repeated() -> None:
    def tells(true: np.ndarray, released: np.ndarray) -> float:
        raise RuntimeError(f"cell 0 is {true[0]}")

    with pytest.raises(InputError, match="'tells' ended in an error: RuntimeError") as failure:
        measure_named(tells)(TRUE, TRUE)
    assert "10" not in str(failure.value)


def test_an_unknown_measure_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown measure 'beauty'") as failure:
        measure_named("beauty")
    assert "gini" in failure.value.hint
