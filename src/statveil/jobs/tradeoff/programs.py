"""Linear programs for points of the front: distortion and caps are columns like the changes themselves (S1 section 5, paragraph 35).

With the senses fixed, everything but V = Var(y) / Var(a) is linear in the deviations y (S1 section 3.2): the slope is 1 + L, the
variance ratio 1 + 2 L + V, and 1 - corr^2 = (V - L^2) / (1 + 2 L + V). V is convex: the square of each
deviation is no less than any of its tangents, a few of which stand for it (over many cells: tangents of V itself, at the tables met
so far); what is not convex is taken linear at the last table. So the least distortion, the least change
within a distortion, and the smallest percentages that both leave possible are linear programs over the same rows: each term of the
distortion has a column that is no less than its pieces, and each percentage is a column that bounds its cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.jobs.tradeoff.front import distortion_of, mean_scale
from statveil.protect.fixed_senses import FixedSenses, make_whole
from statveil.protect.keep.tabu.objective import moments_of
from statveil.protect.keep.wishes import Target
from statveil.protect.problem import ProtectionProblem
from statveil.solve.model import LinearModel, LinearSolution


class FrontProgramTuning(NamedTuple):
    """How finely what is not linear is cut, and how exact programs are. All by judgement."""

    simplex_up_to: int = 3_000
    """Cells that move below which the simplex method is used; from there on, an interior point method."""
    most_tangents: int = 8
    """Tangents of V kept beside the first; each is a row as long as its set of cells."""
    most_squares: int = 3_000
    """Cells of a set up to which each has a column for its square."""
    touching: tuple[float, ...] = (1.0, 1.4, 2.0, 3.0, 5.0, 9.0)
    """Where the tangents of a square touch it, in multiples of what the cell moves by at the least."""
    least_share: float = 0.02
    """What a cell that is not sensitive is taken to move by at the least, as a share of its value."""
    least_ratio: float = 1e-3
    """A variance ratio below which the correlation is taken as if it were that."""
    more_change: float = 0.05
    """What the change may grow by, as a share, where the percentages are to be small."""
    rounding: float = 1e-6
    """Relative differences that programs do not tell apart."""
    next_to_nothing: float = 1e-9
    """Stands for a cap of nothing where something is divided by it."""


TUNING = FrontProgramTuning()


class Piece(NamedTuple):
    """A linear function of the deviations that a term is no less than: factor y + sizes |y| + shift over the cells of a target.

    With `squares`, the mean square of the deviations by Var(a) is added, which column `target` of these stands for.
    """

    cells: IntArray
    factor: FloatArray
    shift: float
    squares: float = 0.0
    target: int = -1
    sizes: FloatArray | None = None
    """Of cells that either rise or fall, as the sensitive ones do; None where there are none."""


Term = list[Piece]
"""One term of the distortion: the largest of its pieces, and zero."""


class Tangent(NamedTuple):
    """V(y) >= factor y + shift over the cells of a target, with equality where it touches; with `squares`, plus their mean square."""

    factor: FloatArray
    shift: float
    squares: float = 0.0


class Squares(NamedTuple):
    """The column for the mean square of a target's deviations by Var(a), times `scale`."""

    column: int
    scale: float


class ProgramPoint(NamedTuple):
    """A solution: deviations before they are made whole, what they cost, and how much they distort."""

    deviation: FloatArray
    cost: float
    distortion: float


