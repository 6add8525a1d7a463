"""A safe table at once, before any process, bound or compiled loop: every sensitive cell up (docs/science.md, section 4).

It is far from the best, but it is there from the first moment: whatever happens to a search, there is an answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix

from statveil.core.arrays import AnyArray, IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.rounding import CellParts, parts_of


class PlainTableTuning(NamedTuple):
    """Work up to which a table is found without a search. By judgement: a second at most."""

    most_cells: int = 200_000
    one_by_one: int = 20_000  # sensitive cells up to which parts are raised one after the other
    widths: tuple[int, ...] = (1, 4, 16, 64, 256, 4_096, 2**62)  # parts of the cells that are raised together, small cells first
    most_lowered: int = 2_000  # parts lowered before a first table is given up: each one is looked for among all


TUNING = PlainTableTuning()


def plain_table(problem: ProtectionProblem) -> IntArray | None:
    """A safe table without a search: parts raised, or the whole table several times itself; None where neither is safe."""
    rest = np.zeros(problem.size, dtype=np.int64)
    if problem.accepts(rest):
        return rest
    if problem.variant != "at-least" or problem.size > TUNING.most_cells or not problem.can_go_up[problem.sensitive].all():
        return None
    parts = parts_of(problem)
    raised = None if parts is None else lifted(problem, parts)
    return _several_times(problem) if raised is None else raised


def _several_times(problem: ProtectionProblem) -> IntArray | None:
    """The deviation that makes the table a multiple of itself, which keeps every sum; for systems whose cells hang together otherwise."""
    sensitive = problem.sensitive
    if (problem.value[sensitive] <= 0).any():
        return None
    times = -(-problem.up.low[sensitive] // problem.value[sensitive])
    deviation = problem.value * int(times.max(initial=0))
    return deviation if problem.accepts(deviation) else None


def lifted(problem: ProtectionProblem, parts: CellParts) -> IntArray | None:
    """A first table without a program: parts raised one after the other until every sensitive cell is far enough up.

    It costs more than the best table with all senses up, but it is there at once, however many cells and relations there are. Where
    totals have no room, as a fixed grand total has none, parts that no sensitive cell needs are lowered in turn. None where sums also
    subtract, a cell cannot go up, or bounds leave no room that is so easily found.
    """
    if not problem.can_go_up[problem.sensitive].all() or (parts.sums.data < 0).any():
        return None
    sensitive = np.flatnonzero(problem.sensitive)
    if sensitive.size > TUNING.one_by_one:
        return _lifted_together(problem, parts)
    deviation, sums, cells_with = parts.constant.copy(), parts.sums, parts.sums.tocsc()
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


def _lower_what_is_too_high(problem: ProtectionProblem, parts: CellParts, cells_with: csc_matrix, deviation: IntArray) -> None:
    """Lower, in place, the part with most to spare in each cell above its bound, smallest cells first; sensitive cells stay up."""
    floor = np.where(problem.sensitive, problem.up.low, problem.free.low)
    width = np.diff(parts.sums.indptr)
    for _ in range(TUNING.most_lowered):
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


def _lifted_together(problem: ProtectionProblem, parts: CellParts) -> IntArray | None:
    """The same for many sensitive cells, all of about one width at a time: each raises the part of its own that has most room."""
    sums, raised = parts.sums, np.zeros(parts.part.size, dtype=np.int64)
    width, columns = np.diff(sums.indptr), parts.sums.tocsc()
    for widest in TUNING.widths:
        deviation = sums @ raised + parts.constant
        short = np.flatnonzero(problem.sensitive & (width > 0) & (width <= widest) & (deviation < problem.up.low))
        if short.size:
            room = np.minimum.reduceat((problem.free.high - deviation)[columns.indices], columns.indptr[:-1])
            own = sums[short]
            rows = np.repeat(np.arange(short.size), np.diff(own.indptr))
            first = np.unique(rows[np.lexsort((-room[own.indices], rows))], return_index=True)[1]
            at = np.lexsort((-room[own.indices], rows))[first]
            np.maximum.at(more := np.zeros_like(raised), own.indices[at], -(-(problem.up.low - deviation)[short] // own.data[at]))
            raised += more
    deviation = np.asarray(sums @ raised + parts.constant)
    return deviation if problem.accepts(deviation) else None
