"""Adapter to PIQP, an interior-point solver for sparse quadratic programs: the only module that names it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import piqp
from scipy.sparse import csc_matrix, csr_matrix, diags

from statveil.core.arrays import FloatArray


class QuadraticTuning(NamedTuple):
    """When PIQP is content. By judgement."""

    absolute: float = 1e-9
    relative: float = 1e-10
    iterations: int = 500


TUNING = QuadraticTuning()


def least_squares(*, weight: FloatArray, matrix: csr_matrix, rhs: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
    """min sum weight z^2, matrix z = rhs, lower <= z <= upper; None when the solver says it has no solution."""
    if weight.size == 0:
        return np.zeros(0)
    solver = _solver()
    none = csc_matrix((0, weight.size))
    solver.setup(_hessian(weight), np.zeros(weight.size), csc_matrix(matrix), rhs, none, np.zeros(0), np.zeros(0), lower, upper)
    return np.asarray(solver.result.x) if solver.solve() == piqp.PIQP_SOLVED else None


def least_squares_above(
    *, weight: FloatArray, matrix: csr_matrix, rhs: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """min sum weight u^2, matrix u >= rhs, lower <= u <= upper: the point and the multipliers of the rows."""
    solver = _solver()
    none = csc_matrix((0, weight.size))
    above = np.full(rhs.size, np.inf)
    solver.setup(_hessian(weight), np.zeros(weight.size), none, np.zeros(0), csc_matrix(matrix), rhs, above, lower, upper)
    if weight.size == 0 or solver.solve() != piqp.PIQP_SOLVED:
        return None
    return np.asarray(solver.result.x), np.asarray(solver.result.z_l)


def _hessian(weight: FloatArray) -> csc_matrix:
    return csc_matrix(diags(2.0 * weight))


def _solver() -> Any:
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = TUNING.absolute
    solver.settings.eps_rel = TUNING.relative
    solver.settings.max_iter = TUNING.iterations
    return solver
