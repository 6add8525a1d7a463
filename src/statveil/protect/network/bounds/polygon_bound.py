"""Polygon cuts on a network, block by block (docs/science.md, section 5, "polygon, generated lazily").

One linear program over the sizes of the cells of a block of relations, with what the cuts outside already take off their costs; its
multipliers replace those of the block. Every step keeps the multipliers feasible, so that the bound can only rise. A block is a
subtable, or the whole of a small table.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds import TUNING
from statveil.protect.network.bounds.cover_bound import Shortage, largest_change, pull_of, room_above
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers
from statveil.solve.model import LinearModel


class PolygonBlocks:
    """Raises the multipliers of a problem's cuts one block of relations at a time."""

    def __init__(self, problem: ProtectionProblem, shortage: Shortage, multipliers: DualMultipliers, *, worth: float) -> None:
        self.problem, self.shortage, self.multipliers = problem, shortage, multipliers
        self.sizes = abs(problem.relations).tocsr()
        self.least = least_sizes(problem)
        room = room_above(problem)
        self.room = np.where(room >= NO_LIMIT // 4, np.inf, room).astype(np.float64)
        self.room = np.maximum(np.minimum(self.room, largest_change(problem, worth) - self.least), 0.0)
        self.total = np.asarray(self.sizes @ self.least) + np.abs(problem.residual)
        self.pull = pull_of(problem, multipliers)

    def raise_block(self, relations: IntArray, likely: BoolArray, *, seconds: float) -> float:
        """Choose the multipliers of these relations (in rising order) anew; tells by how much the bound rises.

        `likely` tells the cells that may well be above their least size; others join the program when they turn out to be needed.
        """
        old = np.isin(self.multipliers.cut_relation, relations)
        matrix = self.sizes[relations].astype(np.float64)
        cells = np.unique(matrix.indices).astype(np.int64)
        matrix = matrix[:, cells].tocsr()
        inside = chosen_cuts(self.multipliers, old)
        own_pull = pull_of(self.problem, inside)
        cost = np.maximum(self.problem.weight[cells] - (self.pull - own_pull)[cells], 0.0)
        block = _PolygonProgram(matrix, cost, self.least[cells], self.room[cells], self.total[relations], self.shortage.amount[relations])
        known = inside.cut_cell != COVER
        block.begin(np.searchsorted(relations, inside.cut_relation[known]), np.searchsorted(cells, inside.cut_cell[known]))
        block.active = likely[cells]
        block.solve(seconds=seconds)
        gain = block.bound - self._worth(inside, cost, own_pull[cells], cells)
        if gain <= 1e-9 * self.total.sum():
            return 0.0
        new = DualMultipliers(np.zeros(0), relations[block.row], np.where(block.cell == COVER, COVER, cells[block.cell]), block.amount)
        self.multipliers = joined_cuts(chosen_cuts(self.multipliers, ~old), new)
        self.pull += pull_of(self.problem, new) - own_pull
        return gain

    def gap_at(self, size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the distance between the bound and a table with these sizes |z| comes from: per cell, and per relation.

        What a cell is above its least costs more than the cuts take off; what a cut is above its need is paid for nothing.
        """
        over = size - self.least
        cuts = self.multipliers
        own = cuts.cut_cell != COVER
        level = np.asarray(self.sizes @ over)[cuts.cut_relation] - np.where(own, 2 * over[cuts.cut_cell], 0.0)
        slack = cuts.cut * np.maximum(level - self._needs(cuts), 0.0)
        by_relation: FloatArray = np.bincount(cuts.cut_relation, weights=slack, minlength=self.problem.rhs.size).astype(np.float64)
        return (self.problem.weight - self.pull) * over, by_relation

    def _needs(self, cuts: DualMultipliers) -> FloatArray:
        own = cuts.cut_cell != COVER
        polygon = 2 * self.least[cuts.cut_cell] - self.total[cuts.cut_relation]
        return np.where(own, polygon, self.shortage.amount[cuts.cut_relation]).astype(np.float64)

    def _worth(self, inside: DualMultipliers, cost: FloatArray, pull: FloatArray, cells: IntArray) -> float:
        """What the block's present multipliers bring."""
        return float(inside.cut @ self._needs(inside)) + _losses(cost - pull, self.room[cells])


def chosen_cuts(multipliers: DualMultipliers, chosen: BoolArray) -> DualMultipliers:
    return DualMultipliers(np.zeros(0), multipliers.cut_relation[chosen], multipliers.cut_cell[chosen], multipliers.cut[chosen])


def joined_cuts(one: DualMultipliers, two: DualMultipliers) -> DualMultipliers:
    return DualMultipliers(
        np.zeros(0),
        np.concatenate([one.cut_relation, two.cut_relation]),
        np.concatenate([one.cut_cell, two.cut_cell]),
        np.concatenate([one.cut, two.cut]),
    )


def _losses(reduced: FloatArray, room: FloatArray) -> float:
    """What cells with a negative cost left take off the bound: they would fill all their room."""
    short = reduced < 0
    return float((reduced[short] * np.where(np.isinf(room[short]), 0.0, room[short])).sum())


class _PolygonProgram:
    """min cost v over 0 <= v <= room, with the relations' covers and the polygons that the last solution breaks."""

    def __init__(self, matrix: csr_matrix, cost: FloatArray, least: IntArray, room: FloatArray, total: IntArray, cover: IntArray) -> None:
        self.matrix, self.cost, self.least, self.room, self.total = matrix, cost, least, room, total
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.row = np.flatnonzero(cover > 0)
        self.cell = np.full(self.row.size, COVER)
        self.cuts, self.need = matrix[self.row], cover[self.row].astype(np.float64)
        self.amount, self.bound = np.zeros(self.row.size), 0.0
        self.active = np.ones(cost.size, dtype=np.bool_)
        self.unit = float(max(np.median(least[least > 0]), 1.0)) if (least > 0).any() else 1.0
        self.price = 1.0 / float(max(np.median(cost), 1e-300)) if cost.size else 1.0

    def begin(self, row: IntArray, cell: IntArray) -> None:
        """Take in polygons that are known to be of use."""
        self._add(row, cell)
        self.row, self.cell = np.concatenate([self.row, row]), np.concatenate([self.cell, cell])
        self.amount = np.zeros(self.row.size)

    def solve(self, *, seconds: float) -> None:
        """Cuts in rounds; what is kept is the best bound met and its multipliers."""
        from statveil.solve import highs

        row, cell, deadline, idle = self.row, self.cell, time.monotonic() + seconds, 0
        for _ in range(TUNING.polygon_rounds):
            if row.size == 0:
                return
            model = LinearModel(
                cost=self.cost * self.price,
                matrix=self.cuts,
                row_lower=self.need / self.unit,
                row_upper=np.full(row.size, np.inf),
                lower=np.zeros(self.cost.size),
                upper=np.where(self.active, self.room / self.unit, 0.0),
            )
            solution = highs.solve(model, seconds=deadline - time.monotonic(), algorithm="ipm", options=highs.NO_CROSSOVER)
            if solution.x is None or solution.row_duals is None:
                return
            before, amount = self.bound, np.maximum(solution.row_duals, 0.0) / self.price
            wanted = ~self.active & (np.asarray(self.cuts.T @ amount) > self.cost * (1 + 1e-7))
            self._keep(row, cell, amount)
            self.active |= wanted
            broken = self._broken(solution.x * self.unit)
            idle = idle + 1 if self.bound - before <= TUNING.enough * abs(self.bound) else 0
            if ((broken.size == 0 or idle == TUNING.patience) and not wanted.any()) or time.monotonic() > deadline:
                return
            row, cell = np.concatenate([row, self.rows[broken]]), np.concatenate([cell, self.matrix.indices[broken]])

    def _keep(self, row: IntArray, cell: IntArray, amount: FloatArray) -> None:
        """Keep the multipliers if they bring more, shrunk so that cells are not overdrawn where that costs more than it brings."""
        pull = np.asarray(self.cuts.T @ amount)
        endless = np.isinf(self.room) & (pull > self.cost)
        most = float((self.cost[endless] / pull[endless]).min(initial=1.0)) * (1 - 1e-12)
        for factor in np.minimum(TUNING.shrinks, most):
            bound = factor * float(amount @ self.need) + _losses(self.cost - factor * pull, self.room)
            if bound > self.bound:
                used = amount > 1e-9 * amount.max(initial=0.0)
                self.row, self.cell, self.amount, self.bound = row[used], cell[used], factor * amount[used], bound

    def _broken(self, v: FloatArray) -> IntArray:
        """Entries of the matrix whose cell is longer than the rest of its relation; the cuts grow by them."""
        size = self.least + v
        terms = size[self.matrix.indices]
        total = np.bincount(self.rows, weights=terms, minlength=self.total.size) + self.total - self.matrix @ self.least
        excess = 2 * terms - total[self.rows]
        broken = np.flatnonzero(excess > 1e-6 * (1.0 + total[self.rows]))
        self._add(self.rows[broken], self.matrix.indices[broken].astype(np.int64))
        return broken

    def _add(self, row: IntArray, cell: IntArray) -> None:
        back = csr_matrix((np.full(row.size, 2.0), (np.arange(row.size), cell)), shape=(row.size, self.cost.size))
        self.cuts = vstack([self.cuts, self.matrix[row] - back], format="csr")
        self.need = np.concatenate([self.need, (2 * self.least[cell] - self.total[row]).astype(np.float64)])
