"""A safe table at once, before any process, bound or compiled loop: every sensitive cell up (docs/science.md, section 4).

It is far from the best, but it is there from the first moment: whatever happens to a search, there is an answer. Parts are raised one after
the other where that is enough; else a small linear program over the parts alone finds how much each must rise or fall.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, vstack

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import Interval, ProtectionProblem
from statveil.protect.rounding import CellParts, parts_of
from statveil.solve.model import LinearModel


class PlainTableTuning(NamedTuple):
    """Work up to which a table is found without a search. By judgement: a second at most."""

    most_cells: int = 200_000
    one_by_one: int = 20_000  # sensitive cells up to which parts are raised one after the other
    widths: tuple[int, ...] = (1, 4, 16, 64, 256, 4_096, 2**62)  # parts of the cells that are raised together, small cells first
    most_lowered: int = 2_000  # parts lowered before a first table is given up: each one is looked for among all
    most_entries: int = 300_000  # of the sums of parts, up to which a program over them is tried: ninenew has 77,938 and takes 0.1 s
    most_choices: int = 500  # cells that may go either way, up to which senses are looked for where not all can go up
    most_entries_of_choices: int = 20_000  # of the sums of parts, the same
    longest: float = 3.0  # seconds of each program, however short the limit: on a busy machine a tenth of a second takes so long


TUNING = PlainTableTuning()
ANY_GAP = 1e9
"""The first table that a solver finds is enough."""


def plain_table(problem: ProtectionProblem) -> IntArray | None:
    """A safe table without a search: parts raised, the whole table several times itself, or a program over the parts; None where none of
    them is safe.
    """
    rest = np.zeros(problem.size, dtype=np.int64)
    if problem.accepts(rest):
        return rest
    if problem.size > TUNING.most_cells or (problem.sensitive & ~problem.can_go_up & ~problem.can_go_down).any():
        return None
    parts, found = parts_of(problem), None
    if problem.variant == "at-least" and problem.can_go_up[problem.sensitive].all():
        found = None if parts is None else lifted(problem, parts)
        found = _several_times(problem) if found is None else found
    if found is not None or parts is None:
        return found
    return by_program(problem, parts, seconds=TUNING.longest)


def _several_times(problem: ProtectionProblem) -> IntArray | None:
    """The deviation that makes the table a multiple of itself, which keeps every sum; for systems whose cells hang together otherwise."""
    sensitive = problem.sensitive
    if (problem.value[sensitive] <= 0).any():
        return None
    times = -(-problem.up.low[sensitive] // problem.value[sensitive])
    deviation = problem.value * int(times.max(initial=0))
    return deviation if problem.accepts(deviation) else None


def by_program(problem: ProtectionProblem, parts: CellParts, *, seconds: float) -> IntArray | None:
    """A table by a program over the parts: with all senses up; else, where choices are few, with senses that a solver finds possible."""
    if parts.sums.nnz > TUNING.most_entries or parts.part.size == 0:
        return None
    program = _PartProgram(problem, parts)
    found = program.table(problem.all_up(), seconds=seconds)
    if found is not None or problem.choices.size > TUNING.most_choices or parts.sums.nnz > TUNING.most_entries_of_choices:
        return found
    senses = program.possible_senses(seconds=seconds)
    return None if senses is None else program.table(senses, seconds=seconds)


class _PartProgram:
    """The least change of the parts, each at the weights of all its cells, with every cell in its range.

    It has two columns a part, its rise and its fall, and not two a cell, so that it is quick: it minimises not quite what tables cost.
    Amounts are divided by a power of two, so that solvers see numbers near one.
    """

    def __init__(self, problem: ProtectionProblem, parts: CellParts) -> None:
        self.problem, self.parts = problem, parts
        levels = problem.upper_level[problem.sensitive]
        self.unit = float(2.0 ** max(0, round(np.log2(max(1.0, float(np.median(levels)) / 50.0))))) if levels.size else 1.0
        self.others = np.ones(problem.size, dtype=np.bool_)
        self.others[parts.part] = False
        self.sums: csr_matrix = parts.sums.astype(np.float64)
        self.roundings = np.ceil(np.sqrt(np.diff(parts.sums.indptr)))

    def table(self, senses: IntArray, *, seconds: float) -> IntArray | None:
        """Parts are rounded and added up, so that every sum holds; where that takes a cell out of its range, ranges are narrowed first by
        what roundings usually add up to. None where there is no such table, or the program takes too long.
        """
        from statveil.solve import highs

        for margin in (0.0, 1.0):
            model = self._model(self.problem.allowed(senses), margin)
            solution = highs.solve(model, seconds=seconds, algorithm="simplex")
            if solution.x is None:
                return None
            rise, fall = np.split(solution.x, 2)
            deviation = self.parts.sums @ np.rint((rise - fall) * self.unit).astype(np.int64) + self.parts.constant
            if self.problem.accepts(deviation):
                return np.asarray(deviation)
        return None

    def _model(self, allowed: Interval, margin: float = 0.0) -> LinearModel:
        """The program with every cell in its range, less `margin` times its roundings."""
        low, high = (_amounts(bound, self.parts.constant) for bound in allowed)
        narrower = margin * np.minimum(self.roundings, np.maximum(0.0, np.floor((high - low) / 3)))
        low, high = (low + narrower) / self.unit, (high - narrower) / self.unit
        rows, weight = self.sums[self.others], np.asarray(abs(self.sums).T @ self.problem.weight)
        least, most = low[self.parts.part], high[self.parts.part]
        return LinearModel(
            cost=np.tile(weight / np.median(weight), 2),
            matrix=hstack([rows, -rows], format="csr"),
            row_lower=low[self.others],
            row_upper=high[self.others],
            lower=np.concatenate([np.maximum(least, 0.0), np.maximum(-most, 0.0)]),
            upper=np.concatenate([np.maximum(most, 0.0), np.maximum(-least, 0.0)]),
        )

    def possible_senses(self, *, seconds: float) -> IntArray | None:
        """The first senses that a solver says leave a table; a claim, which `table` puts to the test."""
        from statveil.solve import highs

        solution = highs.solve(self._model_of_choices(), seconds=seconds, gap=ANY_GAP)
        if solution.x is None:
            return None
        senses, choices = self.problem.all_up(), self.problem.choices
        senses[choices] = np.where(solution.x[-choices.size :] > 0.5, 1, -1)
        return senses

    def _model_of_choices(self) -> LinearModel:
        """With a switch s for each cell that may go either way: low + s (up - low) <= z <= down + s (high - down)."""
        problem, choices = self.problem, self.problem.choices
        far = 4 * int(np.maximum(problem.lower_level, problem.upper_level)[problem.sensitive].sum()) + 1
        low, high = np.maximum(problem.down.low, -far)[choices], np.minimum(problem.up.high, far)[choices]
        allowed = problem.allowed(problem.all_up())
        allowed.low[choices], allowed.high[choices] = low, high
        plain, own = self._model(allowed), self.sums[choices]
        shift, endless = self.parts.constant[choices], np.full(choices.size, np.inf)
        at_least = hstack([own, -own, diags((low - problem.up.low[choices]) / self.unit)])
        at_most = hstack([own, -own, diags((problem.down.high[choices] - high) / self.unit)])
        still = csr_matrix((plain.matrix.shape[0], choices.size))
        return LinearModel(
            cost=np.concatenate([plain.cost, np.zeros(choices.size)]),
            matrix=vstack([hstack([plain.matrix, still]), at_least, at_most], format="csr"),
            row_lower=np.concatenate([plain.row_lower, (low - shift) / self.unit, -endless]),
            row_upper=np.concatenate([plain.row_upper, endless, (problem.down.high[choices] - shift) / self.unit]),
            lower=np.concatenate([plain.lower, np.zeros(choices.size)]),
            upper=np.concatenate([plain.upper, np.ones(choices.size)]),
            whole=np.repeat([False, True], [plain.cost.size, choices.size]),
        )


def _amounts(bound: IntArray, constant: IntArray) -> FloatArray:
    """What bounds leave to the parts, as doubles; infinite where there is no bound."""
    left = (bound - constant).astype(np.float64)
    return np.where(bound >= NO_LIMIT // 2, np.inf, np.where(bound <= -NO_LIMIT // 2, -np.inf, left))


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
