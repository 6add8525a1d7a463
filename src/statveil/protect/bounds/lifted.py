"""A lower bound from products of signs: one copy of the table for each sensitive cell (docs/science.md, section 5, the lifted relaxation).

Polygons and covers look at one relation at a time. Let s_i be the sign of sensitive cell i and multiply it into the whole table: s_i z
keeps every relation too, and cell k stands in it with s_i s_k |z_k|. With |z_k| = p_k + e_k (p its level, zero where it is not
sensitive), X_ik = s_i s_k and R_ki for what e_k brings, every table gives

    A (R_i + p X_i) = s_i r,   |R_ki| <= e_k,   R_ii = e_i,   X symmetric with ones on its diagonal, |X| <= 1,   cuts:  C e >= d,

and costs w'(p + e). Any multipliers of these relations give a bound (`audit.certificate_checker` works it out). Good ones are found by a
primal-dual method (Chambolle and Pock 2011, steps by Pock and Chambolle 2011) without a matrix of the whole: G = A'L is all that it needs.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix, diags

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.state import BoundProof, DualMultipliers, LiftedMultipliers, Search


class LiftedTuning(NamedTuple):
    """What steers the lifted bound; by judgement, but for what is said."""

    most_entries: int = 8_000_000  # cells times copies, each four bytes, three times
    fewest_copies: int = 3
    share_of_time: float = 0.25  # of the time left
    steps: int = 50  # between looks at the bound and the clock
    hopeless: float = 1.002  # times the bound so far: what the relaxation must promise after `looks` looks to go on
    looks: int = 6
    patience: int = 8  # looks in a row that raise the bound by less than `settled`
    settled: float = 2e-4
    balance: tuple[tuple[int, float], ...] = ((30, 0.45), (100, 0.2), (2**62, 0.1))
    """Of the dual step to the primal one, up to so many copies: the prototype's, on CSPLIB's hierarchical tables."""
    newton: int = 5  # steps to the size that fits all copies of a cell


TUNING = LiftedTuning()


class PrimalDualSteps(NamedTuple):
    """How far a step goes: of copies, of sizes, of signs (inverse), of multipliers of relations, of those of cuts."""

    copy: AnyArray
    size: AnyArray
    sign: AnyArray
    relation: AnyArray
    cut: AnyArray


class CopyModel(NamedTuple):
    """The relaxation, costs and levels scaled to about one: relations by rows and by cells, cuts the same way, and step lengths.

    `own`: the copy of each cell, or -1. `cell`, `level`: of each copy.
    """

    rows_at: IntArray
    rows: IntArray
    row_factors: AnyArray
    columns_at: IntArray
    columns: IntArray
    column_factors: AnyArray
    cuts_at: IntArray
    cuts: IntArray
    cut_factors: AnyArray
    needs: AnyArray
    own: IntArray
    cell: IntArray
    level: AnyArray
    steps: PrimalDualSteps


class CopyState(NamedTuple):
    """Where the method stands: R, e, X, the multipliers L and nu, their sums since the last restart; and room to work in."""

    inside: AnyArray
    size: AnyArray
    sign: AnyArray
    relations: AnyArray
    cuts: AnyArray
    relations_sum: AnyArray
    cuts_sum: AnyArray
    pull: AnyArray
    ahead: AnyArray
    size_ahead: AnyArray


def bound_by_copies(search: Search) -> None:
    """Raise the search's bound by the lifted relaxation, as long as it promises more."""
    problem, known = search.problem, search.cuts
    if problem.norm != "l1" or known is None or (lifted := _Lifted.of(problem, known)) is None:
        return
    search.enter("lifting the bound")
    end = time.monotonic() + TUNING.share_of_time * search.seconds_left
    idle, best = 0, search.proved
    for look in range(1, 2**31):
        lifted.step(TUNING.steps)
        bound, promised, proof = lifted.bound()
        idle = 0 if bound > best * (1 + TUNING.settled) else idle + 1
        best = max(best, bound)
        search.offer_bound(bound, proof)
        hopeless = look >= TUNING.looks and promised < max(known.bound, search.proved) * TUNING.hopeless
        if search.done or hopeless or (idle >= TUNING.patience and look > TUNING.looks) or time.monotonic() > end:
            return


