"""The problem with its senses fixed: a linear (L1) or quadratic (L2) program (docs/science.md, section 3), made whole afterwards."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, identity

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import SolverFailed
from statveil.core.limits import Ending
from statveil.protect import rounding
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import Interval, ProtectionProblem
from statveil.protect.rounding import CellParts, parts_of, round_by_parts
from statveil.solve.model import LinearModel, LinearSolution

if TYPE_CHECKING:
    from statveil.solve.highs import WarmProgram


class FixedSensesTuning(NamedTuple):
    """When simplex gives way to an interior point, and how long making a table whole may take; all by judgement."""

    fast_simplex: int = 3_000  # cells below which simplex is as quick as an interior point and its crossover
    slow_iterations: int = 4_000
    """Simplex iterations from the last basis after which an interior point is taken instead. Counted, not timed: runs must repeat."""
    many_changes: int = 100
    """Senses that differ from the last program's, on a table of some size, from which an interior point is taken at once."""
    longest_whole: float = 10.0  # seconds given to one integer program that makes a table whole


TUNING = FixedSensesTuning()


class FixedSenses:
    """Builds linear models of one problem for any choice of senses; the matrix is built once.

    Each cell that can move has two columns, its rise and its fall. The rows are the relations; or, where few parts make many
    cells (hierarchies in several dimensions), one row per cell that says which parts it is the sum of: the same program, which
    simplex re-solves several times faster. Amounts are divided by a power of two so that solvers see numbers near one; that
    loses nothing, for doubles divide by two exactly.
    """

    def __init__(self, problem: ProtectionProblem) -> None:
        self.problem = problem
        self.moving = np.flatnonzero((problem.free.low < 0) | (problem.free.high > 0))
        self.unit = _scale(problem)
        weight = problem.weight[self.moving]
        self.price = 1.0 / float(np.median(weight)) if weight.size else 1.0
        matrix = problem.relations[:, self.moving].astype(np.float64)
        self.matrix: csr_matrix = hstack([matrix, -matrix], format="csr")
        self.residual = problem.residual / self.unit
        self.parts = parts_of(problem) if problem.size <= rounding.TUNING.most_for_parts else None
        self.by_parts = self.parts is not None and 3 * self.parts.part.size < self.moving.size == problem.size
        self.rows, self.right, self.extra = self.matrix, self.residual, 0
        if self.by_parts and self.parts is not None:
            one, self.extra = identity(self.moving.size), self.parts.part.size
            self.rows = hstack([one, -one, -self.parts.sums.astype(np.float64)], format="csr")
            self.right = self.parts.constant / self.unit
        self.cost = np.concatenate([weight, weight]) * self.price
        self.cold = False  # whether an interior point from scratch beats simplex from the last basis
        self._last = np.zeros(problem.size, dtype=np.int64)

    def model(self, senses: IntArray, *, whole: bool = False) -> LinearModel:
        """The program for these senses. Objective values are in cost x price / unit; whole amounts are in original units."""
        lower, upper = self.column_bounds(self.problem.allowed(senses))
        endless = np.full(self.extra, np.inf)
        unit = self.unit if whole else 1.0
        needed = np.repeat([not self.by_parts, True], [lower.size, self.extra])  # whole parts make whole sums
        return LinearModel(
            cost=np.concatenate([self.cost, np.zeros(self.extra)]),
            matrix=self.rows,
            row_lower=self.right * unit,
            row_upper=self.right * unit,
            lower=np.concatenate([lower, -endless]) * unit,
            upper=np.concatenate([upper, endless]) * unit,
            whole=needed if whole else None,
        )

    def pull(self, row_duals: FloatArray) -> FloatArray:
        """What a forced unit of each cell's deviation takes off the cost of the rest."""
        return row_duals if self.by_parts else np.asarray(self.problem.relations.T @ row_duals)

    def column_bounds(self, allowed: Interval) -> tuple[FloatArray, FloatArray]:
        low, high = _as_float(allowed.low[self.moving]) / self.unit, _as_float(allowed.high[self.moving]) / self.unit
        lower = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
        upper = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
        return lower, upper

    def deviation(self, columns: FloatArray, *, whole: bool = False) -> FloatArray:
        """Deviation of every cell, in original units, from a solution's columns."""
        half = self.moving.size
        deviation = np.zeros(self.problem.size)
        deviation[self.moving] = (columns[:half] - columns[half : 2 * half]) * (1.0 if whole else self.unit)
        return deviation

    @cached_property
    def parts_to_round(self) -> CellParts | None:
        """The parts, also those of a larger table: they are looked for once a solution turns out not to be whole."""
        return self.parts if self.problem.size <= rounding.TUNING.most_for_parts else parts_of(self.problem)

    @cached_property
    def warm(self) -> WarmProgram:
        from statveil.solve.highs import WarmProgram

        rest = np.zeros(self.problem.size, dtype=np.int64)
        return WarmProgram(self.model(rest), first="simplex" if self.moving.size < TUNING.fast_simplex else "ipm")

    def solve(self, senses: IntArray, *, seconds: float, worth: float = np.inf) -> LinearSolution:
        """Least cost for these senses, at a vertex, from the last basis; given up once it must cost more than `worth`.

        An "infeasible" from here only drops a candidate; it proves nothing, so it is not checked again.
        """
        from statveil.solve import highs

        model = self.model(senses)
        afresh = self.moving.size >= TUNING.fast_simplex and int((senses != self._last).sum()) > TUNING.many_changes
        if not self.cold:
            self._last = senses.copy()
            solution = self.warm.solve(model.lower, model.upper, seconds=seconds, worth=worth * self.price / self.unit, afresh=afresh)
            self.cold = not afresh and self.warm.iterations > TUNING.slow_iterations
            if solution.ending is not Ending.FAILED:
                return solution
        return highs.solve(model, seconds=seconds, algorithm="ipm")


