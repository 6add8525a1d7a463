"""Method `modular`, what tau-ARGUS calls MOD: simple table by simple table from the top, each by the optimal model (de Wolf's HiTaS).

What was suppressed in a table above is a sensitive cell of the next one, with narrow levels of its own; what was published there may not
be suppressed. Where that leaves no pattern, cells of tables above are opened at a high price, and their tables solved again. Safe in each
simple table is not safe in the whole: what is left open is mended afterwards.
"""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from statveil.core.arrays import AnyArray, BoolArray, IntArray
from statveil.core.errors import InfeasibleProblem, NoTableFound
from statveil.suppress.cells.auto import repaired
from statveil.suppress.cells.classes import classes_of
from statveil.suppress.cells.methods.shape import GridShape, SimpleTable, simple_tables, tables_with
from statveil.suppress.cells.optimal import best_cover
from statveil.suppress.cells.options import ModularOptions
from statveil.suppress.cells.problem import COST_UNITS, ENDLESS, SuppressionProblem


class ModularTuning(NamedTuple):
    """By judgement."""

    opened: int = 1000
    """How many times its cost a cell of a table above is."""
    visits: int = 20
    """How often a simple table is solved at most, on average, before the rest is left to mending."""
    patience: float = 3.0
    """How many times its even share of the time a simple table may take."""
    least_seconds: float = 0.05


TUNING = ModularTuning()


class Modules(NamedTuple):
    """The pattern by its own rules; how many tables were opened again, and how many had no pattern at all."""

    suppressed: BoolArray
    reopened: int
    without: int


def modular_pattern(problem: SuppressionProblem, shapes: tuple[GridShape, ...], options: ModularOptions, deadline: float) -> Modules:
    """From the top down, back where it must be."""
    return _Modular(problem, shapes, options, deadline).run()


