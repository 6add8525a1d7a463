"""A feasible start by satisfiability (S3 section 3.1): no relation may bear a combination of senses that it cannot.

Each combination that a relation forbids is a clause, and MiniSat looks for senses that respect them all. That is necessary, not
sufficient: when the fixed-sense program is infeasible all the same, its multipliers add relations up to one that
shows why, and what this sum forbids among the senses tried becomes new clauses. Every clause follows from the relations
in exact integers, so if no senses are left, there is no table. Should the clauses not lead to a table, the mixed-integer program
is solved up to its first one, warm-started with the senses that failed (S3); where that finds none in half of the time, the same program
with the number of senses changed as its cost (ours).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.fixed_senses import FixedSenses
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import Interval, ProtectionProblem
from statveil.protect.search.exact import Disjunctions
from statveil.protect.search.local import anneal
from statveil.protect.search_state import Search
from statveil.solve.model import LinearModel

if TYPE_CHECKING:
    from statveil.solve.highs import WarmProgram

Combination = tuple[int, ...]
"""Senses as signed numbers: cell + 1 for up, -(cell + 1) for down."""


class SatTuning(NamedTuple):
    """Work limits of the search for a feasible start; all by judgement."""

    rounds: int = 100  # of clauses and programs
    clauses_per_round: int = 20
    literals_per_relation: int = 20_000
    """Long relations with many like cells have endless combinations; the first, which are the shortest, are kept."""


TUNING = SatTuning()
FIRST_FOUND = 1e9
"""A gap that any table meets, so that branch and bound stops at its first."""


def run(search: Search, *, annealed: bool = False, rounds: int = TUNING.rounds) -> None:
    """Method `sat`: MiniSat's senses, near the start given (or near annealed ones), priced by one program."""
    search.enter("satisfying relations")
    phases = anneal.anneal_senses(search, start=search.start) if annealed else search.start
    find_feasible(search, phases, rounds=rounds)


def begin(search: Search) -> None:
    """A first table for methods that need one: by the start given if it is feasible, else by `sat`."""
    if search.start is not None:
        search.try_senses(search.start)
    if search.best is None:
        run(search)


def find_feasible(search: Search, phases: IntArray | None = None, *, rounds: int = TUNING.rounds) -> IntArray | None:
    """Senses with a table, which is offered: clauses and programs in turn, then a mixed-integer program, unless a table is known."""
    clauses, programs = _SenseClauses(search.problem), _LeastViolation(search.program)
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
    return _nearest_feasible(search, search.problem.all_up() if senses is None else senses)


class _SenseClauses:
    """The clauses known so far. `exhausted` once they exclude every choice: then no table exists."""

    def __init__(self, problem: ProtectionProblem) -> None:
        from statveil.solve.sat import Formula

        self.problem, self.forbidden, self.formula = problem, ForbiddenCombinations(problem), Formula()
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
        senses = self.problem.all_up()
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
        found = [*islice(self.forbidden.of(cells, summed[cells], right, among=senses), TUNING.clauses_per_round)]
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


class _LeastViolation:
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
    """The fallback of S3: branch and bound up to its first table, with these senses as its warm start; ours after it: near them."""
    from statveil.solve import highs

    program = Disjunctions(search)
    near = np.where(senses[program.choice] > 0, 1.0, 0.0)
    start = np.concatenate([np.full(program.model.cost.size - near.size, np.nan), near])
    changes = dataclasses.replace(program.model, cost=np.concatenate([np.zeros(start.size - near.size), 1 - 2 * near]))
    for stage, model, share in (("looking for a first table", program.model, 0.5), ("looking near the senses that failed", changes, 1.0)):
        search.enter(stage)
        solution = highs.solve(model, seconds=share * search.seconds_left, gap=FIRST_FOUND, start=start)
        if solution.ending is Ending.INFEASIBLE and not program.truncated:
            search.prove_infeasible()
            return None
        found = None if solution.x is None else program.senses(solution.x)
        if found is not None and search.try_senses(found):
            return found
    return None


class Term(NamedTuple):
    """What a cell's harsher sense (the literal) adds to the least sum of its relation."""

    extra: float
    literal: int


