"""The relaxed recoding problem as a sum of small tables, priced by hand."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.records.recode import relaxation
from statveil.records.recode.relaxation import RelaxedProblem, _packing

PROBLEM = RelaxedProblem(
    places=[(0,), (0, 1)],
    tables=[np.array([6.0, 0.0]), np.array([[5.0, 3.0, 0.0], [2.0, 1.0, 0.0]])],
    costs=[np.array([0.0, 4.0]), np.array([0.0, 1.0, 7.0])],
)
"""Two fields of two and three levels; the weight that stays unsafe, of the first alone and of both."""


def test_a_recoding_costs_itself_and_the_weight_it_leaves_unsafe() -> None:
    assert PROBLEM.price((0, 0)) == 6 + 5
    assert PROBLEM.price((1, 1)) == 4 + 1 + 0 + 1
    assert PROBLEM.price((1, 2)) == 4 + 7


def test_all_at_once_are_each_alone() -> None:
    every = PROBLEM.everywhere()
    assert every is not None
    assert every.shape == (2, 3)
    assert {levels: every[levels] for levels in np.ndindex(2, 3)} == {levels: PROBLEM.price(levels) for levels in np.ndindex(2, 3)}


def test_too_many_recodings_are_not_priced_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxation, "TUNING", relaxation.TUNING._replace(most_enumerated=5))
    assert PROBLEM.everywhere() is None


def test_weights_fill_what_a_blank_costs_and_never_more() -> None:
    """Two combinations share the first unit (cost 3); the second one holds the other unit (cost 1) too: together at most 3."""
    value = _packing([0, 0, 1], [0, 1, 1], 2, np.array([3.0, 1.0]), seconds=60)
    assert value.sum() == pytest.approx(3)
    assert value.sum() <= 3
    assert value[1] <= 1
