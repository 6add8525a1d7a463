"""Polygons that know capacities (docs/science.md, section 4, "capacity-aware polygon"): where totals are sensitive or bounds bind.

Each cell's rise and fall are variables of their own, so that the relations themselves can be kept beside the polygons: what goes up
must come down elsewhere, and no cell falls below its bound. The multipliers of relations and cuts give the bound by weak duality.
The program is solved for the whole table, or for the coarse one ("a bound for the coarse model"). The multipliers of the latter hold
for the whole table: a merged relation's goes to each of the relations merged in it, a cut is the same cut there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import SizeCuts, broken_polygons, least_sizes
from statveil.protect.network.bounds import TUNING
from statveil.protect.network.bounds.cover_bound import Shortage, cover_right_sides
from statveil.protect.network.coarse_table import Coarsening
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers
from statveil.solve.model import LinearModel, LinearSolution


class _RiseFallProgram:
    """min weight (rise + fall), these relations kept, cuts on rise + fall, every sensitive cell in the hull of its two senses."""

    def __init__(self, problem: ProtectionProblem, relations: IntArray, weight: FloatArray, cuts: SizeCuts) -> None:
        self.problem, self.relations, self.weight, self.cuts = problem, relations, weight, cuts
        levels = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
        self.unit = max(float(np.median(levels)), 1.0) if levels.size else 1.0
        self.price = 1.0 / float(np.median(problem.weight)) if problem.size else 1.0
        self.last: FloatArray | None = None
        """The point of the last solution."""

    def solve(self, seconds: float, *, crossover: bool) -> LinearSolution:
        from statveil.solve import highs

        options = highs.EXACTING if crossover else highs.NO_CROSSOVER
        solution = highs.solve(self.model(), seconds=seconds, algorithm="ipm", options=options)
        self.last = solution.x
        return solution

    def thinned(self) -> _RiseFallProgram:
        """The program with those cuts alone that are near what the last solution needs, and all covers: settled senses raise those."""
        if self.last is None:
            return self
        rise, fall = np.split(self.last, 2)
        cuts, size = self.cuts, rise + fall
        slack = np.asarray(cuts.matrix @ size) - cuts.rhs / self.unit
        near = slack <= TUNING.near * np.asarray(abs(cuts.matrix) @ size)
        return _RiseFallProgram(self.problem, self.relations, self.weight, cuts.some(np.flatnonzero(near | (cuts.cell == COVER))))

    def model(self) -> LinearModel:
        """Rises of all cells, then falls. Rows: the relations, the cuts, the hulls of sensitive cells."""
        problem, unit = self.problem, self.unit
        relations, cuts, hull = problem.relations[self.relations].astype(np.float64), self.cuts.matrix, senses_hull(problem, unit)
        right = problem.residual[self.relations] / unit
        lower = np.concatenate([right, self.cuts.rhs / unit, np.ones(hull.shape[0])])
        least = np.concatenate([np.maximum(problem.free.low, 0), np.maximum(-problem.free.high, 0)])
        most = np.concatenate([np.maximum(problem.free.high, 0), np.maximum(-problem.free.low, 0)]).astype(np.float64)
        return LinearModel(
            cost=np.tile(self.weight * self.price, 2),
            matrix=vstack([hstack([relations, -relations]), hstack([cuts, cuts]), hull], format="csr"),
            row_lower=lower,
            row_upper=np.concatenate([right, np.full(lower.size - right.size, np.inf)]),
            lower=least / unit,
            upper=np.where(most >= NO_LIMIT // 2, np.inf, most / unit),
        )

    def multipliers(self, duals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of the relations, and of the cuts, in the problem's own costs."""
        count = self.relations.size
        return duals[:count] / self.price, np.maximum(duals[count : count + self.cuts.rhs.size], 0.0) / self.price


def senses_hull(problem: ProtectionProblem, unit: float) -> csr_matrix:
    """rise / upper level + fall / lower level >= 1 for each sensitive cell, amounts in `unit`s; a closed sense counts for nothing."""
    cell = np.flatnonzero(problem.sensitive)
    rise = np.where(problem.can_go_up[cell], unit / np.maximum(problem.up.low[cell], 1), 0.0)
    fall = np.where(problem.can_go_down[cell], unit / np.maximum(-problem.down.high[cell], 1), 0.0)
    places = (np.tile(np.arange(cell.size), 2), np.concatenate([cell, cell + problem.size]))
    return csr_matrix((np.concatenate([rise, fall]), places), shape=(cell.size, 2 * problem.size))


class CasesProgram(NamedTuple):
    """A program to be solved under many cases of senses: the cell of the whole table that each of its cells is (of merged ones any), the
    relation of each cut there, and how multipliers of its rows become some for the whole table."""

    program: _RiseFallProgram
    cells: IntArray
    relation: IntArray
    in_whole_table: Callable[[FloatArray], DualMultipliers]


