"""`suppress_cells`: which cells are not published so that no sensitive one can be worked out, within limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.pattern import KnowingReader, PatternAudit
from statveil.core.arrays import BoolArray
from statveil.core.errors import AuditFailed, InputError, OutOfTime
from statveil.core.limits import Ending, Limits, OnProgress, Progress, check_kind, known
from statveil.formats.system import LinearSystem
from statveil.risk.sensitivity import Sensitivity
from statveil.solve.processes import Call, run_isolated
from statveil.suppress.cells.auto import PatternNews, run_guided, run_plain, run_repair
from statveil.suppress.cells.build import problem_of_system, problem_of_table
from statveil.suppress.cells.classes import ClassSystem, Need, classes_of
from statveil.suppress.cells.gate import audit_suppression, needs_of, sums_of
from statveil.suppress.cells.heuristic import Proof
from statveil.suppress.cells.methods.runs import check_method, run_elimination, run_hypercube, run_modular, run_network
from statveil.suppress.cells.optimal import run_optimal
from statveil.suppress.cells.options import BY_TABLES, EXACT_ONLY, METHOD_NAMES, SuppressionOptions
from statveil.suppress.cells.pattern import CellSuppression, LevelWitness, cost_of, witness_holds
from statveil.suppress.cells.problem import COST_UNITS, SuppressionProblem
from statveil.tables.table import Table


class SuppressTuning(NamedTuple):
    """By judgement."""

    search_share: float = 0.85
    """Of the time; the rest is for the audit."""
    grace: float = 2.0
    """Seconds a child may overrun before it is killed."""
    repairs: int = 5
    """How often a pattern that the audit found fault with is mended."""


TUNING = SuppressTuning()
RUNS: dict[str, Sequence[Callable[..., None]]] = {"auto": (run_plain, run_guided), "optimal": (run_optimal,)}
"""What each method runs, side by side."""
BY_RULES: dict[str, Callable[..., None]] = {
    "hypercube": run_hypercube,
    "modular": run_modular,
    "network": run_network,
    "elimination": run_elimination,
}
"""Methods with rules of their own, which look at the cells and not only at their classes."""


def suppress_cells(
    source: Table | LinearSystem | SuppressionProblem,
    sensitivity: Sensitivity | None = None,
    method: str = "auto",
    *,
    options: SuppressionOptions | None = None,
    readers: Sequence[KnowingReader] = (),
    already: BoolArray | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> CellSuppression:
    """The cheapest safe pattern that the method finds within the limits, with a lower bound on the cost of any.

    source, sensitivity: a table comes with its sensitivity; a linear system has its own. method: `auto`; `optimal`, which goes on
        until its bound meets its pattern; `hypercube`, `modular` and `network` by their own rules, mended where these leave something open;
        `elimination`, which keeps sensitive cells from being known exactly and promises nothing of intervals.
    readers: respondents, holdings or coalitions who know part of the table; sensitive cells of others are kept from them too.
    already: cells that are suppressed in any case, at no cost, because somebody decided so: secondary ones of the answer.
    options, limits, on_progress: what cells cost and what readers know; when to stop; whom to tell.

    Every pattern passes the independent audit of docs/audit.md, or none is answered.

    >>> import statveil as sv
    >>> trees = {"area": sv.Hierarchy.flat(["A", "B", "C"]), "trade": sv.Hierarchy.flat(["x", "y", "z"])}
    >>> codes = [(area, trade) for area in "ABC" for trade in "xyz"]
    >>> table = sv.table_from_cells(trees, dict(zip(codes, [20, 50, 10, 8, 19, 22, 17, 32, 12])))
    >>> rule = sv.rules.Manual([sv.rules.ManualCell(cell={"area": "B", "trade": "x"}, status="sensitive")], level=50)
    >>> found = suppress_cells(table, sv.rules.assess(table, [rule]), "optimal")
    >>> int(found.suppressed.sum()), found.cost, found.ending.value
    (4, 3.0, 'optimal')
    """
    options = SuppressionOptions() if options is None else options
    limits = Limits() if limits is None else limits
    check_kind("options", options, SuppressionOptions)
    check_kind("limits", limits, Limits)
    known("method", method, METHOD_NAMES)
    problem = _problem(source, sensitivity, options, shaped=method in BY_TABLES)
    if already is not None:
        problem = problem.with_suppressed(already)
    check_method(problem, method)
    if method in EXACT_ONLY:
        problem = _without_levels(problem, readers)
    sums = sums_of(source) if isinstance(source, Table) else None
    given = np.zeros_like(problem.primary) if already is None else already & ~problem.primary
    run = _SuppressionRun(problem, _Asked(method, options, limits, tuple(readers), sums, given), on_progress)
    return run.answer()


def _problem(
    source: Table | LinearSystem | SuppressionProblem, sensitivity: Sensitivity | None, options: SuppressionOptions, *, shaped: bool
) -> SuppressionProblem:
    if isinstance(source, Table):
        check_kind("sensitivity", sensitivity, Sensitivity)
        assert sensitivity is not None
        return problem_of_table(source, sensitivity, options, shaped=shaped)
    if sensitivity is not None:
        raise InputError("A linear system has its own levels.", hint="Leave the sensitivity out.")
    if isinstance(source, LinearSystem):
        return problem_of_system(source, options)
    check_kind("source", source, SuppressionProblem)
    return source


def _without_levels(problem: SuppressionProblem, readers: Sequence[KnowingReader]) -> SuppressionProblem:
    """The same cells, none of which must be hidden but from being known exactly."""
    if readers:
        raise InputError("Elimination promises nothing to readers who know part of the table.", hint="Take another method, or no readers.")
    none = np.zeros_like(problem.value)
    return replace(problem, lower_level=none, upper_level=none)


class _Asked(NamedTuple):
    method: str
    options: SuppressionOptions
    limits: Limits
    readers: tuple[KnowingReader, ...]
    sums: csr_matrix | None
    already: BoolArray


class _SuppressionRun:
    """One run: hears patterns, keeps the cheapest, has it audited and mended."""

    def __init__(self, problem: SuppressionProblem, asked: _Asked, on_progress: OnProgress | None) -> None:
        self.problem, self.asked, self.tell = problem, asked, on_progress
        self.began = time.monotonic()
        self.best: tuple[int, BoolArray, dict[Need, Proof]] | None = None
        self.bound, self.own = 0, -1

    def answer(self) -> CellSuppression:
        self.system: ClassSystem = classes_of(self.problem)
        self.best = None if self.system.needs else (int(self.system.cost[self.system.free].sum()), self.system.free, {})
        if self.best is None:
            self._search()
        repairs = 0
        while True:
            assert self.best is not None
            suppressed = self._cells(self.best[1])
            audit = audit_suppression(self.problem, suppressed, sums=self.asked.sums, readers=self.asked.readers)
            if audit.passed:
                return self._pattern(suppressed, audit, repairs)
            repairs += 1
            self._repair(audit, repairs)

    def _search(self) -> None:
        seconds = max(self.asked.limits.seconds * TUNING.search_share, 0.1)
        asked = self.asked
        calls: list[Call] = [(function, (self.system, seconds)) for function in RUNS.get(asked.method, ())]
        if asked.method in BY_RULES:
            calls.append((BY_RULES[asked.method], (self.problem, self.system, asked.options, seconds)))
        run_isolated(calls, seconds=seconds + TUNING.grace, on_message=self._hear)
        if self.best is None:
            raise OutOfTime("No safe pattern was found in the time given.", hint="Give more time. Nothing was released.")

    def _hear(self, news: PatternNews) -> None:
        self.bound, self.own = max(self.bound, news.bound), max(self.own, news.own)
        if news.suppressed is not None and news.proofs is not None:
            cost = int(self.system.cost[news.suppressed].sum())
            if self.best is None or (cost, news.suppressed.tobytes()) < (self.best[0], self.best[1].tobytes()):  # whoever speaks first
                self.best = (cost, news.suppressed, news.proofs)
        if self.tell is not None:
            seconds = time.monotonic() - self.began
            objective = float("inf") if self.best is None else self.best[0] / COST_UNITS
            left = max(0.0, self.asked.limits.seconds - seconds)
            self.tell(Progress(news.stage, seconds, objective, self.bound / COST_UNITS, left))

    def _repair(self, audit: PatternAudit, attempt: int) -> None:
        """Meet what the audit asks for beyond what was met; refused where that is nothing new, or too often."""
        assert self.best is not None
        _, suppressed, proofs = self.best
        new = tuple(need for need in needs_of(audit, self.system, self.asked.readers) if need not in proofs)
        if not new or attempt > TUNING.repairs:
            kinds = ", ".join(sorted({str(each.kind) for each in audit.faults}))
            raise AuditFailed(
                f"The audit found {len(audit.faults)} faults that more suppression does not mend ({kinds}). Nothing is released.",
                hint="Free frozen cells near sensitive ones, or ask for less.",
            )
        self.best = None
        left = max(self.asked.limits.seconds - (time.monotonic() - self.began), TUNING.grace)
        run_isolated([(run_repair, (self.system, suppressed, proofs, new))], seconds=left, on_message=self._hear)
        if self.best is None:
            raise OutOfTime("The time was up before a pattern was mended.", hint="Give more time. Nothing was released.")

    def _cells(self, classes: BoolArray) -> BoolArray:
        return np.asarray(self.system.cells(classes) & ~self.problem.hidden | self.problem.primary)

    def _pattern(self, suppressed: BoolArray, audit: PatternAudit, repairs: int) -> CellSuppression:
        assert self.best is not None
        problem, asked = self.problem, self.asked
        exact_only = asked.method in EXACT_ONLY
        witnesses = () if exact_only else tuple(self._witness(need, proof) for need, proof in self.best[2].items() if not need.known)
        if not exact_only:
            self._check(suppressed, witnesses)
        cost, certified = cost_of(problem, suppressed), self.bound / COST_UNITS
        return CellSuppression(
            primary=problem.primary.copy(),
            secondary=(suppressed | asked.already) & ~problem.primary,
            cost=cost,
            certified_bound=min(certified, cost),
            ending=Ending.OPTIMAL if cost <= certified else Ending.FEASIBLE,
            method=asked.method,
            seed=asked.options.seed,
            seconds=time.monotonic() - self.began,
            witnesses=witnesses,
            problem=problem,
            audit=audit,
            repairs=repairs,
            promise="exact values" if exact_only else "intervals",
            by_rules=None if self.own < 0 else self.own,
        )

    def _witness(self, need: Need, proof: Proof) -> LevelWitness:
        """In cells: of the first primary cell of the class."""
        support, move = proof
        by_class: dict[int, Any] = {int(number): amount for number, amount in zip(support, move, strict=True) if amount}
        cells = np.flatnonzero(np.isin(self.system.of_cell, list(by_class)))
        turn = 1 if by_class[need.target] * need.sense > 0 else -1
        moves = np.array([by_class[int(self.system.of_cell[c])] * int(self.system.sign[c]) * turn for c in cells], dtype=object)
        cell = int(np.flatnonzero(self.problem.primary & (self.system.of_cell == need.target))[0])
        return LevelWitness(cell, need.sense * int(self.system.sign[cell]), need.amount, cells, moves)

    def _check(self, suppressed: BoolArray, witnesses: tuple[LevelWitness, ...]) -> None:
        """Every need of the reduced problem has a witness that holds in the cells themselves; else nothing is answered."""
        shown = {
            (int(self.system.of_cell[each.cell]), each.sense * int(self.system.sign[each.cell]), each.level)
            for each in witnesses
            if witness_holds(self.problem, suppressed, each)
        }
        missing = [need for need in self.system.needs if (need.target, need.sense, need.amount) not in shown]
        if missing:
            raise AuditFailed(f"A pattern was found, but {len(missing)} protection levels could not be shown exactly. Nothing is released.")
