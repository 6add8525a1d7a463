"""Method `modular`: time is shared among simple tables."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from statveil.suppress.cells.methods.modular import TUNING, _Modular
from statveil.suppress.cells.methods.shape import shape_of_parents
from statveil.suppress.cells.options import ModularOptions
from tests.suppress.cells.stories import grid

FLAT = np.array([3, 3, 3, -1])
SQUARE = replace(grid([[20, 50, 10], [8, 19, 22], [17, 32, 12]], {4: 1}), shapes=(shape_of_parents([FLAT, FLAT]),))


@pytest.mark.parametrize(("left", "share"), [(1, 100.0), (2, 100.0), (30, 10.0)])
def test_a_simple_table_may_take_three_even_shares_and_never_more_than_is_left(left, share):
    run = _Modular(SQUARE, SQUARE.shapes, ModularOptions(minutes=60), time.monotonic() + 100)
    assert run._share(left) == pytest.approx(share, abs=1)


def test_when_the_time_is_up_a_table_has_a_moment_still():
    assert _Modular(SQUARE, SQUARE.shapes, ModularOptions(), time.monotonic() - 5)._share(3) == TUNING.least_seconds
