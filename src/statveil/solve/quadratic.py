"""Adapter to PIQP, an interior-point solver for sparse quadratic programs: the only module that names it."""

from __future__ import annotations

import numpy as np
import piqp
from scipy.sparse import csc_matrix, csr_matrix, diags

from statveil.arrays import FloatArray


def least_squares(*, weight: FloatArray, matrix: csr_matrix, rhs: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
    """min sum weight z^2, matrix z = rhs, lower <= z <= upper; None when the solver says it has no solution."""
    size = weight.size
    if size == 0:
        return np.zeros(0)
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = 1e-9
    solver.settings.eps_rel = 1e-10
    solver.settings.max_iter = 500
    hessian = csc_matrix(diags(2.0 * weight))
    nothing = csc_matrix((0, size))
    solver.setup(hessian, np.zeros(size), csc_matrix(matrix), rhs, nothing, np.zeros(0), np.zeros(0), lower, upper)
    status = solver.solve()
    return np.asarray(solver.result.x) if status == piqp.PIQP_SOLVED else None