def adjust_with_senses(program: FixedSenses, senses: IntArray, *, seconds: float, worth: float = np.inf) -> IntArray | None:
    """The closest whole, additive table with these senses; None when there is none, none in time, or none cheaper than `worth`."""
    if program.problem.size == 0:
        return np.zeros(0, dtype=np.int64)
    if program.problem.norm == "l2":
        target = _least_squares(program, senses)
    else:
        solution = program.solve(senses, seconds=seconds, worth=worth)
        hopeless = solution.x is None or solution.objective * program.unit / program.price >= worth
        target = None if solution.x is None or hopeless else program.deviation(solution.x)
    return None if target is None else make_whole(program, senses, target, seconds=seconds)


def make_whole(program: FixedSenses, senses: IntArray, target: FloatArray, *, seconds: float) -> IntArray | None:
    """Whole deviations for a solved program (docs/science.md, section 1): the vertex itself when it is whole, else rounded by parts.

    Only where the table does not fall into parts, or no rounding of them is safe, is it solved again as an integer program
    inside the full bounds (for L2: the whole table nearest to the optimum).
    """
    problem = program.problem
    rounded = np.rint(target).astype(np.int64)
    allowed = problem.allowed(senses)
    inside = bool(((rounded >= allowed.low) & (rounded <= allowed.high)).all())
    if inside and (problem.relations @ rounded == problem.residual).all():
        return rounded
    parts = program.parts_to_round
    whole = None if parts is None else round_by_parts(problem, parts, senses, target)
    if whole is not None:
        return whole
    seconds = min(seconds, TUNING.longest_whole)
    return (
        _nearest_whole(program, senses, target, seconds=seconds)
        if problem.norm == "l2"
        else _whole_optimum(program, senses, seconds=seconds)
    )


def _whole_optimum(program: FixedSenses, senses: IntArray, *, seconds: float) -> IntArray | None:
    from statveil.solve import highs

    solution = highs.solve(program.model(senses, whole=True), seconds=seconds, gap=1e-6)
    if solution.x is None:
        return None
    return _checked(program.problem, np.rint(program.deviation(solution.x, whole=True)).astype(np.int64))


def _nearest_whole(program: FixedSenses, senses: IntArray, target: FloatArray, *, seconds: float) -> IntArray | None:
    """Whole deviations least far (weighted) from the target, within the bounds of the senses: rounded(target) + rise - fall."""
    problem = program.problem
    allowed = problem.allowed(senses)
    base = np.clip(np.rint(target).astype(np.int64), allowed.low, allowed.high)
    moved = dataclasses.replace(
        problem,
        rhs=problem.rhs - problem.relations @ base,
        lower=np.where(allowed.low <= -NO_LIMIT // 2, -NO_LIMIT, allowed.low - base + problem.value),
        upper=np.where(allowed.high >= NO_LIMIT // 2, NO_LIMIT, allowed.high - base + problem.value),
        sensitive=np.zeros(problem.size, dtype=np.bool_),
        norm="l1",
    )
    rest = _whole_optimum(FixedSenses(moved), np.zeros(problem.size, dtype=np.int64), seconds=seconds)
    return None if rest is None else _checked(problem, base + rest)


def _checked(problem: ProtectionProblem, deviation: IntArray) -> IntArray | None:
    return deviation if problem.accepts(deviation) else None


def _least_squares(program: FixedSenses, senses: IntArray) -> FloatArray | None:
    from statveil.solve import quadratic

    problem, moving, unit = program.problem, program.moving, program.unit
    allowed = problem.allowed(senses)
    answer = quadratic.least_squares(
        weight=problem.weight[moving] * program.price,
        matrix=problem.relations[:, moving].astype(np.float64),
        rhs=problem.residual / unit,
        lower=_as_float(allowed.low[moving]) / unit,
        upper=_as_float(allowed.high[moving]) / unit,
    )
    if answer is None:
        return None
    deviation = np.zeros(problem.size)
    deviation[moving] = answer * unit
    return deviation


def _scale(problem: ProtectionProblem) -> float:
    """A power of two near the median level / 50, so that solver tolerances mean the same on every table (docs/science.md, section 4)."""
    levels = np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive]
    levels = levels[levels > 0]
    if levels.size == 0:
        return 1.0
    return float(2.0 ** max(0, round(np.log2(float(np.median(levels)) / 50.0))))


def _as_float(bound: IntArray) -> FloatArray:
    """Integers as doubles, where `NO_LIMIT` becomes infinite."""
    wide = np.where(bound >= NO_LIMIT // 2, np.inf, np.where(bound <= -NO_LIMIT // 2, -np.inf, bound.astype(np.float64)))
    if (np.abs(wide[np.isfinite(wide)]) >= 2.0**53).any():
        raise SolverFailed("A bound is too large to be computed exactly.", hint="Publish with fewer decimals.")
    return wide