class _Lifted:
    """The relaxation of one problem, its state, and the bound of the multipliers at hand."""

    def __init__(self, problem: ProtectionProblem, known: BoundProof, cells: IntArray, least: FloatArray) -> None:
        self.problem, self.known, self.cells = problem, known, cells
        self.floor = problem.weight * least
        self.unit = float(np.median(self.floor[cells]))
        inverse = diags(1.0 / problem.weight)
        self.relations, self.row_scale = _rows_to_one(csr_matrix(problem.relations.astype(np.float64) @ inverse))
        self.cuts, self.cut_scale = _rows_to_one(csr_matrix(known.matrix @ inverse))
        self.needs = (known.rhs - known.matrix @ least) * self.cut_scale / self.unit
        self.level = self.floor[cells] / self.unit
        self.own = np.full(problem.size, -1, dtype=np.int64)
        self.own[cells] = np.arange(cells.size)
        self.model, self.state, self.summed = self._model(), self._start(), 0

    @classmethod
    def of(cls, problem: ProtectionProblem, known: BoundProof) -> _Lifted | None:
        """None where there are too few signs to multiply, or too many copies to hold."""
        least = least_sizes(problem).astype(np.float64)
        cells = np.flatnonzero(problem.sensitive & (least > 0))
        if cells.size < TUNING.fewest_copies or cells.size * max(problem.size, problem.rhs.size) > TUNING.most_entries:
            return None
        return cls(problem, known, cells, least)

    def _model(self) -> CopyModel:
        """Steps by the sums of the coefficients in each row and column (Pock and Chambolle 2011)."""
        balance = next(each for most, each in TUNING.balance if self.cells.size <= most)
        weights = np.ones(self.problem.size)
        weights[self.cells] += self.level
        sizes, cut_sizes, columns = abs(self.relations), abs(self.cuts), self.relations.T.tocsr()
        in_rows = np.asarray(sizes.sum(axis=0)).reshape(-1)
        in_cuts = np.asarray(cut_sizes.sum(axis=0)).reshape(-1)
        steps = PrimalDualSteps(
            copy=_single(1.0 / (balance * np.maximum(in_rows, 1e-12))),
            size=_single(1.0 / (balance * (in_cuts + 1.0))),
            sign=_single(balance * in_rows[self.cells] * self.level),
            relation=_single(balance / np.maximum(sizes @ weights, 1e-12)),
            cut=_single(balance / np.maximum(np.asarray(cut_sizes.sum(axis=1)).reshape(-1), 1e-12)),
        )
        places = [(each.indptr.astype(np.int64), each.indices.astype(np.int64), _single(each.data)) for each in (self.relations, columns)]
        cuts = (self.cuts.indptr.astype(np.int64), self.cuts.indices.astype(np.int64), _single(self.cuts.data))
        return CopyModel(*places[0], *places[1], *cuts, _single(self.needs), self.own, self.cells, _single(self.level), steps)

    def _start(self) -> CopyState:
        cells, copies, rows = self.problem.size, self.cells.size, self.problem.rhs.size
        wide, tall = (cells, copies), (rows, copies)
        nu = _single(self.known.multipliers / self.cut_scale)
        arrays = (wide, cells, None, tall, None, tall, nu.size, wide, wide, cells)
        made = [_single(np.zeros(0 if shape is None else shape)) for shape in arrays]
        made[2], made[4] = _single(np.eye(copies)), nu
        return CopyState(*made)

    def step(self, count: int) -> None:
        _advance(self.model, self.state, count, TUNING.newton)
        self.summed += count

    def bound(self) -> tuple[float, float, LiftedMultipliers]:
        """The better bound of the multipliers now and on average since the last restart, what it would be if they fitted, and the proof."""
        state, mean = self.state, 1.0 / self.summed
        now = self._worth(state.relations.astype(np.float64), state.cuts.astype(np.float64))
        average = self._worth(state.relations_sum.astype(np.float64) * mean, state.cuts_sum.astype(np.float64) * mean)
        if self.summed >= TUNING.looks * TUNING.steps:
            state.relations_sum[:], state.cuts_sum[:], self.summed = 0.0, 0.0, 0
        best = max(now, average, key=lambda each: each.bound)
        return best.bound, max(now.promised, average.promised), self._proof(best)

    def _worth(self, relations: FloatArray, cuts: FloatArray) -> _Worth:
        """What multipliers prove once they are shrunk so that no size pays: the certificate's formula, in doubles."""
        pull = np.asarray(self.relations.T @ relations)
        own, copies = pull[self.cells, np.arange(self.cells.size)], self.level[:, np.newaxis] * pull[self.cells]
        total = np.abs(pull).sum(axis=1) + self.cuts.T @ cuts
        total[self.cells] -= np.abs(own) + own
        fits = min(1.0, 1.0 / max(float(total.max(initial=0.0)), 1e-12))
        pairs = np.abs(copies + copies.T)
        gain = float(cuts @ self.needs + self.level @ own - (pairs.sum() - np.trace(pairs)) / 2)
        gain -= float(np.abs(relations.T @ (self.problem.residual / self.unit * self.row_scale)).sum())
        floor = float(self.floor.sum())
        shrunk = fits * (1 - 1e-9)
        return _Worth(floor + self.unit * shrunk * gain, floor + self.unit * gain, relations * shrunk, cuts * shrunk)

    def _proof(self, worth: _Worth) -> LiftedMultipliers:
        used = np.flatnonzero(worth.cuts > 0)
        plain = DualMultipliers(np.zeros(0), self.known.relation[used], self.known.cell[used], (worth.cuts * self.cut_scale)[used])
        return LiftedMultipliers(plain, self.cells, csr_matrix(worth.relations * self.row_scale[:, np.newaxis]))