class FrontProgram:
    """The programs of one problem with one choice of senses; it learns tangents from every solution."""

    def __init__(self, problem: ProtectionProblem, targets: Sequence[Target], senses: IntArray) -> None:
        self.problem, self.targets, self.senses = problem, targets, senses
        self.fixed, self.base = self._begin()
        self._nearest = FixedSenses(dataclasses.replace(problem, norm="l2"))
        self._squares = [self._with_squares(target) for target in targets]
        self._tangents: list[list[Tangent]] = [[] for _ in targets]
        self._learn(least_moves(problem, senses))

    def _begin(self) -> tuple[FixedSenses, LinearModel]:
        """What deviations are made of, and the program of all safe ones: its first columns are what each cell rises, and what it falls."""
        fixed = FixedSenses(self.problem)
        return fixed, fixed.model(self.senses)

    def least_distortion(self, near: FloatArray, change: float, *, seconds: float) -> ProgramPoint | None:
        """The least distortion with no more than this change."""
        wide, scale = self._with_terms(self._terms(near))
        budget = csr_matrix(wide.cost)
        price = np.concatenate([np.zeros(self.base.cost.size), scale.min() / scale])
        most = np.array([change * self.fixed.price / self.fixed.unit])
        return self._solved(_with_rows(dataclasses.replace(wide, cost=price), budget, most), seconds=seconds)

    def least_change(self, near: FloatArray, distortion: float, *, seconds: float) -> ProgramPoint | None:
        """The least change with no more than this distortion, as the pieces at `near` tell it."""
        return self._solved(self._within(self._terms(near), distortion), seconds=seconds)

    def smallest_caps(self, point: ProgramPoint, *, seconds: float) -> ProgramPoint | None:
        """The smallest percentages with no more than the point's distortion, and a little more than its change.

        Two columns: t with rise, fall <= t level for the sensitive cells, and u with rise, fall <= u |value| for the others; each counts
        in shares of what it is at the point.
        """
        model = self._within(self._terms(point.deviation), point.distortion * (1 + TUNING.rounding))
        width, used = model.cost.size, np.maximum(largest_moves(self.problem, self.senses, point.deviation), TUNING.next_to_nothing)
        budget = hstack([csr_matrix(model.cost), csr_matrix((1, 2))], format="csr")
        most = point.cost * (1 + TUNING.more_change) * self.fixed.price / self.fixed.unit
        wide = _with_columns(model, np.concatenate([np.zeros(width), 1.0 / used]), 2)
        wide = _with_rows(wide, *self._cap_rows(width))
        return self._solved(_with_rows(wide, budget, np.array([most])), seconds=seconds)

    def whole(self, point: ProgramPoint, *, seconds: float) -> IntArray | None:
        """The whole, additive, safe table next to a point."""
        deviation = make_whole(self._nearest, self.senses, point.deviation, seconds=seconds)
        return deviation if deviation is not None and self.problem.accepts(deviation) else None

    def _terms(self, near: FloatArray) -> list[Term]:
        found: list[Term] = []
        for number, (target, known) in enumerate(zip(self.targets, self._tangents, strict=True)):
            exact = [square_tangent(target, near)] if self._squares[number] else []
            one_way = self.problem.sensitive[target.cells]
            found += [[piece._replace(target=number) for piece in term] for term in terms_of(target, near, [*known, *exact], one_way)]
        return found

    def _with_squares(self, target: Target) -> Squares | None:
        """Columns for the squares of a target's deviations, in shares of the least, and one for their mean by Var(a)."""
        moving, unit = self.fixed.moving, self.fixed.unit
        if not (target.variance or target.correlation) or target.size > TUNING.most_squares:
            return None
        place = np.full(self.problem.size, -1)
        place[moving] = np.arange(moving.size)
        cells = target.cells[place[target.cells] >= 0]
        least = np.maximum(
            cap_units(self.problem, self.senses)[cells] * np.where(self.problem.sensitive[cells], 1.0, TUNING.least_share), 1.0
        )
        width, count = self.base.cost.size, cells.size
        each, rise = np.arange(count), place[cells]
        rows = list[csr_matrix]()
        for touch in TUNING.touching:  # q >= 2 t (rise + fall) / least - t^2
            values = np.concatenate([np.tile(2 * touch * unit / least, 2), np.full(count, -1.0)])
            columns = np.concatenate([rise, moving.size + rise, width + each])
            rows.append(csr_matrix((values, (np.tile(each, 3), columns)), shape=(count, width + count + 1)))
        share = least * least / (target.size * target.variance_before)
        scale = 1.0 / float(share.max(initial=1e-30))
        total = csr_matrix(np.concatenate([np.zeros(width), share * scale, [-1.0]]))
        self.base = _with_columns(self.base, np.concatenate([self.base.cost, np.zeros(count + 1)]), count + 1)
        upper = np.concatenate([np.repeat(np.square(TUNING.touching), count), [0.0]])
        self.base = _with_rows(self.base, csr_matrix(vstack([*rows, total], format="csr")), upper)
        return Squares(width + count, scale)

    def _learn(self, deviation: FloatArray) -> None:
        for target, known in zip(self.targets, self._tangents, strict=True):
            if target.variance or target.correlation:
                known.append(tangent_of(target, deviation))
                del known[1 : max(len(known) - TUNING.most_tangents, 1)]

    def _within(self, terms: Sequence[Term], distortion: float) -> LinearModel:
        wide, scale = self._with_terms(terms)
        row = csr_matrix(np.concatenate([np.zeros(self.base.cost.size), scale.min() / scale]))
        return _with_rows(wide, row, np.array([distortion * scale.min()]))

    def _with_terms(self, terms: Sequence[Term]) -> tuple[LinearModel, FloatArray]:
        """The base with a column for each term, scaled so that the largest factor of its pieces is one, and a row for each piece."""
        width, moving, unit = self.base.cost.size, self.fixed.moving, self.fixed.unit
        scale = np.array([1.0 / max(float(np.abs(piece.factor).max()) * unit for piece in term) for term in terms])
        lines, upper = list[csr_matrix](), list[float]()
        for number, term in enumerate(terms):
            for piece in term:
                factor, sizes = np.zeros(self.problem.size), np.zeros(self.problem.size)
                factor[piece.cells] = piece.factor * (unit * scale[number])
                sizes[piece.cells] = 0.0 if piece.sizes is None else piece.sizes * (unit * scale[number])
                own, either = factor[moving], sizes[moving]
                rest = np.zeros(width - 2 * own.size + len(terms))
                rest[width - 2 * own.size + number] = -1.0
                squares = self._squares[piece.target]
                if piece.squares and squares is not None:
                    rest[squares.column - 2 * own.size] = piece.squares * scale[number] / squares.scale
                lines.append(csr_matrix(np.concatenate([either + own, either - own, rest])))
                upper.append(-piece.shift * scale[number])
        wide = _with_columns(self.base, np.concatenate([self.base.cost, np.zeros(len(terms))]), len(terms))
        return _with_rows(wide, csr_matrix(vstack(lines, format="csr")), np.array(upper)), scale

    def _cap_rows(self, width: int) -> tuple[csr_matrix, FloatArray]:
        """Rows rise_i + fall_i - reach_i t <= 0, t the first cap for sensitive cells and the second for the others that have a size."""
        moving, unit = self.fixed.moving, self.fixed.unit
        reach = cap_units(self.problem, self.senses)[moving] / unit
        bound = np.flatnonzero(reach > 0)
        each = np.arange(bound.size)
        which = np.where(self.problem.sensitive[moving[bound]], width, width + 1)
        ones, shape = np.ones(bound.size), (bound.size, width + 2)
        rows = csr_matrix((ones, (each, bound)), shape=shape) + csr_matrix((ones, (each, moving.size + bound)), shape=shape)
        return csr_matrix(rows - csr_matrix((reach[bound], (each, which)), shape=shape)), np.zeros(bound.size)

    def _solve(self, model: LinearModel, seconds: float) -> LinearSolution:
        from statveil.solve import highs

        return highs.solve(model, seconds=seconds, algorithm="simplex" if self.fixed.moving.size < TUNING.simplex_up_to else "ipm")

    def _solved(self, model: LinearModel, *, seconds: float) -> ProgramPoint | None:
        solution = self._solve(model, seconds)
        if solution.x is None:
            return None
        deviation = self.fixed.deviation(solution.x)
        self._learn(deviation)
        return ProgramPoint(deviation, float(self.problem.weight @ np.abs(deviation)), distortion_of(self.targets, deviation))


