"""The mixed-integer program: what it claims about a truncated problem is no bound."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.protect import exact
from statveil.protect.options import Limits
from statveil.protect.search import Found, Search
from tests.protect.problems import problem_of


def test_a_truncated_program_proves_neither_a_bound_nor_infeasibility(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bounds and without a table a cell's reach is a guess: all that is forced together.

    Here a thousandth of the first cell's change must be met by a cell that would have to move a thousand times as far.
    """
    problem = problem_of([10, 10_000], [[1000, -1]], levels={0: 4})
    heard: list[Found] = []
    search = Search(problem, Limits(seconds=10), 0, heard.append)
    monkeypatch.setattr(exact.balance, "run", lambda _: None)  # no table to start from
    program = exact.Disjunctions(search)
    assert program.truncated
    exact.solve_exactly(search)
    assert not any(found.infeasible for found in heard)
    assert search.bound == 0


def test_with_a_table_every_reach_has_an_end() -> None:
    problem = problem_of([10, 20, 30, 60], [[1, 1, 1, -1]], levels={0: 4})
    search = Search(problem, Limits(seconds=10), 0, lambda _: None)
    search.offer(np.array([4, -4, 0, 0]))
    assert not exact.Disjunctions(search).truncated
    exact.solve_exactly(search)
    assert search.bound == pytest.approx(8)