class _Worth(NamedTuple):
    """What multipliers prove; what they would, if they fitted; and themselves, made to fit."""

    bound: float
    promised: float
    relations: FloatArray
    cuts: FloatArray


def _single(array: AnyArray) -> AnyArray:
    """In single precision: half the room, and twice as many at a time."""
    return np.ascontiguousarray(array, dtype=np.float32)


def _rows_to_one(matrix: csr_matrix) -> tuple[csr_matrix, FloatArray]:
    """The matrix with the largest entry of each row at one, and what its rows were multiplied by."""
    matrix.sum_duplicates()
    largest = np.asarray(abs(matrix).max(axis=1).todense()).reshape(-1)
    scale = 1.0 / np.where(largest > 0, largest, 1.0)
    return csr_matrix(diags(scale) @ matrix), scale


@njit(cache=True, fastmath=True)
def _advance(model, state, count, newton):  # type: ignore[no-untyped-def]
    """So many primal-dual steps, all in place."""
    for _ in range(count):
        _pull_of(model, state)
        _move_sizes(model, state, newton)
        _move_signs(model, state)
        _move_multipliers(model, state)


@njit(cache=True, fastmath=True)
def _pull_of(model, state):  # type: ignore[no-untyped-def]
    """G = A'L, a row for each cell."""
    for cell in range(state.pull.shape[0]):
        pull = state.pull[cell]
        pull[:] = np.float32(0.0)
        for at in range(model.columns_at[cell], model.columns_at[cell + 1]):
            factor, other = model.column_factors[at], state.relations[model.columns[at]]
            for copy in range(pull.size):
                pull[copy] += factor * other[copy]


