"""Elimination: exact values are hidden, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from statveil.suppress.cells.suppress import suppress_cells
from tests.reference.suppression import is_safe
from tests.suppress.cells.stories import grid


@pytest.mark.slow
def test_elimination_hides_exact_values_and_promises_no_more():
    narrow = grid([[20, 50, 1], [8, 19, 1], [1, 1, 12]], {0: 15})
    found = suppress_cells(narrow, None, "elimination")
    assert found.promise == "exact values"
    assert not found.witnesses
    assert not is_safe(narrow, found.suppressed)  # what others promise
    assert is_safe(replace(narrow, lower_level=narrow.value * 0, upper_level=narrow.value * 0), found.suppressed)
    assert suppress_cells(narrow, None, "auto").secondary.sum() >= found.secondary.sum()
