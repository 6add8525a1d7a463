"""The suppression problem is checked when it is made, and its sums are exact at any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from statveil.core.errors import InfeasibleProblem, InputError
from statveil.suppress.cells.problem import keeps_sums
from tests.suppress.cells.stories import grid

SQUARE = grid([[5, 7], [11, 13]], {0: 2})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": SQUARE.cost[:-1]}, "one entry per cell"),
        ({"relations": csr_matrix((1, 3), dtype=np.int64)}, "one column per cell"),
        ({"cost": -SQUARE.cost}, "must not be below zero"),
        ({"lower": SQUARE.value + 1}, "must include its value"),
        ({"value": SQUARE.value + 2**53}, "too large to be computed exactly"),
    ],
)
def test_what_makes_no_problem_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(SQUARE, **change)


def test_who_knows_more_than_the_level_allows_cannot_be_kept_from_it() -> None:
    with pytest.raises(InfeasibleProblem, match="know more of cell 0 beforehand"):
        replace(SQUARE, lower=np.where(SQUARE.primary, SQUARE.value - 1, 0))


def test_what_is_suppressed_already_is_no_candidate_any_more() -> None:
    already = np.arange(9) == 4
    found = SQUARE.with_suppressed(already)
    assert found.hidden.tolist() == already.tolist()
    assert not found.candidate[4]


def test_a_frozen_cell_cannot_be_suppressed_already() -> None:
    with pytest.raises(InputError, match="must be published"):
        grid([[5, 7], [11, 13]], {0: 2}, frozen=[4]).with_suppressed(np.arange(9) == 4)


def test_sums_are_kept_or_not_in_integers_without_end() -> None:
    relation = csr_matrix(np.array([[1, 1, -1]]))
    large = 2**70
    assert keeps_sums(relation, np.array([large, 1, large + 1], dtype=object))
    assert not keeps_sums(relation, np.array([large, 1, large], dtype=object))
