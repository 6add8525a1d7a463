"""Polygons that know capacities (METHODS 4, "capacity-aware polygon"): where totals are sensitive or bounds bind.

Each cell's rise and fall are variables of their own, so that the relations themselves can be kept beside the polygons: what goes up
must come down elsewhere, and no cell falls below its bound. The multipliers of relations and cuts give the bound by weak duality.
Cells at rest that nothing pulls strongly are left out of the program and join it when the multipliers would overdraw them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.bounds import Cuts, broken_polygons
from statveil.protect.network.cover import Shortage, base_of, pull_of
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import COVER, Multipliers
from statveil.solve.model import LinearModel, Solution

ROUNDS = 12


class CapacityProgram:
    """min w (rise + fall), relations kept, cuts on rise + fall, every sensitive cell in the hull of its two senses."""

    def __init__(self, problem: ProtectionProblem, kept: IntArray, shortage: Shortage, multipliers: Multipliers) -> None:
        self.problem, self.shortage = problem, shortage
        self.kept = kept  # relations from which the others follow
        self.cuts = self._cuts_of(multipliers)
        levels = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
        self.unit = float(np.median(levels)) if levels.size else 1.0
        self.unit = max(self.unit, 1.0)
        self.price = 1.0 / float(np.median(problem.weight)) if problem.size else 1.0

    def _cuts_of(self, multipliers: Multipliers) -> Cuts:
        """The cuts that a bound rests on already."""
        relation, cell = multipliers.cut_relation, multipliers.cut_cell
        own = np.flatnonzero(cell != COVER)
        rows = abs(self.problem.relations[relation]).astype(np.float64)
        back = csr_matrix((np.full(own.size, 2.0), (own, cell[own])), shape=rows.shape)
        rest = np.where(cell != COVER, -np.abs(self.problem.residual[relation]), base_of(self.problem, self.shortage)[relation])
        return Cuts((rows - back).tocsr(), rest.astype(np.float64), relation, cell)

    def rounds(self, likely: BoolArray, *, seconds: float) -> Iterator[Multipliers]:
        """The multipliers of round after round, until no cut and no cell is missing or the time is over."""
        deadline, active = time.monotonic() + seconds, likely.copy()
        for _ in range(ROUNDS):
            cells = np.flatnonzero(active)
            solution = self._solve(cells, max(deadline - time.monotonic(), 0.1))
            if solution.x is None or solution.row_duals is None:
                if active.all() or time.monotonic() > deadline:
                    return
                active[:] = True  # the cells likely to move may leave an interior point method too little room
                continue
            multipliers = self._multipliers(solution.row_duals)
            yield multipliers
            missing = self._overdrawn(multipliers) & ~active
            size = np.zeros(self.problem.size)
            size[cells] = (solution.x[: cells.size] + solution.x[cells.size :]) * self.unit
            broken = broken_polygons(self.problem, size)
            if (broken.rhs.size == 0 and not missing.any()) or time.monotonic() > deadline:
                return
            active |= missing
            self.cuts = self.cuts.with_more(broken)

    def _solve(self, cells: IntArray, seconds: float) -> Solution:
        from statveil.solve import highs

        problem, unit = self.problem, self.unit
        relations, cuts = problem.relations[self.kept][:, cells].astype(np.float64), self.cuts.matrix[:, cells]
        held = self._hull(cells)
        rows = [hstack([relations, -relations]), hstack([cuts, cuts]), held]
        right = problem.residual[self.kept] / unit
        lower = np.concatenate([right, self.cuts.rhs / unit, np.ones(held.shape[0])])
        upper = np.concatenate([right, np.full(lower.size - right.size, np.inf)])
        rise, fall = np.maximum(problem.free.high[cells], 0), np.maximum(-problem.free.low[cells], 0)
        least = np.concatenate([np.maximum(problem.free.low[cells], 0), np.maximum(-problem.free.high[cells], 0)])
        most = np.concatenate([rise, fall]).astype(np.float64)
        model = LinearModel(
            cost=np.tile(problem.weight[cells] * self.price, 2),
            matrix=vstack(rows, format="csr"),
            row_lower=lower,
            row_upper=upper,
            lower=least / unit,
            upper=np.where(most >= NO_LIMIT // 2, np.inf, most / unit),
        )
        return highs.solve(model, seconds=seconds, algorithm="ipm", crossover=False)

    def _hull(self, cells: IntArray) -> csr_matrix:
        """rise / upper level + fall / lower level >= 1 for each sensitive cell; a closed sense counts for nothing."""
        problem = self.problem
        at = np.flatnonzero(problem.sensitive[cells])
        which = cells[at]
        rise = np.where(problem.can_go_up[which], self.unit / np.maximum(problem.up.low[which], 1), 0.0)
        fall = np.where(problem.can_go_down[which], self.unit / np.maximum(-problem.down.high[which], 1), 0.0)
        row = np.arange(at.size)
        entries = (np.concatenate([rise, fall]), (np.tile(row, 2), np.concatenate([at, at + cells.size])))
        return csr_matrix(entries, shape=(at.size, 2 * cells.size))

    def _multipliers(self, duals: FloatArray) -> Multipliers:
        count, equality = self.kept.size, np.zeros(self.problem.rhs.size)
        equality[self.kept] = duals[:count] / self.price
        amount = np.maximum(duals[count : count + self.cuts.rhs.size], 0.0) / self.price
        used = np.flatnonzero(amount > 0)
        return Multipliers(equality, self.cuts.relation[used], self.cuts.cell[used], amount[used])

    def _overdrawn(self, multipliers: Multipliers) -> BoolArray:
        """Cells that would earn by moving: they must be in the program."""
        problem = self.problem
        slant = np.asarray(problem.relations.T @ multipliers.relations)
        return np.asarray(np.abs(slant) + pull_of(problem, multipliers) > problem.weight * (1 + 1e-7))
