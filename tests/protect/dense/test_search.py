"""The search on a full table, part by part."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect.dense.search import DenseSearch, DenseTable, Stage
from statveil.solve.tensors import Tensors


def table(*, exact: bool = False) -> DenseTable:
    """2 x 2 with the first row sensitive at level 4; the first cell cannot fall."""
    level = np.array([[4, 4], [0, 0]])
    sensitive = level > 0
    falls = np.array([[False, True], [False, False]])
    return DenseTable(
        weight=np.ones((3, 3)),
        low=np.full((2, 2), -10),
        high=np.full((2, 2), 10),
        sensitive=sensitive,
        up=level,
        down=np.where(falls, level, 0),
        can_rise=sensitive,
        can_fall=falls,
        exact=exact,
    )


def test_how_far_cells_may_move_under_their_senses() -> None:
    senses = np.array([[1, -1], [0, 0]])
    low, high = table().ranges(senses)
    assert low.tolist() == [[4, -10], [-10, -10]]
    assert high.tolist() == [[10, -4], [10, 10]]
    low, high = table(exact=True).ranges(senses)
    assert low[0].tolist() == high[0].tolist() == [4, -4]


def test_the_first_table_raises_all_and_margins_pay_for_it() -> None:
    search = DenseSearch(Tensors(0), table(), seconds=600, say=lambda stage: None)
    assert search.found.tolist() == [[4, 4], [0, 0]]
    assert search.cost == 4 + 4 + 8 + 4 + 4 + 8  # two cells, their row, two columns, the grand total
    assert search.bound == 8  # sensitive cells alone


@pytest.mark.parametrize("exact", [False, True])
def test_the_best_table_is_found_and_proved_near(exact: bool) -> None:
    """One up and one down cost 8, and 8 more where the columns take it up: in their other cell, or in their totals."""
    told: list[Stage] = []
    search = DenseSearch(Tensors(0), table(exact=exact), seconds=600, say=told.append)
    search.run(tries=2, sweeps=20)
    assert search.cost == 16
    assert 8 <= search.bound <= 16 + 1e-6
    assert told[0].name == "first table"
    assert told[-1].name == "bound"
