"""Adapter to MiniSat through python-sat: the only module that names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from pysat.solvers import Minisat22

from statveil.core.arrays import IntArray
from statveil.core.limits import Ending


class MiniSatTuning(NamedTuple):
    """How long MiniSat may think."""

    conflicts: int = 2_000_000
    """Work allowed to one call; a count and not a clock, so that the same clauses give the same answer. By judgement."""


TUNING = MiniSatTuning()


class Formula:
    """Clauses over the variables 1, 2, ...; literal -v means "not v". Clauses may be added between calls of `solve`."""

    def __init__(self) -> None:
        self._solver = Minisat22()

    def add(self, clause: Sequence[int]) -> None:
        self._solver.add_clause(list(clause))

    def prefer(self, literals: Iterable[int]) -> None:
        """The literals that a free decision makes true. A variable without one is decided false."""
        self._solver.set_phases(list(literals))

    def solve(self, *, conflicts: int = TUNING.conflicts) -> tuple[Ending, IntArray]:
        """FEASIBLE with literals that satisfy all clauses, INFEASIBLE, or OUT_OF_TIME when the conflicts allowed were too few."""
        self._solver.conf_budget(conflicts)
        satisfied = self._solver.solve_limited()
        if satisfied is None:
            return Ending.OUT_OF_TIME, np.zeros(0, dtype=np.int64)
        model = self._solver.get_model() if satisfied else []
        return Ending.FEASIBLE if satisfied else Ending.INFEASIBLE, np.array(model, dtype=np.int64)
