"""Connected components of a problem: cells that no chain of relations joins have nothing to do with each other.

Each component is a problem of its own; objectives, bounds and proofs add up. Cells without any relation, components whose
cells may all stay as they are, and (if they are many) those of one relation with few choices are settled at once, at the least
cost possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.presolve import TUNING
from statveil.protect.presolve.redundancy import SparseRows, sparse_rows
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import DualMultipliers

_COLUMNS = ("value", "weight", "lower", "upper", "sensitive", "lower_level", "upper_level")


@dataclass(frozen=True, kw_only=True)
class Components:
    """The components that need work, in the order of their first cells, and the deviations of all cells that need none.

    `cells` and `rows` list the cells and relations of `whole` component by component; `cell_starts` and `row_starts` tell where
    each begins. With one component, that is the whole problem, untouched. `tried`: relations that were settled by trying all senses.
    """

    whole: ProtectionProblem
    settled: IntArray
    tried: IntArray
    cells: IntArray
    rows: IntArray
    cell_starts: IntArray
    row_starts: IntArray

    def __len__(self) -> int:
        return int(self.cell_starts.size) - 1

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.cell_starts)

    def cells_of(self, number: int) -> IntArray:
        return self.cells[self.cell_starts[number] : self.cell_starts[number + 1]]

    def rows_of(self, number: int) -> IntArray:
        return self.rows[self.row_starts[number] : self.row_starts[number + 1]]

    def problem(self, number: int) -> ProtectionProblem:
        """A component as a problem of its own: its cells and relations in the order they have in the whole."""
        if self.is_whole:
            return self.whole
        cells, rows = self.cells_of(number), slice(self.row_starts[number], self.row_starts[number + 1])
        columns = {name: getattr(self.whole, name)[cells] for name in _COLUMNS}
        relations = self._relations(rows, cells.size)
        return ProtectionProblem(
            relations=relations, rhs=self.whole.rhs[self.rows[rows]], **columns, variant=self.whole.variant, norm=self.whole.norm
        )

    @property
    def is_whole(self) -> bool:
        return len(self) == 1 and self.cells.size == self.whole.size and self.rows.size == self.whole.rhs.size

    @cached_property
    def _sorted(self) -> tuple[AnyArray, AnyArray, IntArray]:
        """The relations of all components, one after the other, with each cell's number within its component."""
        place = np.full(self.whole.size, -1)
        place[self.cells] = np.arange(self.cells.size) - np.repeat(self.cell_starts[:-1], self.sizes)
        matrix = self.whole.relations[self.rows].tocsr()
        return matrix.data, place[matrix.indices], matrix.indptr.astype(np.int64)

    def _relations(self, rows: slice, size: int) -> csr_matrix:
        data, indices, indptr = self._sorted
        starts = indptr[rows.start : rows.stop + 1]
        terms = slice(starts[0], starts[-1])
        return csr_matrix((data[terms], indices[terms], starts - starts[0]), shape=(starts.size - 1, size))

    def __getstate__(self) -> dict[str, object]:
        """What was worked out on the way is not sent to other processes."""
        return {name: content for name, content in self.__dict__.items() if name != "_sorted"}

    def joined(self, deviations: Sequence[IntArray]) -> IntArray:
        """The whole's deviations from those of all components, in order."""
        deviation = self.settled.copy()
        if deviations:
            deviation[self.cells] = np.concatenate(deviations)
        return deviation

    def added_up(self, proofs: Sequence[DualMultipliers]) -> DualMultipliers:
        """The multipliers of all components, in order, as multipliers of the whole; with covers of the relations that were tried."""
        if self.is_whole:
            return proofs[0]
        covers = self._covers
        relations = np.zeros(self.whole.rhs.size)
        for number, proof in enumerate(proofs):
            if proof.relations.size:
                relations[self.rows_of(number)] = proof.relations
        cut_relation = [self.rows_of(number)[proof.cut_relation] for number, proof in enumerate(proofs)]
        cut_cell = [np.where(proof.cut_cell == COVER, COVER, self.cells_of(number)[proof.cut_cell]) for number, proof in enumerate(proofs)]
        cut = [proof.cut for proof in proofs]
        return DualMultipliers(
            relations,
            np.concatenate([self.tried, *cut_relation]),
            np.concatenate([np.full(covers.size, COVER), *cut_cell]),
            np.concatenate([covers, *cut]),
        )

    @property
    def _covers(self) -> FloatArray:
        """What a unit that signs leave open in each tried relation costs at the least. Their cover cuts are all the proof there is."""
        matrix = self.whole.relations[self.tried].tocsr()
        if self.tried.size == 0:
            return np.zeros(0)
        price = self.whole.weight[matrix.indices] / np.abs(matrix.data)
        return np.asarray(np.minimum.reduceat(price, matrix.indptr[:-1]))


