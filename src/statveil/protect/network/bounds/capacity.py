"""Polygons that know capacities (docs/science.md, section 4, "capacity-aware polygon"): where totals are sensitive or bounds bind.

Each cell's rise and fall are variables of their own, so that the relations themselves can be kept beside the polygons: what goes up
must come down elsewhere, and no cell falls below its bound. The multipliers of relations and cuts give the bound by weak duality.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import Cuts, broken_polygons
from statveil.protect.network.bounds.cover import Shortage, base_of
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.state import DualMultipliers
from statveil.solve.model import LinearModel, LinearSolution

ROUNDS = 12


class CapacityProgram:
    """min w (rise + fall), relations kept, cuts on rise + fall, every sensitive cell in the hull of its two senses."""

    def __init__(self, problem: ProtectionProblem, kept: IntArray, shortage: Shortage, cuts: DualMultipliers) -> None:
        self.problem, self.shortage = problem, shortage
        self.kept = kept  # relations from which the others follow
        self.cuts = self._cuts_of(cuts)
        levels = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
        self.unit = float(np.median(levels)) if levels.size else 1.0
        self.unit = max(self.unit, 1.0)
        self.price = 1.0 / float(np.median(problem.weight)) if problem.size else 1.0

    def _cuts_of(self, multipliers: DualMultipliers) -> Cuts:
        """The cuts to begin with, whatever their amounts."""
        relation, cell = multipliers.cut_relation, multipliers.cut_cell
        own = np.flatnonzero(cell != COVER)
        rows = abs(self.problem.relations[relation]).astype(np.float64)
        back = csr_matrix((np.full(own.size, 2.0), (own, cell[own])), shape=rows.shape)
        rest = np.where(cell != COVER, -np.abs(self.problem.residual[relation]), base_of(self.problem, self.shortage)[relation])
        return Cuts((rows - back).tocsr(), rest.astype(np.float64), relation, cell)

    def rounds(self, *, seconds: float) -> Iterator[DualMultipliers]:
        """The multipliers of round after round, until no cut is missing or the time is over."""
        deadline = time.monotonic() + seconds
        for _ in range(ROUNDS):
            solution = self._solve(max(deadline - time.monotonic(), 0.1))
            if solution.x is None or solution.row_duals is None:
                return
            yield self._multipliers(solution.row_duals)
            rise, fall = np.split(solution.x, 2)
            broken = broken_polygons(self.problem, (rise + fall) * self.unit)
            if broken.rhs.size == 0 or time.monotonic() > deadline:
                return
            self.cuts = self.cuts.with_more(broken)

    def _solve(self, seconds: float) -> LinearSolution:
        from statveil.solve import highs

        problem, unit = self.problem, self.unit
        relations, cuts, hull = problem.relations[self.kept].astype(np.float64), self.cuts.matrix, senses_hull(problem, unit)
        right = problem.residual[self.kept] / unit
        lower = np.concatenate([right, self.cuts.rhs / unit, np.ones(hull.shape[0])])
        least = np.concatenate([np.maximum(problem.free.low, 0), np.maximum(-problem.free.high, 0)])
        most = np.concatenate([np.maximum(problem.free.high, 0), np.maximum(-problem.free.low, 0)]).astype(np.float64)
        model = LinearModel(
            cost=np.tile(problem.weight * self.price, 2),
            matrix=vstack([hstack([relations, -relations]), hstack([cuts, cuts]), hull], format="csr"),
            row_lower=lower,
            row_upper=np.concatenate([right, np.full(lower.size - right.size, np.inf)]),
            lower=least / unit,
            upper=np.where(most >= NO_LIMIT // 2, np.inf, most / unit),
        )
        return highs.solve(model, seconds=seconds, algorithm="ipm", options=highs.NO_CROSSOVER)

    def _multipliers(self, duals: FloatArray) -> DualMultipliers:
        count, equality = self.kept.size, np.zeros(self.problem.rhs.size)
        equality[self.kept] = duals[:count] / self.price
        amount = np.maximum(duals[count : count + self.cuts.rhs.size], 0.0) / self.price
        used = np.flatnonzero(amount > 0)
        return DualMultipliers(equality, self.cuts.relation[used], self.cuts.cell[used], amount[used])


def senses_hull(problem: ProtectionProblem, unit: float) -> csr_matrix:
    """rise / upper level + fall / lower level >= 1 for each sensitive cell, amounts in `unit`s; a closed sense counts for nothing."""
    cell = np.flatnonzero(problem.sensitive)
    rise = np.where(problem.can_go_up[cell], unit / np.maximum(problem.up.low[cell], 1), 0.0)
    fall = np.where(problem.can_go_down[cell], unit / np.maximum(-problem.down.high[cell], 1), 0.0)
    places = (np.tile(np.arange(cell.size), 2), np.concatenate([cell, cell + problem.size]))
    return csr_matrix((np.concatenate([rise, fall]), places), shape=(cell.size, 2 * problem.size))
