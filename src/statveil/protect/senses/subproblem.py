"""The problem with only some senses open: the others keep theirs, and every amount stays free (S3 section 3, step 1.1)."""

from __future__ import annotations

import dataclasses

import numpy as np

from statveil.arrays import FloatArray, IntArray
from statveil.protect.exact import _Disjunctions
from statveil.protect.options import NO_LIMIT, Limits
from statveil.protect.problem import ProtectionProblem
from statveil.protect.reduce import Reduction, reduce_problem
from statveil.protect.search import Search


def open_choices(problem: ProtectionProblem) -> IntArray:
    """The cells that may go either way."""
    return np.flatnonzero(problem.can_go_up & problem.can_go_down)


def restrict(problem: ProtectionProblem, senses: IntArray, open_cells: IntArray) -> ProtectionProblem:
    """The problem in which all sensitive cells but the open ones are plain cells, bounded so that they keep their sense."""
    closed = problem.sensitive.copy()
    closed[open_cells] = False
    allowed = problem.allowed(np.where(closed, senses, 0))
    return dataclasses.replace(
        problem,
        lower=_plus(allowed.low, problem.value),
        upper=_plus(allowed.high, problem.value),
        sensitive=problem.sensitive & ~closed,
    )


def _plus(deviation: IntArray, value: IntArray) -> IntArray:
    """deviation + value, where a bound that stands for "none" stays so."""
    return np.where(np.abs(deviation) >= NO_LIMIT, deviation, deviation + value).astype(np.int64)


def improve_block(search: Search, open_cells: IntArray, *, seconds: float, gap: float = 0.0) -> bool:
    """Choose the senses of the open cells anew by branch and bound from the best table; tell whether it became better.

    Where all choices are open, what the solver proves holds for the problem itself, and its bound is offered.
    """
    from statveil.solve import highs

    assert search.best is not None, "a block step needs a table to start from"
    before, block = search.objective, _Block(search, open_cells, seconds)
    if block.program is None:
        return False
    solution = highs.solve(
        block.program.model,
        seconds=block.inner.seconds_left,
        gap=gap,
        start=block.program.columns(block.start),
        on_incumbent=lambda columns, _: block.offer(columns),
    )
    if solution.x is not None:
        block.offer(solution.x)
    if open_cells.size == open_choices(search.problem).size and search.problem.norm == "l1" and np.isfinite(solution.bound):
        search.offer_bound(block.program.in_costs(solution.bound) + block.reduction.fixed_cost)
    return search.objective < before


class _Block:
    """A block's program on the reduced subproblem, and the way back to the search."""

    def __init__(self, search: Search, open_cells: IntArray, seconds: float) -> None:
        assert search.best is not None
        self.search = search
        part = restrict(search.problem, search.problem.senses_of(search.best), open_cells)
        self.reduction = reduce_problem(dataclasses.replace(part, norm="l1"))
        self.start = contract(self.reduction, search.best)
        limits = Limits(seconds=max(min(seconds, search.seconds_left), 0.01))
        self.inner = Search(self.reduction.problem, limits, 0, lambda _: None)
        self.inner.offer(self.start)
        self.program = _Disjunctions(self.inner) if self.reduction.problem.size and self.inner.best is not None else None

    def offer(self, columns: FloatArray) -> None:
        """Offer the solver's table as it is; where it is not whole, the senses it shows."""
        assert self.program is not None
        amounts = np.rint(self.program.fixed.deviation(columns[: 2 * self.program.fixed.moving.size])).astype(np.int64)
        deviation = self.reduction.expand(amounts)
        problem = self.search.problem
        if problem.norm == "l1" and problem.accepts(deviation):
            self.search.offer(deviation)
        else:
            whole = self.reduction.expand(self._levels(self.program.senses(columns)))
            self.search.try_senses(problem.senses_of(whole))

    def _levels(self, senses: IntArray) -> IntArray:
        """Each cell at the end of its allowed amounts nearest to rest: enough to show the senses."""
        allowed = self.reduction.problem.allowed(senses)
        return np.clip(np.zeros_like(senses), allowed.low, allowed.high)


def contract(reduction: Reduction, deviation: IntArray) -> IntArray:
    """Deviations of the reduced cells that expand to these."""
    reduced = np.zeros(reduction.problem.size, dtype=np.int64)
    cells = np.flatnonzero(reduction.group >= 0)
    reduced[reduction.group[cells]] = (deviation - reduction.constant)[cells] * reduction.sign[cells]
    return reduced
