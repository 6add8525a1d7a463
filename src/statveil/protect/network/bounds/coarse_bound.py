"""A lower bound from the coarse table (docs/science.md, section 4, "a bound for the coarse model"; polygons that know capacities).

One linear program over the rises and falls of the coarse table's cells: its relations, the cuts of every relation that holds totals of
inner rows, those that follow from others among them, and every sensitive total in the hull of its two senses. Its multipliers hold
for the whole table: a merged relation's goes to each of the relations merged in it, a cut is the same cut there.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import Cuts, least_sizes
from statveil.protect.network.bounds.capacity import senses_hull
from statveil.protect.network.bounds.cover import Shortage, base_of
from statveil.protect.network.coarse import Coarse
from statveil.protect.options import NO_LIMIT
from statveil.protect.search.state import DualMultipliers
from statveil.solve.model import LinearModel, LinearSolution


class CoarseBound:
    """The program with all the polygons in which a total is the longest."""

    def __init__(self, coarse: Coarse, shortage: Shortage) -> None:
        self.coarse, self.table, self.problem = coarse, coarse.table, coarse.table.problem
        self.totals = int(coarse.totals.sum())
        self._lay_out(shortage)
        levels = np.maximum(self.problem.lower_level, self.problem.upper_level)[self.problem.sensitive]
        self.unit = max(float(np.median(levels)), 1.0) if levels.size else 1.0
        self.price = 1.0 / float(np.median(self.problem.weight))

    def _lay_out(self, shortage: Shortage) -> None:
        """The relations with totals over the coarse cells' sizes; what the merged sensitive cells bring whatever happens is `given`."""
        whole, network = self.coarse.problem, self.coarse.network
        ends = network.relation[np.flatnonzero(self.coarse.bottom)]
        self.relations = np.setdiff1d(np.arange(whole.rhs.size), ends)
        sizes = abs(whole.relations[self.relations]).astype(np.float64)
        inside = whole.sensitive & ~self.coarse.totals
        self.given = np.asarray(sizes @ np.where(inside, least_sizes(whole), 0)).astype(np.float64)
        priced = diags(np.where(self.table.free, 0.0, 1.0))
        self.sizes = (sizes.tocsc()[:, self.table.cell] @ priced).tocsr()
        self.sizes.eliminate_zeros()
        self.residual = np.abs(whole.residual[self.relations]).astype(np.float64)
        base = base_of(whole, shortage)[self.relations] - self.given
        covered = np.flatnonzero((shortage.amount[self.relations] > 0) & (shortage.longest[self.relations] == COVER))
        cover = Cuts(self.sizes[covered], base[covered].astype(np.float64), covered, np.full(covered.size, COVER))
        rows = np.repeat(np.arange(self.sizes.shape[0]), np.diff(self.sizes.indptr))
        longest = np.flatnonzero(self.sizes.indices < self.totals)
        self.cuts = cover.with_more(self._polygons(rows[longest], self.sizes.indices[longest].astype(np.int64)))

    def multipliers(self, *, seconds: float) -> DualMultipliers | None:
        """What the program's solution gives for the whole table; None without one."""
        solution = self._solve(seconds)
        return None if solution.row_duals is None else self._in_whole_table(solution.row_duals)

    def _polygons(self, row: IntArray, cell: IntArray) -> Cuts:
        """In each of these relations this total is no longer than all the rest together."""
        own = csr_matrix((np.full(row.size, 2.0), (np.arange(row.size), cell)), shape=(row.size, self.problem.size))
        return Cuts((self.sizes[row] - own).tocsr(), -(self.given + self.residual)[row], row, cell)

    def _solve(self, seconds: float) -> LinearSolution:
        from statveil.solve import highs

        problem, unit = self.problem, self.unit
        relations = problem.relations.astype(np.float64)[:-1]
        hull = senses_hull(problem, unit)
        right = problem.rhs[:-1] / unit
        lower = np.concatenate([right, self.cuts.rhs / unit, np.ones(hull.shape[0])])
        most = np.concatenate([np.maximum(problem.free.high, 0), np.maximum(-problem.free.low, 0)]).astype(np.float64)
        least = np.concatenate([np.maximum(problem.free.low, 0), np.maximum(-problem.free.high, 0)]).astype(np.float64)
        model = LinearModel(
            cost=np.tile(np.where(self.table.free, 0.0, problem.weight) * self.price, 2),
            matrix=vstack([hstack([relations, -relations]), hstack([self.cuts.matrix, self.cuts.matrix]), hull], format="csr"),
            row_lower=lower,
            row_upper=np.concatenate([right, np.full(lower.size - right.size, np.inf)]),
            lower=least / unit,
            upper=np.where(most >= NO_LIMIT // 2, np.inf, most / unit),
        )
        return highs.solve(model, seconds=seconds, algorithm="ipm")

    def _in_whole_table(self, duals: FloatArray) -> DualMultipliers:
        """In the relations of the whole table."""
        network, whole = self.coarse.network, self.coarse.problem
        at_node = np.append(duals[: self.problem.rhs.size - 1], 0.0) / self.price
        inner = np.flatnonzero(network.relation >= 0)
        equality = np.zeros(whole.rhs.size)
        equality[network.relation[inner]] = network.sign[inner] * at_node[self.table.node[inner]]
        amount = np.maximum(duals[self.problem.rhs.size - 1 :][: self.cuts.rhs.size], 0.0) / self.price
        return self.whole_cuts(amount)._replace(relations=equality)

    def whole_cuts(self, amount: FloatArray) -> DualMultipliers:
        """These amounts of the program's cuts, as cuts of the whole table."""
        used = np.flatnonzero(amount > 0)
        relation, cell = self.cuts.relation[used], self.cuts.cell[used]
        return DualMultipliers(np.zeros(0), self.relations[relation], np.where(cell == COVER, COVER, self.table.cell[cell]), amount[used])

    @property
    def all_cuts(self) -> DualMultipliers:
        return self.whole_cuts(np.ones(self.cuts.rhs.size))
