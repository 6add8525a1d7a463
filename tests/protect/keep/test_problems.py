"""Problems changed for what is to be kept: wider caps."""

from __future__ import annotations

import numpy as np

from statveil.protect.keep.problems import with_cap
from statveil.protect.options import NO_LIMIT
from tests.protect.keep.tables import small_table


def test_wider_caps_keep_levels_and_signs() -> None:
    problem = small_table(variant="exact")
    assert with_cap(problem, 3).lower[0] == 100 - 30
    assert with_cap(small_table(), 3).lower[0] == 100 - 50  # its bounds let it fall by half already
    narrow = small_table(variant="exact", lower=np.zeros(12, dtype=np.int64) + small_table().value, upper=small_table().value)
    wide = with_cap(narrow, 3)
    assert (wide.lower[0], wide.upper[0]) == (70, 130)
    assert (wide.lower_level == narrow.lower_level).all()
    assert wide.lower[1] == narrow.lower[1]
    assert with_cap(narrow, 20).lower[4] == 1


def test_exact_cells_without_a_bound_have_the_cap_as_theirs() -> None:
    free = np.full(12, NO_LIMIT)
    wide = with_cap(small_table(variant="exact", upper=free, lower=-free), 1.5)
    assert (wide.lower[0], wide.upper[0]) == (85, 115)
    assert wide.upper[1] == NO_LIMIT
    assert with_cap(small_table(upper=free), 1.5).upper[0] == NO_LIMIT  # it could go anywhere before
