"""The linear and integer programs of controlled rounding. The cost of z is convex, so three columns a cell are enough: steps below the
floor, the step from floor to ceiling, steps above."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.solve.highs import solve
from statveil.solve.model import LinearModel
from statveil.suppress.rounding.problem import RoundingProblem


class ProgramTuning(NamedTuple):
    """By judgement."""

    near_whole: float = 1e-6
    dear: float = 64.0
    """What a broken relation costs, in bases: dearer than any way round it in the tables tried."""
    scale: int = 2**20
    """Multipliers of relations are whole numbers of this part."""


TUNING = ProgramTuning()


class RelaxedTable(NamedTuple):
    """A point of the relaxation, None where there is none, and whole multipliers of the relations (units of 1 / TUNING.scale)."""

    z: FloatArray | None
    multipliers: IntArray


def relaxed(problem: RoundingProblem, low: IntArray, high: IntArray, *, seconds: float) -> RelaxedTable | None:
    """The linear relaxation within these bounds. Relations may break at a high price, so that multipliers exist in any case; None where
    the solver does not come to an end."""
    model = _model(problem, low, high, elastic=True)
    found = solve(model, seconds=seconds, algorithm="simplex" if problem.value.size < 20_000 else "choose")
    if found.ending is not Ending.OPTIMAL or found.x is None or found.row_duals is None:
        return None
    z, slack = _steps(found.x, problem.value.size)
    multipliers = np.rint(found.row_duals * problem.base * TUNING.scale).astype(np.int64)
    return RelaxedTable(None if slack > TUNING.near_whole else z, multipliers)


def whole(problem: RoundingProblem, low: IntArray, high: IntArray, offer: Callable[[IntArray], object], *, seconds: float) -> bool:
    """Rounded tables by branch and bound, each offered as it is found, because the solver may not end in time; whether there was one."""
    found = list[IntArray]()

    def heard(x: FloatArray, _bound: float) -> None:
        z = np.rint(_steps(x, problem.value.size)[0]).astype(np.int64)
        if problem.accepts(z):
            found.append(z)
            offer(z)

    last = solve(_model(problem, low, high, elastic=False, whole=True), seconds=seconds, on_incumbent=heard)
    if last.x is not None:
        heard(last.x, last.bound)
    return bool(found)


def is_whole(z: FloatArray) -> BoolArray:
    return np.asarray(np.abs(z - np.rint(z)) <= TUNING.near_whole)


def _steps(x: FloatArray, size: int) -> tuple[FloatArray, float]:
    """z and how much of the relations is broken."""
    below, step, above = x[:size], x[size : 2 * size], x[2 * size : 3 * size]
    return step + above - below, float(x[3 * size :].sum())


def _model(problem: RoundingProblem, low: IntArray, high: IntArray, *, elastic: bool, whole: bool = False) -> LinearModel:
    """Costs are in bases, so that the solver sees numbers near one."""
    matrix, right = problem.relations.astype(np.float64), problem.right.astype(np.float64)
    rows = matrix.shape[0]
    one = csr_matrix((np.ones(rows), (np.arange(rows), np.arange(rows))), shape=(rows, rows))
    ones, step = np.ones(low.size), 1.0 - 2.0 * problem.rest / problem.base
    broken = ([one, -one], np.full(2 * rows, TUNING.dear)) if elastic else ([], np.zeros(0))
    lower = np.concatenate([np.maximum(-high, 0), (low > 0).astype(float), np.maximum(low - 1, 0), np.zeros(broken[1].size)])
    upper = np.concatenate([np.maximum(-low, 0), (high > 0).astype(float), np.maximum(high - 1, 0), np.full(broken[1].size, np.inf)])
    return LinearModel(
        cost=np.concatenate([ones, step, ones, broken[1]]),
        matrix=csr_matrix(hstack([-matrix, matrix, matrix, *broken[0]])),
        row_lower=right,
        row_upper=right,
        lower=lower,
        upper=upper,
        whole=np.ones(3 * low.size, dtype=np.bool_) if whole else None,
    )