class CapacityProgram:
    """The bound of the whole table: cuts are added in rounds. `kept` are relations from which the others follow."""

    def __init__(self, problem: ProtectionProblem, kept: IntArray, shortage: Shortage, cuts: DualMultipliers) -> None:
        self.problem, self.shortage = problem, shortage
        self.program = _RiseFallProgram(problem, kept, problem.weight, self._cuts_of(cuts))

    def _cuts_of(self, multipliers: DualMultipliers) -> SizeCuts:
        """The cuts to begin with, whatever their amounts."""
        relation, cell = multipliers.cut_relation, multipliers.cut_cell
        own = np.flatnonzero(cell != COVER)
        rows = abs(self.problem.relations[relation]).astype(np.float64)
        back = csr_matrix((np.full(own.size, 2.0), (own, cell[own])), shape=rows.shape)
        cover = cover_right_sides(self.problem, self.shortage)[relation]
        rest = np.where(cell != COVER, -np.abs(self.problem.residual[relation]), cover)
        return SizeCuts((rows - back).tocsr(), rest.astype(np.float64), relation, cell)

    def rounds(self, *, seconds: float) -> Iterator[DualMultipliers]:
        """The multipliers of round after round, until no cut is missing or the time is over."""
        deadline, program = time.monotonic() + seconds, self.program
        for _ in range(TUNING.capacity_rounds):
            solution = program.solve(max(deadline - time.monotonic(), 0.1), crossover=False)
            if solution.x is None or solution.row_duals is None:
                return
            yield self._multipliers(program, solution.row_duals)
            rise, fall = np.split(solution.x, 2)
            broken = broken_polygons(self.problem, (rise + fall) * program.unit)
            if broken.rhs.size == 0 or time.monotonic() > deadline:
                return
            program.cuts = program.cuts.with_more(broken)

    def by_cases(self) -> CasesProgram:
        program = self.program.thinned()
        return CasesProgram(program, np.arange(self.problem.size), program.cuts.relation, partial(self._multipliers, program))

    def _multipliers(self, program: _RiseFallProgram, duals: FloatArray) -> DualMultipliers:
        of_relations, amount = program.multipliers(duals)
        equality = np.zeros(self.problem.rhs.size)
        equality[program.relations] = of_relations
        return program.cuts.proof(amount)._replace(relations=equality)


class CoarseBound:
    """The bound from the coarse table, with all the polygons in which a total of inner rows is the longest."""

    def __init__(self, coarse: Coarsening, shortage: Shortage) -> None:
        self.coarse, self.table = coarse, coarse.table
        problem = coarse.table.problem
        weight = np.where(self.table.free, 0.0, problem.weight)
        self.program = _RiseFallProgram(problem, np.arange(problem.rhs.size - 1), weight, self._lay_out(shortage))

    def _lay_out(self, shortage: Shortage) -> SizeCuts:
        """The cuts of the relations with totals over the coarse cells' sizes; what merged sensitive cells bring anyhow is `given`."""
        whole, network = self.coarse.problem, self.coarse.network
        ends = network.relation[np.flatnonzero(self.coarse.bottom)]
        self.relations = np.setdiff1d(np.arange(whole.rhs.size), ends)
        rows = abs(whole.relations[self.relations]).astype(np.float64)
        inside = whole.sensitive & ~self.coarse.totals
        given = np.asarray(rows @ np.where(inside, least_sizes(whole), 0)).astype(np.float64)
        sizes = (rows.tocsc()[:, self.table.cell] @ diags(np.where(self.table.free, 0.0, 1.0))).tocsr()
        sizes.eliminate_zeros()
        needs = cover_right_sides(whole, shortage)[self.relations] - given
        several = abs(whole.relations[self.relations]) @ (whole.sensitive & self.coarse.totals).astype(np.int64) > 1
        known = (shortage.amount[self.relations] > 0) & (shortage.longest[self.relations] == COVER)
        covered = np.flatnonzero(known | several)  # with their senses settled, several need more
        cover = SizeCuts(sizes[covered], needs[covered].astype(np.float64), covered, np.full(covered.size, COVER))
        longest = np.flatnonzero(sizes.indices < int(self.coarse.totals.sum()))
        row = np.repeat(np.arange(sizes.shape[0]), np.diff(sizes.indptr))[longest]
        cell = sizes.indices[longest].astype(np.int64)
        own = csr_matrix((np.full(row.size, 2.0), (np.arange(row.size), cell)), shape=(row.size, sizes.shape[1]))
        rest = given + np.abs(whole.residual[self.relations]).astype(np.float64)
        return cover.with_more(SizeCuts((sizes[row] - own).tocsr(), -rest[row], row, cell))

    def multipliers(self, *, seconds: float) -> DualMultipliers | None:
        """What the program's solution gives for the whole table; None without one."""
        solution = self.program.solve(seconds, crossover=True)
        return None if solution.row_duals is None else self._in_whole_table(self.program, solution.row_duals)

    def by_cases(self) -> CasesProgram:
        program = self.program.thinned()
        return CasesProgram(program, self.table.cell, self.relations[program.cuts.relation], partial(self._in_whole_table, program))

    def _in_whole_table(self, program: _RiseFallProgram, duals: FloatArray) -> DualMultipliers:
        """Multipliers of the program's rows as multipliers for the whole table."""
        of_relations, amount = program.multipliers(duals)
        at_node = np.append(of_relations, 0.0)[self.table.node]
        equality = self.coarse.network.of_relations(at_node, self.coarse.problem.rhs.size)
        return self._cuts_of(program, amount)._replace(relations=equality)

    def _cuts_of(self, program: _RiseFallProgram, amount: FloatArray) -> DualMultipliers:
        """These amounts of the program's cuts, as cuts of the whole table."""
        cuts = program.cuts.proof(amount)
        cell = np.where(cuts.cut_cell == COVER, COVER, self.table.cell[cuts.cut_cell])
        return cuts._replace(cut_relation=self.relations[cuts.cut_relation], cut_cell=cell)

    @property
    def all_cuts(self) -> DualMultipliers:
        return self._cuts_of(self.program, np.ones(self.program.cuts.rhs.size))
