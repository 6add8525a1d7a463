"""An audit that has never refused proves nothing: each fault is planted, and found by the check that is there for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from statveil.audit.answers import AnswerEvidence, audit_answer
from statveil.data.hierarchy import Hierarchy
from statveil.tables.spec import Dimension

REGION = Dimension(name="region", trees=(Hierarchy.from_dict({"N": ["N1", "N2"], "S": None}),))
TRADE = Dimension(name="trade", trees=(Hierarchy.flat(["food", "metal"]),))
TRUE = [[190, 110, 80], [160, 80, 80], [100, 80, 20], [60, 0, 60], [30, 30, 0]]
"""Rows Total, N, N1, N2, S; columns Total, food, metal."""
RELEASED = [[185, 110, 75], [155, 80, 75], [95, 80, 15], [60, 0, 60], [30, 30, 0]]


def evidence() -> AnswerEvidence:
    sense = np.zeros((5, 3), np.int64)
    sense[2, 2] = -1  # metal in N1 is one smith: 20, down by 2 or more
    level = np.zeros((5, 3), np.int64)
    level[2, 2] = 2
    return AnswerEvidence(
        dimensions=(REGION, TRADE),
        places=np.array([[2, 2, 2, 3, 4], [1, 1, 2, 2, 1]]),
        amounts=np.array([50, 30, 20, 60, 30]),
        true=np.array(TRUE),
        released=np.array(RELEASED),
        sense=sense,
        level=level,
    )


def failed(given: AnswerEvidence) -> list[str]:
    report = audit_answer(given)
    assert report.passed == (not [check for check in report.checks if not check.passed])
    return [check.name for check in report.checks if not check.passed]


def put(array: np.ndarray, place: tuple[int, int], value: int) -> np.ndarray:
    changed = array.copy()
    changed[place] = value
    return changed


def test_a_safe_answer_passes() -> None:
    assert failed(evidence()) == []
    assert [check.checked for check in audit_answer(evidence()).checks] == [15, 15, 1, 15]


def test_a_table_that_is_not_the_records_is_found() -> None:
    assert failed(replace(evidence(), true=put(np.array(TRUE), (4, 1), 31))) == ["sums"]


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 1), (4, 1)])
def test_one_unit_too_many_is_found(place: tuple[int, int]) -> None:
    assert failed(replace(evidence(), released=put(np.array(RELEASED), place, RELEASED[place[0]][place[1]] + 1))) == ["additivity"]


def test_one_unit_short_of_the_level_is_found() -> None:
    assert failed(replace(evidence(), level=put(evidence().level, (2, 2), 6))) == ["protection"]
    assert failed(replace(evidence(), level=put(evidence().level, (2, 2), 5))) == []


def test_a_move_in_the_other_sense_or_none_at_all_is_found() -> None:
    assert failed(replace(evidence(), sense=put(evidence().sense, (2, 2), 1))) == ["protection"]
    still = replace(evidence(), released=np.array(TRUE), level=np.zeros((5, 3), np.int64))
    assert failed(still) == ["protection"]


def test_a_value_without_records_is_found() -> None:
    risen = np.array(RELEASED)
    risen[[0, 1, 3], 1] += 1
    risen[[0, 1, 3], 0] += 1
    assert failed(replace(evidence(), released=risen)) == ["zeros"]


def test_a_cell_that_vanishes_is_found() -> None:
    """T18: unless somebody has less than nothing, for then a sum of zero tells nothing."""
    gone = np.array(RELEASED)
    gone[2, 2], gone[1, 2], gone[0, 2] = 0, 60, 60
    gone[2, 0], gone[1, 0], gone[0, 0] = 80, 140, 170
    assert failed(replace(evidence(), released=gone)) == ["zeros"]
    losses = replace(evidence(), released=gone, amounts=np.array([50, 30, 20, 60, 30, 10, -10]))
    assert failed(replace(losses, places=np.array([[2, 2, 2, 3, 4, 4, 4], [1, 1, 2, 2, 1, 1, 1]]))) == []
