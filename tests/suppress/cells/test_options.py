"""Options are checked at the door."""

from __future__ import annotations

import pytest

import statveil as sv
from statveil.suppress.cells.suppress import suppress_cells
from tests.suppress.cells.squares import INNER
from tests.suppress.cells.stories import grid

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"method": "magic"}, "Unknown method"), ({"sensitivity": 1}, "has its own levels"), ({"limits": 3}, "limits must be Limits")],
)
def test_what_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(sv.InputError, match=words):
        suppress_cells(grid(INNER, {0: 4}), **wrong)