class ForbiddenCombinations:
    """Finds the combinations of senses that relations of a problem, or sums of them, cannot bear (S3 section 3.1, first phase; eqs 5-7).

    With senses chosen, the terms of a relation lie between a least and a most. When their least sum is above the right-hand side, or
    their most below it, the senses cannot stand together. S3 walks from the worst combination by single changes and prunes what
    fits. The same is done here on the cells that matter alone: with every cell at its milder sense there is some slack; harsher
    senses eat it, in order of size; a branch that cannot eat it all is pruned. So one short combination stands for all
    longer ones that contain it, and the same choices are forbidden. All sums are exact integers.
    """

    def __init__(self, problem: ProtectionProblem) -> None:
        self._matrix = problem.relations
        self._residual = problem.residual
        self.choice = problem.can_go_up & problem.can_go_down
        forced = (problem.sensitive & ~self.choice) * (2 * problem.can_go_up.astype(int) - 1)
        self._has_choice: list[bool] = self.choice.tolist()
        self._free, self._up, self._down = (_ends(interval) for interval in (problem.allowed(forced), problem.up, problem.down))

    def by_relation(self) -> Iterator[Combination]:
        """The combinations that single relations forbid."""
        matrix = self._matrix
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            cells = matrix.indices[part]
            if self.choice[cells].any():
                yield from within(TUNING.literals_per_relation, self.of(cells, matrix.data[part], int(self._residual[row])))

    def of(self, cells: AnyArray, factors: AnyArray, right: int, *, among: IntArray | None = None) -> Iterator[Combination]:
        """All minimal combinations that  sum factor z = right  forbids; only such as these senses show, when `among` is given."""
        literals = None if among is None else {(cell + 1) * int(among[cell]) for cell in cells.tolist()}
        for turn in (1, -1):  # "at most the right-hand side", then "at least" as its mirror image
            terms = list(zip(cells.tolist(), (turn * factors).tolist(), strict=True))
            yield from self._too_much(terms, turn * right, literals)

    def _too_much(self, terms: list[tuple[int, int]], right: int, among: set[int] | None) -> Iterator[Combination]:
        least: float = 0
        needed: list[int] = []  # senses without which the least sum has no end
        extras: list[Term] = []
        for cell, factor in terms:
            mild, harsh = self._least_terms(cell, factor)
            closed = among is not None and harsh.literal not in among
            if mild.extra == -_ENDLESS and (closed or harsh.extra == -_ENDLESS):
                return
            if mild.extra == -_ENDLESS:
                needed.append(harsh.literal)
                least += harsh.extra
            else:
                least += mild.extra
                if not closed and harsh.extra > mild.extra:
                    extras.append(Term(harsh.extra - mild.extra, harsh.literal))
        for combination in minimal_covers(extras, right - least):
            yield (*needed, *combination)

    def _least_terms(self, cell: int, factor: int) -> tuple[Term, Term]:
        """The least that factor * z can be in the milder and in the harsher sense (the same twice, where there is no choice)."""
        end = 0 if factor > 0 else 1
        if not self._has_choice[cell]:
            only = Term(factor * self._free[end][cell], 0)
            return only, only
        up, down = Term(factor * self._up[end][cell], cell + 1), Term(factor * self._down[end][cell], -cell - 1)
        return (up, down) if up.extra <= down.extra else (down, up)


def minimal_covers(terms: list[Term], slack: float) -> Iterator[Combination]:
    """Every set of terms that exceeds the slack and would not without any one of its members.

    Terms are taken largest first, so the last one taken is the smallest: a set is complete, and minimal, once it exceeds.
    A branch is entered only if all that is left would exceed; so each one ends in a set, and none is wasted.
    """
    if slack < 0:
        yield ()
        return
    terms = sorted(terms, key=lambda term: (-term.extra, abs(term.literal)))
    left = [*accumulate((term.extra for term in reversed(terms)), initial=0)][::-1]
    taken: list[int] = []
    total: float = 0
    at = 0
    while True:
        if total + left[at] > slack:
            total += terms[at].extra
            taken.append(at)
            if total > slack:
                yield tuple(terms[k].literal for k in taken)
                total -= terms[taken.pop()].extra
            at += 1
        elif taken:
            at = taken.pop()
            total -= terms[at].extra
            at += 1
        else:
            return


def within(literals: int, combinations: Iterator[Combination]) -> Iterator[Combination]:
    """The combinations until so many literals have been spent."""
    for combination in combinations:
        yield combination
        literals -= len(combination)
        if literals <= 0:
            return


_ENDLESS = float("inf")


def _ends(interval: Interval) -> tuple[list[float], list[float]]:
    """Low and high ends as exact Python integers, infinite where there is no limit."""
    low = [-_ENDLESS if end <= -NO_LIMIT // 2 else end for end in interval.low.tolist()]
    high = [_ENDLESS if end >= NO_LIMIT // 2 else end for end in interval.high.tolist()]
    return low, high
