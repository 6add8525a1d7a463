"""Every pattern is audited before it is believed, and mended where a reader could still tell."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.audit.patterns.pattern import KnowingReader
from statveil.suppress.cells.suppress import suppress_cells
from tests.suppress.cells.squares import INNER
from tests.suppress.cells.stories import grid, of_arrays

pytestmark = pytest.mark.slow


def test_a_respondent_who_is_alone_does_not_recover_another():
    lone = grid(INNER, {0: 4, 1: 10}, single=(0,))
    found = suppress_cells(lone, None, "auto")
    assert np.count_nonzero(found.suppressed[:4]) >= 3  # two would do against outsiders: the first would then give the second away
    assert np.count_nonzero(suppress_cells(grid(INNER, {0: 4, 1: 10}), None, "optimal").suppressed[:4]) == 2


def test_what_the_audit_finds_for_a_reader_is_mended():
    problem = grid(INNER, {0: 4})
    plain = suppress_cells(problem, None, "optimal")
    partner = int(np.flatnonzero(plain.secondary[:4])[0])
    reader = KnowingReader(name="a holding", cells=np.array([partner]), least=problem.value[[partner]], alone=np.array([True]))
    found = suppress_cells(problem, None, "optimal", readers=[reader])
    assert found.repairs == 1
    assert found.cost > plain.cost
    assert found.audit.passed


def test_a_single_respondent_beside_a_sensitive_cell_and_a_frozen_total_is_refused():
    relations, value = np.array([[1, 1, -1]]), np.array([5, 7, 12])
    with pytest.raises(sv.AuditFailed, match="to a singleton"):
        suppress_cells(of_arrays(relations, value, {0: 1, 1: 1}, single=(0,), frozen=(2,)), None, "auto")
