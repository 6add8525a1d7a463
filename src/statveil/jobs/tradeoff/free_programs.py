"""The programs of the front with the senses free: a binary column for each cell that may go either way (S1 section 3.4).

With few such cells they end in a second or so, at a table that no other choice of senses beats by more than the gap, as far as the pieces
at the last table tell; with more they are stopped by the clock, and what they found by then is as good as any.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.limits import Limits
from statveil.jobs.tradeoff.programs import FrontProgram
from statveil.protect.fixed_senses import FixedSenses
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions, slim
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel, LinearSolution


class FreeProgramTuning(NamedTuple):
    """For which tables, and how exact. By judgement."""

    most_choices: int = 150
    """Cells that may go either way,"""
    most_cells: int = 3_000
    """and cells, up to which a mixed-integer program finds anything in time."""
    gap: float = 1e-3
    """Relative gap at which a program ends."""


TUNING = FreeProgramTuning()


class FreeFrontProgram(FrontProgram):
    """Programs that choose the senses too; each begins with the senses of the table last given to `start_at`."""

    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target]) -> None:
        search = Search(dataclasses.replace(problem, norm="l1"), Limits(), 0, lambda _: None)
        self._disjunctions = Disjunctions(search)
        self._model = slim(search, self._disjunctions.model)
        self._start: IntArray | None = None
        dearer = np.where(problem.upper_level >= problem.lower_level, 1, -1) * problem.sensitive
        super().__init__(problem, targets, dearer.astype(np.int64))

    @staticmethod
    def suits(problem: ProtectionProblem) -> bool:
        return 0 < problem.choices.size <= TUNING.most_choices and problem.size <= TUNING.most_cells

    def start_at(self, deviation: IntArray) -> FreeFrontProgram:
        self._start = deviation
        return self

    def _begin(self) -> tuple[FixedSenses, LinearModel]:
        return self._disjunctions.fixed, self._model

    def _solve(self, model: LinearModel, seconds: float) -> LinearSolution:
        """From the senses of the table to start at: the solver completes them by a linear program."""
        from statveil.solve import highs

        start = None
        if self._start is not None:
            start = np.full(model.cost.size, np.nan)
            first = 2 * self.fixed.moving.size
            choice = self._disjunctions.choice
            start[first : first + choice.size] = self._start[choice] > 0
        return highs.solve(model, seconds=seconds, gap=TUNING.gap, start=start)
