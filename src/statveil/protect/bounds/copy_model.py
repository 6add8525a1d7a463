"""The lifted relaxation of one problem (docs/science.md, section 5): what the compiled steps work on, and what multipliers prove.

Let s_i be the sign of sensitive cell i and multiply it into the whole table: s_i z keeps every relation too, and cell k stands in it with
s_i s_k |z_k|. With |z_k| = p_k + e_k (p its level, zero where it is not sensitive), X_ik = s_i s_k and R_ki for what e_k brings,

    A (R_i + p X_i) = s_i r,   |R_ki| <= e_k,   R_ii = e_i,   X symmetric with ones on its diagonal, |X| <= 1,   cuts:  C e >= d,

and of three signs one pair at least is equal (triangles). Any multipliers of these give a bound (`audit.lifting` works it out). Good ones
are found by a primal-dual method (Chambolle and Pock 2011, steps by Pock and Chambolle 2011) without a matrix of the whole. Where signs
are known to go together they are one cluster, with one copy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.bounds.copy_steps import CopyNode, CopyTable, advance, broken_triangles, fit_pulls, worth_of
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import BoundProof, DualMultipliers, LiftedMultipliers


class CopyTuning(NamedTuple):
    """Sizes and steps of the relaxation; by judgement, but for what is said."""

    most_entries: int = 8_000_000  # cells times copies, each four bytes, three times
    fewest_copies: int = 3
    balance: tuple[tuple[int, float], ...] = ((100, 0.2), (2**62, 0.1))
    """Of the dual step to the primal one, up to so many copies: measured on CSPLIB's hierarchical tables."""
    newton: int = 5  # steps to the size that fits all copies of a cell
    turns: int = 30  # over all cells, to make multipliers fit
    spare: float = 1e-4
    """Part of a cell's cost that they then leave: in so few turns they come so near. After 350 steps that proves more of hier13's nodes
    than 1,000 further steps would."""
    broken: float = 0.03  # by how much a triangle must be broken to be taken in
    most_triangles: int = 20_000  # listed at a time
    triangles_per_copy: int = 12  # taken in at a time
    idle: float = 1e-6  # multiplier of a triangle below which it is dropped
    coarse: int = 14  # bits of the largest multiplier of a copy where few will do
    fine: tuple[int, ...] = (24, 30)  # and else
    widest: int = 52  # bits and places between relations' units together: what the checker adds up must stay within 64 bits
    tries: int = 4  # to shrink rounded multipliers until they fit: three were needed
    inexact: float = 2e-6  # relative distance from fitting that is rounding of single precision


TUNING = CopyTuning()


class Worth(NamedTuple):
    """What multipliers prove; what they would, if they fitted; by what they must be multiplied to fit; themselves; and Q of the pairs of
    signs."""

    bound: float
    promised: float
    fits: float
    relations: AnyArray
    cuts: AnyArray
    triangles: AnyArray
    pairs: FloatArray


class _Written(NamedTuple):
    """Multipliers of relations as whole numbers, the binary places of each relation's, what all others are multiplied by to fit with them,
    and what they then prove."""

    copies: IntArray
    bits: IntArray
    fits: float
    worth: Worth


