"""A small table like an office's, its costs on few cells."""

from __future__ import annotations

import pytest

from statveil.protect import search_state
from statveil.protect.bounds import branch_and_bound
from statveil.protect.presolve.reduce import reduce_problem
from statveil.protect.problem import ProtectionProblem
from statveil.protect.system import problem_of
from statveil_lab.generators.office import OfficeShape, office_system


def make_few_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large and many here is small enough for a test."""
    monkeypatch.setattr(search_state, "DEAR_CELLS", search_state.DEAR_CELLS._replace(choices=12, cells=(50, 60_000)))
    monkeypatch.setattr(branch_and_bound, "TUNING", branch_and_bound.TUNING._replace(most_cells=50))


def small_office(seed: int = 4) -> ProtectionProblem:
    system = office_system(OfficeShape(codes=(16, 20), inner=(4, 6), sensitive=15), seed=seed)
    return reduce_problem(problem_of(system)).problem
