from __future__ import annotations

import numpy as np

from statveil.risk.rules import MinimumFrequency, PPercent
from statveil.serve.singles import lowest_published, single_level


def test_the_level_of_a_record_alone_is_that_of_the_strictest_rule() -> None:
    value = np.array([1, 5, 1000])
    assert single_level(value, 0, [PPercent(10), MinimumFrequency(3, level=20)]).tolist() == [1, 1, 200]
    assert single_level(value, 0, []).tolist() == [0, 0, 0]


def test_a_record_that_cannot_fall_or_has_risen_is_never_published_low() -> None:
    """One must rise, by twice its level at the most; five has risen to six; a thousand goes down and may go to one."""
    value, level, reference = np.array([1, 5, 1000]), np.array([1, 1, 100]), np.array([0, 6, 870])
    assert lowest_published(value, level, reference, smallest=1, cap=2.0).tolist() == [3, 6, 1]
    assert lowest_published(np.array([1, 1]), np.array([1, 0]), np.array([0, 0]), smallest=3, cap=2.0).tolist() == [3, 3]