def tangent_of(target: Target, deviation: FloatArray) -> Tangent:
    """V(y) = Var(y) / Var(a) touches 2 (y0 - mean) y / (n Var) - V(y0) at y0."""
    own = deviation[target.cells]
    factor = 2 * (own - own.mean()) / (target.size * target.variance_before)
    return Tangent(factor, -moments_of(target, own).spread)


def square_tangent(target: Target, near: FloatArray) -> Tangent:
    """V(y) = mean square - mean^2 by Var(a), the square of the mean by its tangent: never too small, and right at `near`."""
    mean = float(near[target.cells].mean())
    by = target.variance_before
    return Tangent(np.full(target.size, -2 * mean / (target.size * by)), mean * mean / by, 1.0)


def terms_of(target: Target, near: FloatArray, known: Sequence[Tangent], one_way: BoolArray) -> list[Term]:
    """The terms of a set of cells. What is not convex, L^2 and the variance ratio where it is below one, is linear at `near`.

    Cells that go `one_way` rise or fall but not both: there the ratio is linear in their sizes, whichever way they go.
    """
    cells, terms = target.cells, list[Term]()
    if target.mean:
        both = np.full(target.size, 1.0 / mean_scale(target))
        terms.append([Piece(cells, sign * both, 0.0) for sign in (1, -1)])
    if not target.spread:
        return terms
    now, gradient = moments_of(target, near[cells]), target.gradient
    here = tangent_of(target, near)
    if target.correlation:
        ratio, line = max(now.variance_ratio, TUNING.least_ratio), 2 * now.linear * gradient
        shift = now.linear * now.linear
        terms.append(
            [Piece(cells, (each.factor - line) / ratio, (each.shift + shift) / ratio, each.squares / ratio) for each in (here, *known)]
        )
    if target.slope:
        terms.append([Piece(cells, sign * gradient, 0.0) for sign in (1, -1)])
    if target.variance:
        above = [Piece(cells, 2 * gradient + each.factor, each.shift, each.squares) for each in (here, *known)]
        by = target.size * target.variance_before
        sizes = np.where(one_way, np.abs(near[cells]), 0.0) * (2 / by)
        signed = here.factor - np.where(one_way, near[cells], 0.0) * (2 / by)
        terms.append([*above, Piece(cells, -(2 * gradient + signed), -here.shift, sizes=-sizes)])
    return terms


