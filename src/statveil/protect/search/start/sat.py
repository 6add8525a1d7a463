"""A feasible start by satisfiability (S3 section 3.1): no relation may bear a combination of senses that it cannot.

Each combination that a relation forbids is a clause, and MiniSat looks for senses that respect them all. That is necessary, not
sufficient: when the fixed-sense program is infeasible all the same, its multipliers add relations up to one that
shows why, and what this sum forbids among the senses tried becomes new clauses. Every clause follows from the relations
in exact integers, so if no senses are left, there is no table. Should the clauses not lead to a table, a mixed-integer program
looks for one, near the senses that failed, and stops at the first.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.outcome import Ending
from statveil.protect.fixed_senses import FixedSenses
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.start import balance
from statveil.protect.search.start.forbidden import Combination, Forbidden
from statveil.protect.search.state import Search
from statveil.solve.model import LinearModel

if TYPE_CHECKING:
    from statveil.solve.highs import WarmProgram

ROUNDS = 100
CLAUSES_PER_ROUND = 20
FIRST_FOUND = 1e9
"""A gap that any table meets, so that branch and bound stops at its first."""


def run(search: Search, *, annealed: bool = False, rounds: int = ROUNDS) -> None:
    """Method `sat`: MiniSat's senses, near the start given (or near annealed ones), priced by one program."""
    search.enter("satisfying relations")
    phases = balance.anneal_senses(search, start=search.start) if annealed else search.start
    find_feasible(search, phases, rounds=rounds)


def begin(search: Search) -> None:
    """A first table for methods that need one: by the start given if it is feasible, else by `sat`."""
    if search.start is not None:
        search.try_senses(search.start)
    if search.best is None:
        run(search)


def find_feasible(search: Search, phases: IntArray | None = None, *, rounds: int = ROUNDS) -> IntArray | None:
    """Senses with a table, which is offered: clauses and programs in turn, then a mixed-integer program, unless a table is known."""
    clauses, programs = _Senses(search.problem), _Violation(search.program)
    senses = None
    for _ in range(rounds):
        found = clauses.solve(phases)
        if found is None or search.seconds_left <= 0:
            break
        senses = found
        if search.try_senses(senses):
            return senses
        duals = programs.multipliers(senses, seconds=search.seconds_left)
        if duals is None and search.best is not None:  # feasible, but no better than what is known
            return senses
        clauses.learn(duals, senses)
    if clauses.exhausted:
        search.prove_infeasible()
        return None
    if search.best is not None:
        return None
    return _nearest_feasible(search, balance.all_up(search.problem) if senses is None else senses)


class _Senses:
    """The clauses known so far. `exhausted` once they exclude every choice: then no table exists."""

    def __init__(self, problem: ProtectionProblem) -> None:
        from statveil.solve.sat import Formula

        self.problem, self.forbidden, self.formula = problem, Forbidden(problem), Formula()
        self.exhausted, self._proved = False, True
        self.cells = np.flatnonzero(self.forbidden.choice)
        for combination in self.forbidden.by_relation():
            self._forbid(combination)
        for cell in self.cells.tolist():  # names every cell, so that the answer has it
            self.formula.add([cell + 1, -cell - 1])

    def _forbid(self, combination: Combination) -> None:
        self.formula.add([-literal for literal in combination])

    def solve(self, phases: IntArray | None) -> IntArray | None:
        """Senses that respect the clauses, near the phases where the choice is free, forced ones included; None: there are none."""
        if phases is not None:
            self.formula.prefer(((self.cells + 1) * phases[self.cells]).tolist())
        ending, literals = self.formula.solve()
        self.exhausted = ending is Ending.INFEASIBLE and self._proved
        if ending is not Ending.FEASIBLE:
            return None
        senses = balance.all_up(self.problem)
        chosen = np.zeros(self.problem.size + 1, dtype=np.int64)
        chosen[np.abs(literals)] = np.sign(literals)
        senses[self.cells] = chosen[self.cells + 1]
        return senses

    def learn(self, duals: FloatArray | None, senses: IntArray) -> None:
        """Exclude these senses: by what the sum of the relations, with the multipliers made whole, forbids among them."""
        factors = np.zeros(self.problem.rhs.size, dtype=np.int64) if duals is None else _whole(duals)
        summed = np.asarray(self.problem.relations.T @ factors, dtype=np.int64)
        cells = np.flatnonzero(summed)
        right = sum(int(factor) * int(amount) for factor, amount in zip(factors, self.problem.residual, strict=True) if factor)
        found = [*islice(self.forbidden.of(cells, summed[cells], right, among=senses), CLAUSES_PER_ROUND)]
        for combination in found:
            self._forbid(combination)
        if not found:  # no whole table was found, but no multipliers show why
            self._proved = False
            self._forbid(tuple(((self.cells + 1) * senses[self.cells]).tolist()))


def _whole(duals: FloatArray) -> IntArray:
    """Multipliers as small integers in nearly the same proportions. Any integers give a valid sum."""
    size = np.abs(duals)
    kept = np.where(size > 1e-7, duals, 0.0)
    smallest = float(size[size > 1e-7].min(initial=1.0))
    if np.abs(kept / smallest - np.rint(kept / smallest)).max(initial=0.0) < 1e-6:
        return np.rint(kept / smallest).astype(np.int64)
    return np.rint(kept * 2.0**16).astype(np.int64)


class _Violation:
    """How far the relations must be broken once the senses are fixed: least sum of excess and shortfall, and its multipliers."""

    def __init__(self, program: FixedSenses) -> None:
        self.program = program

    @cached_property
    def _model(self) -> LinearModel:
        program = self.program
        count, moving = program.residual.size, program.moving.size
        give = identity(count, format="csr")
        return LinearModel(
            cost=np.concatenate([np.zeros(2 * moving), np.ones(2 * count)]),
            matrix=csr_matrix(hstack([program.matrix, give, -give])),
            row_lower=program.residual,
            row_upper=program.residual,
            lower=np.zeros(2 * (moving + count)),
            upper=np.full(2 * (moving + count), np.inf),
        )

    @cached_property
    def _warm(self) -> WarmProgram:
        from statveil.solve.highs import WarmProgram

        return WarmProgram(self._model, first="simplex")

    def multipliers(self, senses: IntArray, *, seconds: float) -> FloatArray | None:
        """None when nothing need be broken."""
        lower, upper = self.program.column_bounds(self.program.problem.allowed(senses))
        count = 2 * self.program.residual.size
        solution = self._warm.solve(
            np.concatenate([lower, np.zeros(count)]), np.concatenate([upper, np.full(count, np.inf)]), seconds=seconds
        )
        if solution.ending is Ending.OPTIMAL and solution.objective <= 1e-7:
            return None
        return np.zeros(count // 2) if solution.row_duals is None else solution.row_duals


def _nearest_feasible(search: Search, senses: IntArray) -> IntArray | None:
    """The fallback of S3: branch and bound up to its first table, drawn to the senses given by counting the changes."""
    from statveil.solve import highs

    search.enter("looking for a first table")
    program = Disjunctions(search)
    changes = np.where(senses[program.choice] > 0, -1.0, 1.0)
    cost = np.concatenate([np.zeros(program.model.cost.size - changes.size), changes])
    solution = highs.solve(dataclasses.replace(program.model, cost=cost), seconds=search.seconds_left, gap=FIRST_FOUND)
    if solution.x is not None:
        found = program.senses(solution.x)
        search.try_senses(found)
        return found
    if solution.ending is Ending.INFEASIBLE and not program.truncated:
        search.prove_infeasible()
    return None
