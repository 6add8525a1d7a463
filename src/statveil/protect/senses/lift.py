"""A first table without a program: parts raised one after the other until every sensitive cell is far enough up.

It costs more than the best table with all senses up, but it is there at once, however many cells and relations there are: on large
tables with hierarchies in several dimensions a single linear program may take longer than the time allowed.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix

from statveil.arrays import AnyArray, IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.whole import Parts


def lifted(problem: ProtectionProblem, parts: Parts) -> IntArray | None:
    """The deviation; None where sums also subtract, a cell cannot go up, or a bound leaves no room."""
    if not problem.can_go_up[problem.sensitive].all() or (parts.sums.data < 0).any():
        return None
    deviation, sums, cells_with = parts.constant.copy(), parts.sums, parts.sums.tocsc()
    sensitive = np.flatnonzero(problem.sensitive)
    smallest_first = sensitive[np.argsort(np.diff(sums.indptr)[sensitive], kind="stable")]
    for cell in smallest_first.tolist():
        short = int(problem.up.low[cell] - deviation[cell])
        own = slice(sums.indptr[cell], sums.indptr[cell + 1])
        if short > 0 and not _raise_one(problem, cells_with, sums.indices[own], -(-short // sums.data[own]), deviation):
            return None
    return deviation if problem.accepts(deviation) else None


def _raise_one(problem: ProtectionProblem, cells_with: csc_matrix, parts: AnyArray, amounts: AnyArray, deviation: IntArray) -> bool:
    """Raise that one of the parts which serves most other cells still short, in place; False where none has room."""
    best, served = None, -1
    for part, amount in zip(parts.tolist(), amounts.tolist(), strict=True):
        own = slice(cells_with.indptr[part], cells_with.indptr[part + 1])
        cells = cells_with.indices[own]
        after = deviation[cells] + amount * cells_with.data[own]
        short = int((problem.sensitive[cells] & (deviation[cells] < problem.up.low[cells])).sum())
        if short > served and (after <= problem.free.high[cells]).all():
            best, served = (cells, after), short
    if best is not None:
        deviation[best[0]] = best[1]
    return best is not None
