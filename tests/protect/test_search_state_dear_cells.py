"""Tables whose costs lie on few cells are told from those of equal costs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from statveil.protect import search_state
from statveil.protect.bounds import branch_and_bound
from statveil.protect.search import choose
from tests.protect.search.offices import make_few_few, small_office


@pytest.fixture
def few_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    make_few_few(monkeypatch)


@pytest.mark.usefixtures("few_are_few")
def test_an_offices_table_goes_to_the_teams_for_dear_cells_and_one_of_equal_costs_does_not() -> None:
    problem = small_office()
    assert problem.choices.size > 12
    assert choose.roles_for(problem) == ["cases", "program"]
    assert branch_and_bound.fits(problem)
    even = dataclasses.replace(problem, weight=1 / np.maximum(problem.upper_level, 1.0))
    assert not search_state.costs_on_few(even)
    assert choose.roles_for(even) != ["cases", "program"]