class CopyModel:
    """The relaxation with costs and levels scaled to about one; nodes of it, steps in them, and proofs from them."""

    def __init__(self, problem: ProtectionProblem, known: BoundProof, cells: IntArray, least: FloatArray) -> None:
        self.problem, self.known, self.cells = problem, known, cells
        floor = problem.weight * least
        self.floor, self.unit = float(floor.sum()), float(np.median(floor[cells]))
        inverse = diags(1.0 / problem.weight)
        self.relations, self.row_scale = _rows_to_one(csr_matrix(problem.relations.astype(np.float64) @ inverse))
        self.cuts, self.cut_scale = _rows_to_one(csr_matrix(known.matrix @ inverse))
        self.residual = problem.residual / self.unit * self.row_scale
        self.uneven = bool(self.residual.any())
        self.level = np.zeros(problem.size)
        self.level[cells] = floor[cells] / self.unit
        self.table = self._table((known.rhs - known.matrix @ least) * self.cut_scale / self.unit)

    @classmethod
    def of(cls, problem: ProtectionProblem, known: BoundProof | None) -> CopyModel | None:
        """None where there are too few signs to multiply, or too many copies to hold."""
        if problem.norm != "l1" or known is None:
            return None
        least = np.where(problem.sensitive, least_sizes(problem), 0).astype(np.float64)  # who has no copy counts with its whole size
        cells = np.flatnonzero(problem.sensitive & (least > 0))
        if cells.size < TUNING.fewest_copies or cells.size * max(problem.size, problem.rhs.size) > TUNING.most_entries:
            return None
        return cls(problem, known, cells, least)

    def _table(self, needs: FloatArray) -> CopyTable:
        """Steps by the sums of the coefficients in each row and column (Pock and Chambolle 2011)."""
        balance = next(each for most, each in TUNING.balance if self.cells.size <= most)
        sizes, cut_sizes, columns = abs(self.relations), abs(self.cuts), self.relations.T.tocsr()
        in_rows = np.asarray(sizes.sum(axis=0)).reshape(-1)
        in_cuts = np.asarray(cut_sizes.sum(axis=0)).reshape(-1)
        of_cuts = np.asarray(cut_sizes.sum(axis=1)).reshape(-1)
        places = [(each.indptr.astype(np.int64), each.indices.astype(np.int64), _single(each.data)) for each in (self.relations, columns)]
        cuts = (self.cuts.indptr.astype(np.int64), self.cuts.indices.astype(np.int64), _single(self.cuts.data))
        return CopyTable(
            *places[0],
            *places[1],
            *cuts,
            needs=_single(needs),
            level=_single(self.level),
            copy_step=_single(1.0 / (balance * np.maximum(in_rows, 1e-12))),
            size_step=_single(1.0 / (balance * (in_cuts + 1.0))),
            relation_step=_single(balance / np.maximum(sizes @ (1.0 + self.level), 1e-12)),
            cut_step=_single(balance / np.maximum(of_cuts, 1e-12)),
            sign_pull=_single(in_rows * self.level),
            balance=balance,
        )

    def root(self) -> CopyNode:
        """Each sign by itself, but for those that are known, and the multipliers of the bound by cuts."""
        cells, rows = self.problem.size, self.problem.rhs.size
        up, down = self.problem.can_go_up[self.cells], self.problem.can_go_down[self.cells]
        one_way = self.cells[up != down]
        cluster, turn = np.full(cells, -1), np.ones(cells)
        cluster[self.cells[up == down]] = np.arange((up == down).sum()) + min(one_way.size, 1)
        way = np.where(self.problem.can_go_up[one_way], 1, -1)
        cluster[one_way], turn[one_way] = 0, way * way[:1]
        copies = int(cluster.max()) + 1
        cuts = _single(self.known.multipliers / self.cut_scale)
        return CopyNode(
            cluster=cluster,
            turn=_single(turn),
            inside=_single(np.zeros((cells, copies))),
            size=_single(np.zeros(cells)),
            sign=_single(np.eye(copies)),
            relations=_single(np.zeros((rows, copies))),
            cuts=cuts,
            relations_sum=_single(np.zeros((rows, copies))),
            cuts_sum=_single(np.zeros(cuts.size)),
            corners=np.zeros((0, 3), dtype=np.int64),
            corner_signs=_single(np.zeros((0, 3))),
            triangles=_single(np.zeros(0)),
            triangles_sum=_single(np.zeros(0)),
        )

    def step(self, node: CopyNode, count: int) -> Worth:
        """So many steps in a node, in place: the better of what its multipliers prove after them, and on their average."""
        for total in (node.relations_sum, node.cuts_sum, node.triangles_sum):
            total[:] = 0.0
        advance(self.table, node, count, TUNING.newton)
        mean = np.float32(1.0 / count)
        now = self.worth(node, node.relations, node.cuts, node.triangles)
        average = self.worth(node, node.relations_sum * mean, node.cuts_sum * mean, node.triangles_sum * mean)
        return max(now, average, key=lambda each: each.bound)

    def worth(self, node: CopyNode, relations: AnyArray, cuts: AnyArray, triangles: AnyArray) -> Worth:
        """What multipliers prove once they are shrunk so that no size pays: the certificate's formula."""
        gain, most, pairs = worth_of(self.table, node, relations, cuts, triangles)
        gain -= float(np.abs(relations.T @ self.residual).sum()) if self.uneven else 0.0
        fits = min(1.0, 1.0 / max(most, 1e-12)) * (1 - 1e-6)
        return Worth(self.floor + self.unit * fits * gain, self.floor + self.unit * gain, fits, relations, cuts, triangles, pairs)

    def fitted(self, node: CopyNode, worth: Worth) -> Worth:
        """The multipliers mended where they do not fit. To shrink them all by the worst of them costs far more."""
        relations = worth.relations.copy()
        fit_pulls(self.table, node, relations, worth.cuts, TUNING.turns, np.float32(TUNING.spare))
        return self.worth(node, relations, worth.cuts.copy(), worth.triangles.copy())

    def with_triangles(self, node: CopyNode) -> CopyNode:
        """The triangles that say something, and those that the signs break most."""
        by, corners, signs = broken_triangles(node.sign, TUNING.broken, TUNING.most_triangles)
        most = TUNING.triangles_per_copy * node.sign.shape[0]
        order = np.argsort(-by, kind="stable")[:most]
        kept = np.flatnonzero(node.triangles > TUNING.idle)
        both = np.vstack([node.corners[kept], corners[order]]), np.vstack([node.corner_signs[kept], signs[order]])
        first = np.unique(np.hstack([both[0], both[1].astype(np.int64)]), axis=0, return_index=True)[1]
        amounts = np.concatenate([node.triangles[kept], _single(np.zeros(order.size))])
        chosen = np.sort(first)  # of equal ones the first, which has the multiplier
        return node._replace(
            corners=np.ascontiguousarray(both[0][chosen]),
            corner_signs=_single(both[1][chosen]),
            triangles=_single(amounts[chosen]),
            triangles_sum=_single(np.zeros(chosen.size)),
        )

    def proof(self, node: CopyNode, worth: Worth, *, enough: float = math.inf) -> tuple[float, LiftedMultipliers]:
        """The multipliers as they are written, each copy by a cell that goes along with its cluster, and what they then prove: in as few
        digits as prove `enough`."""
        whole = self._whole(node, worth, enough)
        cuts, triangles = (each * np.float64(whole.fits) for each in (worth.cuts, worth.triangles))
        used, corners = np.flatnonzero(cuts > 0), np.flatnonzero(triangles > 0)
        plain = DualMultipliers(np.zeros(0), self.known.relation[used], self.known.cell[used], (cuts * self.cut_scale)[used])
        return whole.worth.bound, LiftedMultipliers(
            plain=plain,
            cells=self.heads(node),
            copies=whole.copies,
            bits=whole.bits,
            corners=node.corners[corners],
            corner_signs=node.corner_signs[corners].astype(np.int64),
            triangles=triangles[corners] * self.unit,
        )

    def heads(self, node: CopyNode) -> IntArray:
        """For each cluster a cell that goes along with it."""
        heads = np.zeros(node.sign.shape[0], dtype=np.int64)
        along = self.cells[node.turn[self.cells] > 0][::-1]
        heads[node.cluster[along]] = along
        return heads

    def _whole(self, node: CopyNode, worth: Worth, enough: float) -> _Written:
        """Multipliers of relations as whole numbers: of few bits if they prove `enough`, else of as many as it takes that they fit."""
        tries = [*([TUNING.coarse] if enough < math.inf else []), *TUNING.fine]
        for bits in tries:
            found = self._rounded(node, worth, bits)
            if found.worth.fits >= 1 - TUNING.inexact and (bits > TUNING.coarse or found.worth.bound >= enough):
                break
        return found

    def _rounded(self, node: CopyNode, worth: Worth, bits: int) -> _Written:
        """Whole numbers of so many bits, shrunk until all multipliers fit as they are written: a pull that rounding took past a cell's cost
        would count for as far as the cell can move. Costs may lie decades apart: each relation has its own unit, by its cheapest cell.
        """
        exponent = np.frexp(self.row_scale)[1].astype(np.int64)
        exponent = np.maximum(exponent, exponent[worth.relations.any(axis=1)].max(initial=-(2**30)) + bits - TUNING.widest)
        rest = np.ldexp(self.row_scale, -exponent)[:, np.newaxis]
        factors, fits = worth.relations * rest, worth.fits
        places = bits - math.frexp(float(np.abs(factors).max(initial=1e-9)) * fits)[1]
        for attempt in range(TUNING.tries):
            whole = np.rint(np.ldexp(factors * fits, places))
            written = _single(np.ldexp(whole, -places) / rest)
            found = self.worth(node, written, _single(worth.cuts * fits), _single(worth.triangles * fits))
            if found.fits >= 1 - TUNING.inexact or attempt + 1 == TUNING.tries:
                break
            fits *= 1 - 2.0**attempt * (1 - found.fits)
        return _Written(whole.astype(np.int16 if bits <= TUNING.coarse else np.int32), places - exponent, fits, found)


def kept(worth: Worth) -> Worth:
    """The same with arrays of its own, which further steps leave alone."""
    return worth._replace(relations=worth.relations.copy(), cuts=worth.cuts.copy(), triangles=worth.triangles.copy())


def _single(array: AnyArray) -> AnyArray:
    """In single precision: half the room, and twice as many at a time."""
    return np.ascontiguousarray(array, dtype=np.float32)


def _rows_to_one(matrix: csr_matrix) -> tuple[csr_matrix, FloatArray]:
    """The matrix with the largest entry of each row at one, and what its rows were multiplied by."""
    matrix.sum_duplicates()
    largest = np.asarray(abs(matrix).max(axis=1).todense()).reshape(-1)
    scale = 1.0 / np.where(largest > 0, largest, 1.0)
    return csr_matrix(diags(scale) @ matrix), scale
