"""`round_table`: every cell to a multiple of the base near it, every total still the sum of its parts."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from statveil.audit.classical.rounding import RoundingAsked, RoundingCase, RoundingProof, audit_rounding, proved_bound
from statveil.audit.report import AuditReport
from statveil.core.arrays import IntArray
from statveil.core.errors import AuditFailed, NoTableFound
from statveil.core.limits import Limits
from statveil.solve.processes import Call, run_isolated
from statveil.suppress.rounding.problem import RoundingProblem, rounding_problem
from statveil.suppress.rounding.programs import TUNING as PROGRAMS
from statveil.suppress.rounding.programs import is_whole, relaxed, whole
from statveil.tables.table import Table


class RoundingTuning(NamedTuple):
    """By judgement."""

    most_proved: int = 3_000
    """Cells up to which a proof by cases is tried."""
    most_cases: int = 400
    search_share: float = 0.85
    """Of the time; the rest is for the audit and the proof."""
    try_share: float = 0.7
    """Of what is left, for a distance where a longer one may be tried after it."""
    grace: float = 0.5
    """Seconds a search may overrun before it is ended."""
    most_steps: int = 4
    """How many bases further than one a cell may be sent where no closer table was found."""


TUNING = RoundingTuning()


@dataclass(frozen=True, kw_only=True)
class RoundedTable:
    """A rounded table, audited.

    released: in published units. asked: what it was to be. cost, bound: how far all cells move together, and the least that any table
    within the same steps does, in the table's own units. audit: the independent audit, which it passed. proof: of the bound.
    `proved`: cost and bound are equal, and the audit worked the bound out for itself.

    >>> import statveil as sv
    >>> table = sv.table_from_cells({"region": sv.Hierarchy.flat(["A", "B"])}, {("A",): 4, ("B",): 8})
    >>> rounded = round_table(table, 3)
    >>> rounded.cost, rounded.bound, rounded.asked.base
    (2, 2, 3)
    """

    released: IntArray = field(repr=False)
    asked: RoundingAsked
    cost: int
    bound: int
    audit: AuditReport = field(repr=False)
    proof: RoundingProof = field(repr=False)

    @property
    def proved(self) -> bool:
        return self.cost == self.bound

    @property
    def steps(self) -> int:
        return self.asked.steps

    @property
    def gap(self) -> float:
        return 1 - self.bound / self.cost if self.cost else 0.0


def round_table(table: Table, base: int, *, zero_restricted: bool = True, most_steps: int = 0, seconds: float = 60.0) -> RoundedTable:
    """Controlled rounding of one table, hierarchical or not, or of several linked ones.

    table: as `sv.tabulate` makes it. base: in published units. zero_restricted: a multiple of the base stays as it is; otherwise it may
        move by one base. A zero stays zero in any case.
    most_steps: where no table within one base is found, so many bases further are allowed, as few as possible.
    seconds: time limit; a longer one may prove more.

    Rounding hides a value only within the base, and less where totals narrow it down: it withstands no attacker who knows more. It does not
    look at sensitive cells.

    >>> import statveil as sv
    >>> table = sv.table_from_cells({"region": sv.Hierarchy.flat(["A", "B"])}, {("A",): 4, ("B",): 8})
    >>> rounded = round_table(table, 3)
    >>> sorted(rounded.released.tolist()), rounded.proved
    ([3, 9, 12], True)
    """
    seconds = Limits(seconds=seconds).seconds  # refused where it is none
    end = time.monotonic() + TUNING.search_share * seconds
    most = min(most_steps, TUNING.most_steps)
    for steps in range(most + 1):
        problem = rounding_problem(table, base, zero_restricted=zero_restricted, steps=steps)
        heard = _Heard(problem)
        left = max((end - time.monotonic()) * (1.0 if steps == most else TUNING.try_share), 0.1)
        teams: list[Call] = [(search_rounding, (problem, left))]
        if problem.value.size > TUNING.most_proved:
            teams.append((search_whole, (problem, left)))
        run_isolated(teams, seconds=left + TUNING.grace, on_message=heard.take)
        if heard.best is not None:
            return _audited(table, heard, RoundingAsked(base=int(base), zero_restricted=zero_restricted, steps=steps))
    raise NoTableFound(
        f"No additive table was found within {most_steps + 1} bases of every cell.",
        hint="Allow more steps (most_steps), do without zero restriction, or take more time.",
    )


class _Heard:
    """The cheapest table that the search told, and the last list of cases: of one that was stopped too."""

    def __init__(self, problem: RoundingProblem) -> None:
        self.problem = problem
        self.best: IntArray | None = None
        self.cases: tuple[RoundingCase, ...] = ()

    def take(self, news: IntArray | tuple[RoundingCase, ...]) -> None:
        if isinstance(news, tuple):
            self.cases = news
        elif self.problem.accepts(news) and (self.best is None or self._rank(news) < self._rank(self.best)):
            self.best = news

    def _rank(self, z: IntArray) -> tuple[int, bytes]:
        """The cheaper one; of equals the same whichever team spoke first."""
        return self.problem.cost(z), z.tobytes()


def search_rounding(problem: RoundingProblem, seconds: float, send: Callable[[Any], None]) -> None:
    """In a process of its own, because a solver does not always keep its time: tables as they are found, and the cases of the proof."""
    RoundingSearch(problem, time.monotonic() + seconds, send).run()


def search_whole(problem: RoundingProblem, seconds: float, send: Callable[[Any], None]) -> None:
    """Beside it, of large tables: tables at once, by the whole program, which says little of how good they are."""
    whole(problem, problem.low, problem.high, send, seconds=seconds)


def _audited(table: Table, heard: _Heard, asked: RoundingAsked) -> RoundedTable:
    problem, z = heard.problem, heard.best
    assert z is not None
    released = problem.released(z) // 10 ** (table.scale - table.decimals)
    report = audit_rounding(table, released, asked)
    if not report.passed:
        raise AuditFailed("The audit of the rounded table found faults.", hint=str(report))
    proof = RoundingProof(relations=problem.relations, scale=PROGRAMS.scale, cases=heard.cases)
    bound = min(proved_bound(table, asked, proof), problem.cost(z)) if proof.cases else 0
    return RoundedTable(released=released, asked=asked, cost=problem.cost(z), bound=bound, audit=report, proof=proof)


@dataclass(order=True)
class OpenCase:
    """A case whose bound is not high enough yet."""

    bound: int
    number: int
    case: RoundingCase = field(compare=False)
    branch: tuple[int, int] | None = field(compare=False)
    """The cell and the z to branch at; None where the relaxation was whole or impossible."""


class RoundingSearch:
    """Branch and bound on the relaxation, of large tables its root alone; cases carry the multipliers that prove them."""

    def __init__(self, problem: RoundingProblem, end: float, send: Callable[[Any], None] = lambda _: None) -> None:
        self.problem, self.end, self.send = problem, end, send
        self.best: IntArray | None = None
        self.open: list[OpenCase] = []
        self.made = 0

    @property
    def cases(self) -> list[RoundingCase]:
        return [each.case for each in sorted(self.open, key=lambda each: each.number)]

    def run(self) -> IntArray | None:
        self._solve(())
        self.send(tuple(self.cases))
        if self.best is None and self._left() > 0:
            self._near_the_relaxation()
        if self.problem.value.size <= TUNING.most_proved:
            self._branch()
            self.send(tuple(self.cases))
        return self.best

    def _left(self) -> float:
        return self.end - time.monotonic()

    def _bounds(self, narrowed: tuple[tuple[int, int, int], ...]) -> tuple[IntArray, IntArray]:
        low, high = self.problem.low.copy(), self.problem.high.copy()
        for cell, least, most in narrowed:
            low[cell], high[cell] = least, most
        return low, high

    def _solve(self, narrowed: tuple[tuple[int, int, int], ...]) -> bool:
        """Solve the relaxation of a case and put it on the list; whether the solver came to an end."""
        low, high = self._bounds(narrowed)
        found = relaxed(self.problem, low, high, seconds=max(self._left(), 0.1))
        if found is None:
            return False
        case = RoundingCase(narrowed=narrowed, multipliers=found.multipliers)
        branch = None
        if found.z is not None:
            self.relaxation = found.z
            self._offer(np.rint(found.z).astype(np.int64))
            apart = np.abs(found.z - np.rint(found.z))
            cell = int(np.argmax(apart))
            branch = (cell, int(np.floor(found.z[cell]))) if apart[cell] > PROGRAMS.near_whole else None
        heapq.heappush(self.open, OpenCase(self._bound(case, low, high), self.made, case, branch))
        self.made += 1
        return True

    def _bound(self, case: RoundingCase, low: IntArray, high: IntArray) -> int:
        """The same sum as the audit's; it only steers the search."""
        problem = self.problem
        pay = problem.relations.T @ case.multipliers
        ends = (low, high, np.clip(0, low, high), np.clip(1, low, high))
        least = np.minimum.reduce([PROGRAMS.scale * np.abs(problem.base * z - problem.rest) - pay * z for z in ends])
        total = int(least.astype(object).sum()) - int((pay.astype(object) * problem.floor.astype(object)).sum())
        return -(-total // PROGRAMS.scale)

    def _offer(self, z: IntArray | None) -> None:
        if z is not None and self.problem.accepts(z) and (self.best is None or self.problem.cost(z) < self.problem.cost(self.best)):
            self.best = z
            self.send(z)

    def _near_the_relaxation(self) -> None:
        """What the relaxation left whole stays, the rest is settled in whole numbers; where that is impossible, all is."""
        low, high = self._bounds(())
        if hasattr(self, "relaxation"):
            settled, z = is_whole(self.relaxation), np.rint(self.relaxation).astype(np.int64)
            near = np.where(settled, z, low), np.where(settled, z, high)
            if whole(self.problem, *near, self._offer, seconds=self._left() / 4):
                return
        whole(self.problem, low, high, self._offer, seconds=max(self._left(), 0.1))

    def _branch(self) -> None:
        """Best first, until the bound of every case meets the best table."""
        while self.open and self._left() > 0 and self.made < TUNING.most_cases:
            worst = self.open[0]
            if worst.branch is None or (self.best is not None and worst.bound >= self.problem.cost(self.best)):
                return
            heapq.heappop(self.open)
            cell, k = worst.branch
            low, high = self._bounds(worst.case.narrowed)
            rest = tuple(each for each in worst.case.narrowed if each[0] != cell)
            halves = ((cell, int(low[cell]), k), (cell, k + 1, int(high[cell])))
            solved = [self._solve((*rest, half)) for half in halves]
            if not all(solved):
                self.open = [each for each in self.open if each.case.narrowed[-1:] not in [(half,) for half in halves]]
                heapq.heapify(self.open)
                heapq.heappush(self.open, worst)
                return
