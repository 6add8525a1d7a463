"""Hypercubes: wider ones, and single respondents as corners."""

from __future__ import annotations

import pytest

from statveil.suppress.cells.options import HypercubeOptions, SuppressionOptions
from statveil.suppress.cells.suppress import suppress_cells
from tests.suppress.cells.methods.cubes import shaped


@pytest.mark.slow
def test_wider_cubes_take_more_cells_and_the_widest_there_are_will_do():
    def with_ratio(ratio):
        return suppress_cells(shaped({4: 1}), None, "hypercube", options=SuppressionOptions(hypercube=HypercubeOptions(ratio=ratio)))

    narrow, wide, never = with_ratio(0.1), with_ratio(1.5), with_ratio(1e6)
    assert narrow.secondary.sum() == 3
    assert wide.secondary.sum() > 3
    assert never.audit.passed  # the ratio is lowered until a cube has it


@pytest.mark.slow
def test_a_single_respondent_is_a_corner_of_two_cubes():
    lone = shaped({0: 1}, single=(0,))
    twice = suppress_cells(lone, None, "hypercube", options=SuppressionOptions(singletons=False))
    once = suppress_cells(lone, None, "hypercube", options=SuppressionOptions(hypercube=HypercubeOptions(singleton=False)))
    assert (int(once.secondary.sum()), int(twice.secondary.sum())) == (3, 5)
