"""Controlled rounding: the closest additive table, equal to what trying all of them finds."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.core.errors import InputError
from statveil.suppress.rounding import round_table as rounding
from statveil.suppress.rounding.problem import rounding_problem
from statveil.suppress.rounding.round_table import RoundingSearch, round_table
from statveil.tables.table import Table
from tests.suppress.rounding.rounded import grid


def least_cost(table: Table, base: int, *, zero_restricted: bool, steps: int = 0) -> int | None:
    """All tables that there are: the cells within the margins settle the rest, so try them all."""
    problem = rounding_problem(table, base, zero_restricted=zero_restricted, steps=steps)
    spans = [range(low, high + 1) for low, high in zip(problem.low.tolist(), problem.high.tolist(), strict=True)]
    costs = [problem.cost(np.array(z)) for z in itertools.product(*spans) if problem.accepts(np.array(z))]
    return min(costs, default=None)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=4, max_size=4), st.sampled_from([2, 3, 5, 10]), st.booleans())
def test_the_closest_of_all_tables_is_found_and_proved(values: list[int], base: int, zero_restricted: bool) -> None:
    table = grid((2, 2), values)
    rounded = round_table(table, base, zero_restricted=zero_restricted)
    assert rounded.audit.passed
    assert rounded.proved
    assert rounded.cost == least_cost(table, base, zero_restricted=zero_restricted)


@pytest.mark.slow
def test_a_tree_of_codes_is_rounded_on_every_level() -> None:
    tree = sv.Hierarchy(total="T", parent={"N": "T", "S": "T", "n1": "N", "n2": "N", "s1": "S", "s2": "S"})
    table = sv.table_from_cells({"region": tree}, {("n1",): 4, ("n2",): 4, ("s1",): 1, ("s2",): 4})
    rounded = round_table(table, 3)
    assert sorted(table.value.tolist()) == [1, 4, 4, 4, 5, 8, 13]
    assert sorted(rounded.released.tolist()) in (
        [0, 3, 3, 3, 3, 6, 9],
        [0, 3, 3, 6, 6, 6, 12],
        [0, 3, 3, 6, 3, 9, 12],
        [0, 3, 3, 3, 6, 9, 12],
    )
    assert rounded.proved


def test_a_search_that_is_stopped_leaves_what_it_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table is audited; without its cases nothing is claimed of how good it is."""

    def stopped(calls: Any, *, seconds: float, on_message: Callable[[Any], None]) -> None:
        ((_, (problem, _)),) = calls
        heard: list[Any] = []
        RoundingSearch(problem, time.monotonic() + 60, heard.append).run()
        on_message(next(each for each in heard if not isinstance(each, tuple)))

    monkeypatch.setattr(rounding, "run_isolated", stopped)
    rounded = round_table(grid((2, 2), [1, 2, 3, 4]), 3)
    assert rounded.audit.passed
    assert rounded.bound == 0 < rounded.cost
    assert not rounded.proved


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="seconds must be a positive number"):
        round_table(grid((2, 2), [1, 2, 3, 4]), 3, seconds=0)