def least_moves(problem: ProtectionProblem, senses: IntArray) -> FloatArray:
    """Every sensitive cell at its level on the side it goes to, all others where they are: no table, but V is hardly smaller anywhere."""
    return np.where(senses > 0, problem.upper_level, np.where(senses < 0, -problem.lower_level, 0)).astype(np.float64)


def cap_units(problem: ProtectionProblem, senses: IntArray) -> FloatArray:
    """What the caps are multiples of: a sensitive cell's level on the side it goes to, any other cell's own size."""
    level = np.where(senses > 0, problem.upper_level, problem.lower_level)
    return np.where(problem.sensitive, level, np.abs(problem.value)).astype(np.float64)


def largest_moves(problem: ProtectionProblem, senses: IntArray, deviation: FloatArray | IntArray) -> FloatArray:
    """The caps that a table uses: the largest move of a sensitive cell in levels, and that of any other in shares of its value.

    Cells that the caps say nothing of, those with no level or no value, are left out.
    """
    reach = cap_units(problem, senses)
    moved = np.divide(np.abs(deviation), reach, out=np.zeros(reach.size), where=reach > 0)
    return np.array([float(moved[group].max(initial=0.0)) for group in (problem.sensitive, ~problem.sensitive)])


def _with_columns(model: LinearModel, cost: FloatArray, count: int) -> LinearModel:
    """So many columns more, from zero up, and the cost of all."""
    return dataclasses.replace(
        model,
        cost=cost,
        matrix=hstack([model.matrix, csr_matrix((model.matrix.shape[0], count))], format="csr"),
        lower=np.concatenate([model.lower, np.zeros(count)]),
        upper=np.concatenate([model.upper, np.full(count, np.inf)]),
        whole=None if model.whole is None else np.concatenate([model.whole, np.zeros(count, dtype=np.bool_)]),
    )


def _with_rows(model: LinearModel, rows: csr_matrix, upper: FloatArray) -> LinearModel:
    """More rows, each no more than `upper`."""
    return dataclasses.replace(
        model,
        matrix=vstack([model.matrix, rows], format="csr"),
        row_lower=np.concatenate([model.row_lower, np.full(upper.size, -np.inf)]),
        row_upper=np.concatenate([model.row_upper, upper]),
    )
