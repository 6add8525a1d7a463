"""Lower bounds on the cost of any safe table (docs/science.md, section 5): polygon and cover inequalities in the sizes u = |z|.

polygon: where relation j reads  sum c z = r,  no term can be larger than all the others together:
         |c_i| u_i <= sum over k != i of |c_k| u_k + |r|.
cover:   with the sensitive terms at their levels, the best choice of signs still leaves d_j, which must be absorbed:
         sum over k in j of |c_k| (u_k - level_k) >= d_j.
The bound is not the solver's value but a Lagrangean one, worked out from its multipliers: any multipliers give a valid bound. The
multipliers go with it, so that the certificate (`protect.bounds.certificate`) can be checked in exact integers on the original problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import BoundProof, DualMultipliers, Search
from statveil.solve.model import LinearModel


class CutTuning(NamedTuple):
    """What steers the bound by cuts: by judgement."""

    meet_in_the_middle: int = 26
    """Sensitive cells of a relation up to which sums are listed from both ends; beyond, they are marked in a row of bits."""
    widest_span: int = 4_000_000
    """Longest row of bits; a longer relation of large levels can nearly always be balanced and gets no cover cut."""
    rounds: int = 30
    cuts_per_round: int = 20_000
    settled: float = 1e-6
    """Relative rise of the bound in a round below which further cuts are not worth their time."""
    share_of_time: float = 0.3  # part of the time left that the bound may take, so that the senses get the rest


TUNING = CutTuning()


def bound_by_cuts(search: Search) -> None:
    """Raise the search's bound by polygon and cover inequalities, generated where the last solution breaks them."""
    problem = search.problem
    sizes = _Sizes(problem, search.objective) if problem.norm == "l1" else _SquaredSizes(problem, search.objective)
    cuts = cover_cuts(problem, sizes.lower)
    search.offer_bound(problem.cost(least_sizes(problem)), cuts.proof(np.zeros(cuts.rhs.size)))
    leave = search.seconds_left * (1 - TUNING.share_of_time)
    last = 0.0
    for _ in range(TUNING.rounds):
        solved = sizes.solve(cuts, search.seconds_left - leave)
        if solved is None:
            return
        u, multipliers = solved[0], solved[1] * sizes.fitting(cuts.matrix.T @ solved[1])
        binding = np.flatnonzero(multipliers > 1e-7 * problem.weight.min(initial=np.inf))
        bound = sizes.lagrangean(cuts, multipliers)
        tight, reduced = cuts.some(binding), sizes.reduced(cuts, multipliers)
        search.cuts = BoundProof(tight.matrix, tight.rhs, reduced, bound, tight.relation, tight.cell, multipliers[binding])
        search.offer_bound(bound, cuts.proof(multipliers))
        settled, last = bound - last <= TUNING.settled * bound, bound
        if settled or search.done or search.seconds_left <= leave or not (broken := broken_polygons(problem, u)).rhs.size:
            return
        cuts = cuts.with_more(broken)


class SizeCuts(NamedTuple):
    """Inequalities matrix u >= rhs, and what each is: its relation, and the cell that is the longest there (`COVER`: a cover cut)."""

    matrix: csr_matrix
    rhs: FloatArray
    relation: IntArray
    cell: IntArray

    def with_more(self, other: SizeCuts) -> SizeCuts:
        matrix = vstack([self.matrix, other.matrix], format="csr")
        return SizeCuts(matrix, *(np.concatenate(pair) for pair in zip(self[1:], other[1:], strict=True)))

    def some(self, chosen: IntArray) -> SizeCuts:
        return SizeCuts(self.matrix[chosen], self.rhs[chosen], self.relation[chosen], self.cell[chosen])

    def proof(self, multipliers: FloatArray) -> DualMultipliers:
        used = np.flatnonzero(multipliers > 0)
        return DualMultipliers(np.zeros(0), self.relation[used], self.cell[used], multipliers[used])