def components_of(problem: ProtectionProblem) -> Components:
    """Split a problem. What can be settled at once is."""
    label = _labels(problem)
    cell_label, row_label = label[: problem.size], label[problem.size :]
    count = int(label.max(initial=-1)) + 1
    related = np.bincount(row_label, minlength=count) > 0
    settled = np.where(related[cell_label], 0, _cheapest_alone(problem))
    working = related & (np.bincount(cell_label, weights=_restless(problem), minlength=count) > 0)
    working |= np.bincount(row_label, weights=problem.residual != 0, minlength=count) > 0
    working[cell_label[_stuck(problem)]] = True  # no table exists: whoever works on it will say so
    single = np.flatnonzero(working[row_label] & (np.bincount(row_label, minlength=count) == 1)[row_label])
    single = single if single.size > TUNING.few_single else single[:0]
    solved, deviation = solve_single_relations(problem, single)
    working[row_label[single[solved]]] = False
    settled = settled + np.where(working[cell_label], 0, deviation)
    cells, cell_starts = _sorted_by(cell_label, working)
    rows, row_starts = _sorted_by(row_label, working)
    return Components(
        whole=problem,
        settled=settled,
        tried=single[solved],
        cells=cells,
        rows=rows,
        cell_starts=cell_starts,
        row_starts=row_starts,
    )


