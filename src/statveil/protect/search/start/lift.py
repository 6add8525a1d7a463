"""A first table without a program: parts raised one after the other until every sensitive cell is far enough up.

It costs more than the best table with all senses up, but it is there at once, however many cells and relations there are: on large
tables with hierarchies in several dimensions a single linear program may take longer than the time allowed. Where totals have no
room, as a fixed grand total has none, parts that no sensitive cell needs are lowered in turn.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import Parts

MOST_LOWERED = 2_000
"""Parts lowered before it is given up: each one is looked for among all."""


def lifted(problem: ProtectionProblem, parts: Parts) -> IntArray | None:
    """The deviation; None where sums also subtract, a cell cannot go up, or bounds leave no room that is so easily found."""
    if not problem.can_go_up[problem.sensitive].all() or (parts.sums.data < 0).any():
        return None
    deviation, sums, cells_with = parts.constant.copy(), parts.sums, parts.sums.tocsc()
    sensitive = np.flatnonzero(problem.sensitive)
    smallest_first = sensitive[np.argsort(np.diff(sums.indptr)[sensitive], kind="stable")]
    for cell in smallest_first.tolist():
        short = int(problem.up.low[cell] - deviation[cell])
        own = slice(sums.indptr[cell], sums.indptr[cell + 1])
        if short > 0 and own.stop > own.start:
            _raise_one(problem, cells_with, sums.indices[own], -(-short // sums.data[own]), deviation)
    _lower_what_is_too_high(problem, parts, cells_with, deviation)
    return deviation if problem.accepts(deviation) else None


def _raise_one(problem: ProtectionProblem, cells_with: csc_matrix, parts: AnyArray, amounts: AnyArray, deviation: IntArray) -> None:
    """Raise one of the parts, in place: one with room if there is any, and of these the one that serves most cells still short."""
    best, merit = None, (False, -1)
    for part, amount in zip(parts.tolist(), amounts.tolist(), strict=True):
        own = slice(cells_with.indptr[part], cells_with.indptr[part + 1])
        cells = cells_with.indices[own]
        after = deviation[cells] + amount * cells_with.data[own]
        short = int((problem.sensitive[cells] & (deviation[cells] < problem.up.low[cells])).sum())
        this = (bool((after <= problem.free.high[cells]).all()), short)
        if this > merit:
            best, merit = (cells, after), this
    if best is not None:
        deviation[best[0]] = best[1]


def _lower_what_is_too_high(problem: ProtectionProblem, parts: Parts, cells_with: csc_matrix, deviation: IntArray) -> None:
    """Lower, in place, the part with most to spare in each cell above its bound, smallest cells first; sensitive cells stay up."""
    floor = np.where(problem.sensitive, problem.up.low, problem.free.low)
    width = np.diff(parts.sums.indptr)
    for _ in range(MOST_LOWERED):
        above = np.flatnonzero(deviation > problem.free.high)
        if above.size == 0:
            return
        cell = int(above[np.argmin(width[above])])
        own = slice(parts.sums.indptr[cell], parts.sums.indptr[cell + 1])
        spare = np.minimum.reduceat((deviation - floor)[cells_with.indices] // cells_with.data, cells_with.indptr[:-1])
        part = int(parts.sums.indices[own][np.argmax(spare[parts.sums.indices[own]])])
        amount = min(int(spare[part]), int(deviation[cell] - problem.free.high[cell]))
        if amount <= 0:
            return
        lowered = slice(cells_with.indptr[part], cells_with.indptr[part + 1])
        deviation[cells_with.indices[lowered]] -= amount * cells_with.data[lowered]