class _Sizes:
    """The variables u = |z| with their ranges. A table that costs more than the incumbent is of no interest: u <= incumbent / w."""

    def __init__(self, problem: ProtectionProblem, incumbent: float) -> None:
        self.weight = problem.weight
        self.lower = least_sizes(problem).astype(np.float64)
        reach = np.maximum(np.abs(problem.free.low), np.abs(problem.free.high))
        self.upper = np.where(reach >= NO_LIMIT // 2, np.inf, reach).astype(np.float64)
        if np.isfinite(incumbent):
            reach = incumbent / problem.weight * (1 + 1e-9)
            self.upper = np.minimum(self.upper, np.maximum(self.lower, reach if problem.norm == "l1" else np.sqrt(reach)))
        levels = self.lower[self.lower > 0]
        self.unit = float(2.0 ** round(np.log2(np.median(levels) / 50))) if levels.size else 1.0
        self.price = 1.0 / float(np.median(problem.weight)) if problem.size else 1.0

    def solve(self, cuts: SizeCuts, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """Least sizes under the cuts, and the multipliers of the cuts in the problem's own costs."""
        from statveil.solve import highs

        model = LinearModel(
            cost=self.weight * self.price,
            matrix=cuts.matrix,
            row_lower=cuts.rhs / self.unit,
            row_upper=np.full(cuts.rhs.size, np.inf),
            lower=self.lower / self.unit,
            upper=self.upper / self.unit,
        )
        solution = highs.solve(model, seconds=seconds, algorithm="ipm", options=highs.NO_CROSSOVER)
        if solution.x is None or solution.row_duals is None:
            return None
        return solution.x * self.unit, np.maximum(solution.row_duals, 0.0) / self.price

    def lagrangean(self, cuts: SizeCuts, multipliers: FloatArray) -> float:
        """min over lower <= u <= upper of cost(u) + y (rhs - M u), for y >= 0: a valid bound whatever the solver did."""
        terms = self.least_terms(cuts.matrix.T @ multipliers)
        slack = 1e-12 * float(np.abs(terms).sum() + np.abs(multipliers * cuts.rhs).sum())
        return float(terms.sum() + multipliers @ cuts.rhs) - slack

    def reduced(self, cuts: SizeCuts, multipliers: FloatArray) -> FloatArray:
        """What a further unit of each cell's size costs beyond the bound (L1)."""
        return np.asarray(self.weight - cuts.matrix.T @ multipliers)

    def fitting(self, pull: FloatArray) -> float:
        """How far the multipliers must shrink so that no cell of endless range has a negative cost left."""
        over = np.isinf(self.upper) & (pull > self.weight)
        return float((self.weight[over] / pull[over]).min(initial=1.0)) * (1 - 1e-12)

    def least_terms(self, pull: FloatArray) -> FloatArray:
        """For each cell the least of w u - pull u over its range."""
        reduced = self.weight - pull
        at = np.where((reduced >= 0) | np.isinf(self.upper), self.lower, self.upper)
        return np.asarray(np.where(np.isinf(self.upper), np.maximum(reduced, 0.0), reduced) * at)


class _SquaredSizes(_Sizes):
    """The same for L2: the cost is w u^2, the program quadratic, and each cell's least term is at an end or at the vertex."""

    def solve(self, cuts: SizeCuts, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        from statveil.solve import quadratic

        scale = self.unit * self.price
        solved = quadratic.least_squares_above(
            weight=self.weight * self.price,
            matrix=cuts.matrix,
            rhs=cuts.rhs / self.unit,
            lower=self.lower / self.unit,
            upper=self.upper / self.unit,
        )
        if solved is None:
            return None
        return solved[0] * self.unit, np.maximum(solved[1], 0.0) * self.unit * self.unit / scale

    def fitting(self, pull: FloatArray) -> float:
        return 1.0

    def least_terms(self, pull: FloatArray) -> FloatArray:
        at = np.clip(pull / (2 * self.weight), self.lower, self.upper)
        return np.asarray(self.weight * at * at - pull * at)


def least_sizes(problem: ProtectionProblem) -> IntArray:
    """The least |z| of each cell: its smaller open level if sensitive, its distance from the bounds if they exclude zero."""
    down = np.where(problem.can_go_down, -problem.down.high, NO_LIMIT)
    up = np.where(problem.can_go_up, problem.up.low, NO_LIMIT)
    forced = np.maximum(0, np.maximum(problem.free.low, -problem.free.high))
    least = np.maximum(np.minimum(down, up), forced)
    return np.where(problem.sensitive & (least < NO_LIMIT), least, forced).astype(np.int64)


def broken_polygons(problem: ProtectionProblem, u: FloatArray) -> SizeCuts:
    """Polygon inequalities that u breaks, at most one per relation and round (its largest term), the worst first."""
    matrix = problem.relations
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    terms = np.abs(matrix.data) * u[matrix.indices]
    totals = np.bincount(rows, weights=terms, minlength=matrix.shape[0]) + np.abs(problem.residual)
    excess = 2 * terms - totals[rows]
    broken = np.flatnonzero(excess > 1e-6 * (1.0 + totals[rows]))
    broken = broken[np.argsort(-excess[broken], kind="stable")][: TUNING.cuts_per_round]
    chosen = rows[broken]
    cuts = abs(matrix[chosen]).astype(np.float64).tocsr()
    own = csr_matrix((2.0 * np.abs(matrix.data[broken]), (np.arange(broken.size), matrix.indices[broken])), shape=cuts.shape)
    rhs = -np.abs(problem.residual[chosen]).astype(np.float64)
    return SizeCuts((cuts - own).tocsr(), rhs, chosen, matrix.indices[broken].astype(np.int64))


def cover_cuts(problem: ProtectionProblem, lower: FloatArray) -> SizeCuts:
    """For each relation that cannot be balanced by signs alone: sum |c| u >= sum over the sensitive of |c| least + d."""
    matrix = problem.relations
    chosen, amounts = [], []
    for row, imbalance in _imbalances(problem):
        if imbalance > 0:
            chosen.append(row)
            amounts.append(imbalance)
    cuts = abs(matrix[chosen]).astype(np.float64).tocsr() if chosen else csr_matrix((0, problem.size))
    rhs = np.asarray(cuts @ np.where(problem.sensitive, lower, 0.0) + np.array(amounts, dtype=np.float64))
    return SizeCuts(cuts, rhs, np.array(chosen, dtype=np.int64), np.full(len(chosen), COVER))


def _imbalances(problem: ProtectionProblem) -> Iterator[tuple[int, int]]:
    """Relation and the least |r - sum of c z| with every sensitive z at a level of an open sense and the others at rest."""
    matrix = problem.relations
    sensitive = problem.sensitive
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, factors = matrix.indices[part], matrix.data[part]
        held = sensitive[cells]
        if held.any():
            choices = _choices(problem, cells[held], factors[held])
            long = held.sum() > TUNING.meet_in_the_middle
            span = sum(max(terms) - min(terms) for terms in choices if terms)
            if not long or span <= TUNING.widest_span:
                yield row, (least_imbalance_of_many if long else least_imbalance)(int(problem.residual[row]), choices)


def _choices(problem: ProtectionProblem, cells: AnyArray, factors: AnyArray) -> list[tuple[int, ...]]:
    """The terms that each sensitive cell can bring at its level: one or two."""
    return [
        tuple(
            int(factor * z)
            for z, open_ in ((problem.up.low[cell], problem.can_go_up[cell]), (problem.down.high[cell], problem.can_go_down[cell]))
            if open_
        )
        for cell, factor in zip(cells, factors, strict=True)
    ]


def least_imbalance(target: int, choices: list[tuple[int, ...]]) -> int:
    """min |target - sum of one choice each|, by meeting in the middle: exact."""
    half = len(choices) // 2
    left, right = _all_sums(choices[:half]), np.sort(_all_sums(choices[half:]))
    wanted = target - left
    at = np.searchsorted(right, wanted)
    above = np.abs(right[np.minimum(at, right.size - 1)] - wanted)
    below = np.abs(right[np.maximum(at - 1, 0)] - wanted)
    return int(np.minimum(above, below).min(initial=2**62))


def least_imbalance_of_many(target: int, choices: list[tuple[int, ...]]) -> int:
    """The same for many cells of small levels: bit b of a long integer says that the sum base + b can be reached."""
    base, bits = 0, 1
    for terms in filter(None, choices):
        least = min(terms)
        base += least
        bits = _united(bits << (term - least) for term in terms)
    at = target - base
    below = (bits & ((1 << (at + 1)) - 1)).bit_length() - 1 if at >= 0 else -1
    above = bits >> max(at, 0)
    nearest_above = (above & -above).bit_length() - 1 + max(at, 0) - at if above else 2**62
    return min(at - below if below >= 0 else 2**62, nearest_above)


def _united(rows: Iterator[int]) -> int:
    together = 0
    for row in rows:
        together |= row
    return together


def _all_sums(choices: list[tuple[int, ...]]) -> IntArray:
    sums = np.zeros(1, dtype=np.int64)
    for terms in choices:
        sums = np.unique(np.concatenate([sums + term for term in terms])) if terms else sums
    return sums