def _labels(problem: ProtectionProblem) -> IntArray:
    """A number for the component of each cell, then of each relation, in the order of first cells."""
    matrix = problem.relations.tocsr()
    size, rows = problem.size, problem.rhs.size
    starts = np.concatenate([np.zeros(size, dtype=matrix.indptr.dtype), matrix.indptr])
    graph = csr_matrix((np.ones(matrix.nnz, dtype=np.int8), matrix.indices, starts), shape=(size + rows, size + rows))
    _, label = connected_components(graph, directed=False)
    _, first = np.unique(label, return_index=True)
    order = np.empty(first.size, dtype=np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(first.size)
    return np.asarray(order[label])


def _sorted_by(label: IntArray, wanted: BoolArray) -> tuple[IntArray, IntArray]:
    """The members of each wanted label, label by label, and where each label's begin."""
    members = np.flatnonzero(wanted[label])
    counts = np.bincount(label[members], minlength=wanted.size)[wanted]
    return members[np.argsort(label[members], kind="stable")], np.concatenate([[0], np.cumsum(counts)])


def _restless(problem: ProtectionProblem) -> BoolArray:
    """Cells that may not stay as they are."""
    stays, down, up = ((each.low <= 0) & (each.high >= 0) for each in (problem.free, problem.down, problem.up))
    return np.asarray(~stays | (problem.sensitive & ~down & ~up))


def _stuck(problem: ProtectionProblem) -> BoolArray:
    return np.asarray(problem.sensitive & ~problem.can_go_down & ~problem.can_go_up)


def _cheapest_alone(problem: ProtectionProblem) -> IntArray:
    """The least change of each cell, were there no relations."""
    still, fallen, risen = (np.clip(0, each.low, each.high) for each in (problem.free, problem.down, problem.up))
    falls = problem.can_go_down & (~problem.can_go_up | (np.abs(fallen) <= np.abs(risen)))
    return np.asarray(np.where(problem.sensitive, np.where(falls, fallen, risen), still), dtype=np.int64)


# --- components of one relation


def solve_single_relations(problem: ProtectionProblem, rows: IntArray) -> tuple[BoolArray, IntArray]:
    """For relations that share no cell with another: which were solved, and the least-cost deviation of each cell in those.

    Only L1 and factors of one size; then amounts are whole, and optimal. A relation that cannot be satisfied is left unsolved.
    """
    deviation = np.zeros(problem.size, dtype=np.int64)
    if problem.norm != "l1":
        return np.zeros(rows.size, dtype=np.bool_), deviation
    intervals = np.stack([each for pair in (problem.free, problem.down, problem.up) for each in pair])
    cells = _SingleCells(problem.weight, problem.sensitive, intervals, deviation)
    return _solve_each(sparse_rows(problem.relations.tocsr()), problem.residual, rows, cells, TUNING.most_choices), deviation


class _SingleCells(NamedTuple):
    """Of each cell: weight, whether it is sensitive, where it may be (at rest, down, up: low and high each), and its deviation."""

    weight: FloatArray
    sensitive: BoolArray
    intervals: IntArray
    deviation: IntArray


@njit(cache=True)
def _solve_each(matrix: SparseRows, residual: IntArray, rows: IntArray, each: _SingleCells, most: int) -> BoolArray:
    """Try all senses of each relation with at most so many choices; tells which were solved, their deviations in place."""
    indptr, weight = matrix.indptr, each.weight
    solved = np.zeros(rows.size, dtype=np.bool_)
    for k in range(rows.size):
        part = slice(indptr[rows[k]], indptr[rows[k] + 1])
        cells, factors = matrix.indices[part], matrix.data[part]
        size = abs(factors[0])
        choices = cells[each.sensitive[cells]]
        if (np.abs(factors) != size).any() or residual[rows[k]] % size or choices.size > most:
            continue
        order = np.argsort(weight[cells], kind="mergesort")
        best = np.inf
        for senses in range(2**choices.size):
            table = _cheapest(cells[order], factors[order] // size, residual[rows[k]] // size, senses, each)
            cost = (weight[cells[order]] * np.abs(table)).sum() if table.size else np.inf
            if cost < best:
                best, solved[k] = cost, True
                each.deviation[cells[order]] = table
    return solved


@njit(cache=True)
def _cheapest(cells: AnyArray, signs: IntArray, right: int, senses: int, each: _SingleCells) -> IntArray:
    """The least-cost amounts for these senses (a bit for each sensitive cell, 1 up), cells in order of weight; empty if there are none."""
    table, kinds = np.empty(cells.size, dtype=np.int64), np.zeros(cells.size, dtype=np.int64)
    missing = right
    for i in range(cells.size):
        if each.sensitive[cells[i]]:
            kinds[i] = 4 if senses % 2 else 2
            senses //= 2
        low, high = each.intervals[kinds[i], cells[i]], each.intervals[kinds[i] + 1, cells[i]]
        if low > high:
            return table[:0]
        table[i] = min(max(0, low), high)  # as near to zero as it may be: every further unit costs its weight
        missing -= signs[i] * table[i]
    for i in range(cells.size):
        low, high = each.intervals[kinds[i], cells[i]], each.intervals[kinds[i] + 1, cells[i]]
        rises = (signs[i] > 0) == (missing > 0)
        step = min(high - table[i] if rises else table[i] - low, abs(missing))
        table[i] += step if rises else -step
        missing -= step if missing > 0 else -step
    return table if missing == 0 else table[:0]
