"""Suppress a table or a linear system within limits: which cells are not published so that no sensitive one can be worked out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray
from statveil.core.errors import AuditFailed, InputError, OutOfTime
from statveil.core.limits import Ending, Limits, OnProgress, Progress, check_kind, known
from statveil.formats.system import LinearSystem
from statveil.risk.sensitivity import Sensitivity
from statveil.solve.processes import Call, run_isolated
from statveil.suppression.build import problem_of_system, problem_of_table
from statveil.suppression.classes import ClassSystem, Need, classes_of
from statveil.suppression.heuristic import Proof
from statveil.suppression.methods.auto import PatternNews, run_guided, run_plain
from statveil.suppression.methods.optimal import run_optimal
from statveil.suppression.options import METHODS, SuppressionOptions
from statveil.suppression.pattern import SuppressionPattern, Witness, cost_of, witness_holds
from statveil.suppression.problem import COST_UNITS, SuppressionProblem
from statveil.tables.table import Table

CHECKING_SHARE = 0.1
"""Of the time, kept for checking all witnesses. By judgement."""
GRACE = 600.0
"""Seconds after the limit at which a process that has not told a pattern is killed: half a pattern is none."""


def suppress(
    table: Table | LinearSystem | SuppressionProblem,
    sensitivity: Sensitivity | None = None,
    method: str = "auto",
    *,
    options: SuppressionOptions | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> SuppressionPattern:
    """The cheapest safe pattern that the method finds within the limits, with a lower bound on the cost of any.

    A table comes with its sensitivity; a linear system or a problem has its own. The work is done in processes; what they say is
    checked here: every primary cell has a witness in whole numbers for each level, or nothing is answered.
    """
    options = SuppressionOptions() if options is None else options
    limits = Limits() if limits is None else limits
    check_kind("options", options, SuppressionOptions)
    check_kind("limits", limits, Limits)
    known("method", method, METHODS)
    if method not in RUNS:
        raise InputError(f"Method {method!r} is not available yet.", hint=f"Choose one of: {', '.join(RUNS)}.")
    run = _Run(_problem(table, sensitivity, options), method, options, limits, on_progress)
    return run.answer()


def _problem(
    source: Table | LinearSystem | SuppressionProblem, sensitivity: Sensitivity | None, options: SuppressionOptions
) -> SuppressionProblem:
    if isinstance(source, Table):
        check_kind("sensitivity", sensitivity, Sensitivity)
        assert sensitivity is not None
        return problem_of_table(source, sensitivity, options)
    if sensitivity is not None:
        raise InputError("A linear system has its own levels.", hint="Leave the sensitivity out.")
    return problem_of_system(source, options) if isinstance(source, LinearSystem) else source


RUNS: dict[str, Sequence[Callable[..., None]]] = {"auto": (run_guided, run_plain), "optimal": (run_optimal,)}
"""What each method runs, side by side."""


class _Run:
    """One run: hears patterns, keeps the cheapest that holds."""

    def __init__(
        self, problem: SuppressionProblem, method: str, options: SuppressionOptions, limits: Limits, on_progress: OnProgress | None
    ) -> None:
        self.problem, self.method, self.options, self.limits, self.tell = problem, method, options, limits, on_progress
        self.began = time.monotonic()
        self.best: tuple[int, BoolArray, dict[Need, Proof]] | None = None
        self.bound = 0

    def hear(self, news: PatternNews) -> None:
        self.bound = max(self.bound, news.bound)
        if news.suppressed is not None and news.proofs is not None:
            cost = int(self.system.cost[news.suppressed].sum())
            if self.best is None or cost < self.best[0]:
                self.best = (cost, news.suppressed, news.proofs)
        if self.tell is not None:
            seconds = time.monotonic() - self.began
            objective = float("inf") if self.best is None else self.best[0] / COST_UNITS
            self.tell(Progress(news.stage, seconds, objective, self.bound / COST_UNITS, max(0.0, self.limits.seconds - seconds)))

    def answer(self) -> SuppressionPattern:
        self.system: ClassSystem = classes_of(self.problem)
        if not self.system.needs:
            return self._pattern(self.system.free, {}, 0)
        seconds = max(self.limits.seconds * (1 - CHECKING_SHARE), 0.1)
        calls: list[Call] = [(function, (self.system, seconds)) for function in RUNS[self.method]]
        run_isolated(calls, seconds=seconds + GRACE, on_message=self.hear)
        if self.best is None:
            raise OutOfTime("No safe pattern was found in the time given.", hint="Give more time. Nothing was released.")
        return self._pattern(self.best[1], self.best[2], self.bound)

    def _pattern(self, classes: BoolArray, proofs: dict[Need, Proof], bound: int) -> SuppressionPattern:
        problem = self.problem
        suppressed = self.system.cells(classes) & ~problem.hidden | problem.primary
        witnesses = tuple(self._witness(need, proof) for need, proof in proofs.items() if need.known < 0)
        self._check(suppressed, witnesses)
        cost, certified = cost_of(problem, suppressed), bound / COST_UNITS
        return SuppressionPattern(
            primary=problem.primary.copy(),
            secondary=suppressed & ~problem.primary,
            cost=cost,
            certified_bound=min(certified, cost),
            ending=Ending.OPTIMAL if cost <= certified else Ending.FEASIBLE,
            promised="interval",
            method=self.method,
            seed=self.options.seed,
            seconds=time.monotonic() - self.began,
            raw_secondary=int(np.count_nonzero(suppressed & ~problem.primary)),
            witnesses=witnesses,
            problem=problem,
        )

    def _witness(self, need: Need, proof: Proof) -> Witness:
        """In cells: of the primary cell of the class that asks for most in this sense."""
        support, move = proof
        by_class: dict[int, Any] = {int(number): amount for number, amount in zip(support, move, strict=True) if amount}
        cells = np.flatnonzero(np.isin(self.system.of_cell, list(by_class)))
        own = by_class[need.target] * need.sense
        moves = np.array(
            [by_class[int(self.system.of_cell[c])] * int(self.system.sign[c]) * (1 if own > 0 else -1) for c in cells], dtype=object
        )
        mine = np.flatnonzero(self.problem.primary & (self.system.of_cell == need.target))
        cell = int(mine[0])
        return Witness(cell, need.sense * int(self.system.sign[cell]), need.amount, cells, moves)

    def _check(self, suppressed: BoolArray, witnesses: tuple[Witness, ...]) -> None:
        """Every need of the reduced problem has a witness that holds in the cells themselves; else nothing is answered."""
        shown = {
            (int(self.system.of_cell[each.cell]), each.sense * int(self.system.sign[each.cell]), each.level)
            for each in witnesses
            if witness_holds(self.problem, suppressed, each)
        }
        missing = [need for need in self.system.needs if (need.target, need.sense, need.amount) not in shown]
        if missing:
            raise AuditFailed(f"A pattern was found, but {len(missing)} protection levels could not be shown exactly. Nothing is released.")