class _Modular:
    def __init__(self, problem: SuppressionProblem, shapes: tuple[GridShape, ...], options: ModularOptions, deadline: float) -> None:
        self.problem, self.options, self.deadline = problem, options, deadline
        self.tables = simple_tables(shapes)
        self.within = tables_with(self.tables, problem.size)
        self.owner = np.array([found[0] if found else -1 for found in self.within], dtype=np.int64)
        self.suppressed: BoolArray = problem.primary | problem.hidden
        self.reopened = self.without = 0

    def run(self) -> Modules:
        waiting = list(range(len(self.tables)))
        queued = set(waiting)
        for _ in range(TUNING.visits * len(self.tables)):
            if not waiting:
                break
            number = heapq.heappop(waiting)
            queued.discard(number)
            for cell in self._solve(number):
                for other in self.within[cell]:
                    if other != number and other not in queued:
                        self.reopened += other < number
                        queued.add(other)
                        heapq.heappush(waiting, other)
        return Modules(self.suppressed & ~self.problem.hidden, self.reopened, self.without)

    def _solve(self, number: int) -> list[int]:
        """Suppress what this table needs; the new cells."""
        table = self.tables[number]
        cells = np.unique(table.cells[(table.cells >= 0) & (self.problem.value[table.cells] != 0)])
        if not self.suppressed[cells].any():
            return []
        seconds = self._share(len(self.tables) - number)
        for opened in (False, True):
            try:
                found = self._pattern(table, cells, number, opened=opened, seconds=seconds)
            except (InfeasibleProblem, NoTableFound):
                continue
            new = cells[found & ~self.suppressed[cells]]
            self.suppressed[new] = True
            return [int(each) for each in new]
        self.without += 1
        return []

    def _share(self, left: int) -> float:
        """Of the time that is left, of which the last table may have all."""
        remaining = self.deadline - time.monotonic()
        return max(min(60.0 * self.options.minutes, TUNING.patience * remaining / max(left, 1), remaining), TUNING.least_seconds)

    def _pattern(self, table: SimpleTable, cells: IntArray, number: int, *, opened: bool, seconds: float) -> BoolArray:
        sub = self._subproblem(table, cells, number, opened=opened)
        system = classes_of(sub)
        deadline = time.monotonic() + seconds
        cover = best_cover(system, deadline)
        if system.single.any():
            repaired(cover, system.needs, two=self.options.two_singletons, other=self.options.singleton_and_other)
        return system.cells(cover.suppressed)[: cells.size]

    def _subproblem(self, table: SimpleTable, cells: IntArray, number: int, *, opened: bool) -> SuppressionProblem:
        """The cells of one simple table, with one more for each sum of two that too few respondents share."""
        whole, value, hidden = self.problem, self.problem.value[cells], self.problem.hidden[cells]
        matrix, (lower_level, upper_level) = _family_sums(table.cells, cells), self._levels(cells)
        taken, own = self.suppressed[cells], self.owner[cells] == number
        dear = np.minimum(whole.cost[cells], ENDLESS // (TUNING.opened * cells.size)) * TUNING.opened
        watched = self.options.two_singletons or self.options.singleton_and_other
        pairs = self._scarce_pairs(matrix, cells)
        extra = len(pairs)
        return SuppressionProblem(
            relations=_with_pairs(matrix, pairs),
            value=np.concatenate([value, np.array([int(value[one] + value[two]) for one, two in pairs], dtype=np.int64)]),
            lower=_padded(whole.lower[cells], -ENDLESS, extra),
            upper=_padded(whole.upper[cells], ENDLESS, extra),
            primary=_padded(taken & ~hidden, True, extra),
            candidate=_padded(whole.candidate[cells] & ~taken & (own | opened), False, extra),
            hidden=_padded(hidden, False, extra),
            single=_padded(whole.single[cells] & watched, False, extra),
            lower_level=_padded(np.where(taken, lower_level, 0), 0, extra),
            upper_level=_padded(np.where(taken, upper_level, 0), 1, extra),
            cost=_padded(np.where(own, whole.cost[cells], dear), COST_UNITS, extra),
        )

    def _levels(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Their own of sensitive cells, narrow ones of all others, as far as what is known beforehand leaves room."""
        whole, value, true = self.problem, self.problem.value[cells], self.problem.primary[cells]
        lower, upper = (np.maximum(np.ceil(abs(1 - share) * np.abs(value)).astype(np.int64), 1) for share in self.options.margins)
        down, up = np.minimum(lower, value - whole.lower[cells]), np.minimum(upper, whole.upper[cells] - value)
        return np.where(true, whole.lower_level[cells], down), np.where(true, whole.upper_level[cells], up)

    def _scarce_pairs(self, matrix: csr_matrix, cells: IntArray) -> list[tuple[int, int]]:
        """The only two sensitive cells of a sum, where together they have fewer respondents than the rule asks of a cell."""
        least, count = self.options.minimum_frequency, self.problem.respondents
        if not least or count is None:
            return []
        taken = self.problem.primary[cells]
        found = set()
        for row in range(matrix.shape[0]):
            members = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
            two = members[taken[members]]
            if two.size == 2 and 0 <= int(count[cells[two]].sum()) < least:
                found.add((int(min(two)), int(max(two))))
        return sorted(found)


def _family_sums(block: IntArray, cells: IntArray) -> csr_matrix:
    """Every line of the block along every axis: its parts less its sum."""
    rows, columns, factors, count = [], [], [], 0
    place = np.full(int(cells.max(initial=-1)) + 2, -1, dtype=np.int64)
    place[cells] = np.arange(cells.size)
    inside = np.where((block >= 0) & (block < place.size), place[np.clip(block, 0, place.size - 1)], -1)
    for axis in range(block.ndim):
        lines = np.moveaxis(inside, axis, -1).reshape(-1, block.shape[axis])
        line, along = np.nonzero(lines >= 0)
        rows.append(line + count)
        columns.append(lines[line, along])
        factors.append(np.where(along == 0, -1, 1))
        count += lines.shape[0]
    found = csr_matrix((np.concatenate(factors), (np.concatenate(rows), np.concatenate(columns))), shape=(count, cells.size))
    found.sum_duplicates()
    found.eliminate_zeros()
    return csr_matrix(found[np.diff(found.indptr) > 0], dtype=np.int64)


def _padded(array: AnyArray, fill: int, extra: int) -> AnyArray:
    """With so many more at its end."""
    return np.concatenate([array, np.full(extra, fill, dtype=array.dtype)])


def _with_pairs(matrix: csr_matrix, pairs: list[tuple[int, int]]) -> csr_matrix:
    """A further column for each pair, their sum."""
    size, extra = matrix.shape[1], len(pairs)
    columns = np.array([(first, second, size + at) for at, (first, second) in enumerate(pairs)]).ravel()
    more = csr_matrix((np.tile([1, 1, -1], extra), (np.repeat(np.arange(extra), 3), columns)), shape=(extra, size + extra))
    wide = csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], size + extra))
    return csr_matrix(vstack([wide, more], format="csr"), dtype=np.int64)