@njit(cache=True, fastmath=True, inline="always")
def _beyond(copies, size):  # type: ignore[no-untyped-def]
    """By how much copies are larger than a size, in all, and how many of them."""
    over, many = np.float32(0.0), np.float32(0.0)
    for copy in range(copies.size):
        beyond = abs(copies[copy]) - size
        if beyond > 0:
            over += beyond
            many += np.float32(1.0)
    return over, many


@njit(cache=True, fastmath=True)
def _move_sizes(model, state, newton):  # type: ignore[no-untyped-def]
    """The nearest R and e to one step down: all copies of a cell within its size, by Newton's method; and both one step ahead."""
    gain = np.ones(state.size.size, np.float32)
    for cut in range(state.cuts.size):
        for at in range(model.cuts_at[cut], model.cuts_at[cut + 1]):
            gain[model.cuts[at]] -= model.cut_factors[at] * state.cuts[cut]
    for cell in range(state.pull.shape[0]):
        pull, inside, ahead, own = state.pull[cell], state.inside[cell], state.ahead[cell], model.own[cell]
        step, stiff = model.steps.copy[cell], np.float32(1.0) / model.steps.copy[cell]
        for copy in range(pull.size):
            ahead[copy] = inside[copy] - step * pull[copy]
        tied = ahead[own] if own >= 0 else np.float32(0.0)
        if own >= 0:
            ahead[own] = np.float32(0.0)
        target, firm = state.size[cell] - gain[cell] * model.steps.size[cell], np.float32(1.0) / model.steps.size[cell]
        size = state.size[cell]
        for _ in range(newton):
            over, many = _beyond(ahead, size)
            value, slope = (size - target) * firm - stiff * over, firm + stiff * many
            if own >= 0:
                value, slope = value + stiff * (size - tied), slope + stiff
            size = max(np.float32(0.0), size - value / slope)
        for copy in range(pull.size):
            moved = size if copy == own else min(max(ahead[copy], -size), size)
            ahead[copy] = np.float32(2.0) * moved - inside[copy]
            inside[copy] = moved
        state.size_ahead[cell] = np.float32(2.0) * size - state.size[cell]
        state.size[cell] = size


@njit(cache=True, fastmath=True)
def _move_signs(model, state):  # type: ignore[no-untyped-def]
    """One step of X, clipped; and p X one step ahead, added to the copies."""
    sign, level = state.sign, model.level
    for one in range(level.size):
        for other in range(one):
            pull = level[other] * state.pull[model.cell[other], one] + level[one] * state.pull[model.cell[one], other]
            moved = sign[one, other] - pull / (model.steps.sign[one] + model.steps.sign[other])
            moved = min(max(moved, np.float32(-1.0)), np.float32(1.0))
            ahead = np.float32(2.0) * moved - sign[one, other]
            sign[one, other] = moved
            state.ahead[model.cell[other], one] += level[other] * ahead
            state.ahead[model.cell[one], other] += level[one] * ahead
        state.ahead[model.cell[one], one] += level[one]


@njit(cache=True, fastmath=True)
def _move_multipliers(model, state):  # type: ignore[no-untyped-def]
    """One step up along what the relations of every copy, and the cuts, are out by."""
    for row in range(state.relations.shape[0]):
        own, total = state.relations[row], state.relations_sum[row]
        for at in range(model.rows_at[row], model.rows_at[row + 1]):
            factor, other = model.row_factors[at] * model.steps.relation[row], state.ahead[model.rows[at]]
            for copy in range(own.size):
                own[copy] += factor * other[copy]
        for copy in range(own.size):
            total[copy] += own[copy]
    for cut in range(state.cuts.size):
        lacking = model.needs[cut]
        for at in range(model.cuts_at[cut], model.cuts_at[cut + 1]):
            lacking -= model.cut_factors[at] * state.size_ahead[model.cuts[at]]
        state.cuts[cut] = max(np.float32(0.0), state.cuts[cut] + model.steps.cut[cut] * lacking)
        state.cuts_sum[cut] += state.cuts[cut]
