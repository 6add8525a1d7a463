"""Whole tables from fractional ones, by parts: round the finest cells, add them up, and mend what that breaks.

The vertices of three-dimensional and linked tables are often fractional in thousands of cells, and a general integer program over
them may take minutes. But a table is the sum of its parts: whole parts give whole totals and every relation holds by
construction. What remains is to choose, part by part, roundings that keep each cell within what it is allowed; a walk over
single and paired unit steps does that in a moment and loses next to nothing of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from statveil.core.arrays import AnyArray, FloatArray, IntArray
from statveil.protect.problem import ProtectionProblem


class RoundingTuning(NamedTuple):
    """Sizes and work limits of rounding by parts; all by judgement."""

    most_for_parts: int = 50_000
    """Cells up to which a table's parts are looked for at once; larger ones are mostly networks, whose vertices are whole anyway. Of
    tables with more parts fewer sweeps and steps are made, so that the work grows no further."""
    most_entries: int = 20_000_000  # of the matrix that adds parts up to cells
    deepest: int = 64  # totals of totals
    steps_per_part: int = 400  # that bring cells into their range
    sweeps: int = 12  # downhill
    fewest_sweeps: int = 2  # of the largest tables
    partners: int = 8  # among which one is looked for that steps back
    shaken: float = 0.05  # chance that a step which does not pay is taken all the same


TUNING = RoundingTuning()


@dataclass(frozen=True, kw_only=True)
class CellParts:
    """Every cell as a whole combination of parts: z = sums @ part + constant, for any whole parts all relations hold."""

    part: IntArray
    sums: csr_matrix
    constant: IntArray


def parts_of(problem: ProtectionProblem) -> CellParts | None:
    """Find the parts: the cells that are no relation's total. None when the relations do not hang together that way."""
    totals = _defining_relations(problem)
    if totals is None:
        return None
    dependent, rows, factors = totals
    size = problem.size
    is_part = np.ones(size, dtype=np.bool_)
    is_part[dependent] = False
    part = np.flatnonzero(is_part)
    own = problem.relations[rows]
    scale = -factors  # total = -(sum of the others - r) / factor, and factor is +1 or -1
    pick = csr_matrix((np.ones(dependent.size, dtype=np.int64), (dependent, np.arange(dependent.size))), shape=(size, dependent.size))
    signed = own.copy()
    signed.data = own.data * np.repeat(scale, np.diff(own.indptr))
    from_others = (pick @ signed).tolil()
    from_others[dependent, dependent] = 0
    from_others = from_others.tocsr()
    constant_step = pick @ (factors * problem.residual[rows])
    start = csr_matrix((np.ones(part.size, dtype=np.int64), (part, np.arange(part.size))), shape=(size, part.size))
    sums, constant = start, constant_step
    for _ in range(TUNING.deepest):
        above, above_constant = (from_others @ sums + start).tocsr(), from_others @ constant + constant_step
        if (above != sums).nnz == 0 and np.array_equal(above_constant, constant):
            break
        sums, constant = above, above_constant
        if sums.nnz > TUNING.most_entries:
            return None
    else:
        return None
    return _independent(problem, CellParts(part=part, sums=sums, constant=np.asarray(constant, dtype=np.int64)))


def _independent(problem: ProtectionProblem, parts: CellParts) -> CellParts | None:
    """Where a total is broken down in several ways the parts hang together still: some of them follow from the others."""
    ties = (problem.relations @ parts.sums).tocsr()
    ties.eliminate_zeros()
    left = problem.residual - problem.relations @ parts.constant
    rows = np.flatnonzero(np.diff(ties.indptr) > 0)
    if left[np.diff(ties.indptr) == 0].any():
        return None
    if rows.size == 0:
        return parts
    terms = [slice(ties.indptr[row], ties.indptr[row + 1]) for row in rows]
    solved = _eliminate([dict(zip(ties.indices[own].tolist(), ties.data[own].tolist(), strict=True)) for own in terms], left[rows].tolist())
    if solved is None:
        return None
    free = np.array([k for k in range(parts.part.size) if k not in solved], dtype=np.int64)
    place = {int(k): number for number, k in enumerate(free)}
    entries = [(int(k), place[int(k)], 1) for k in free]
    entries += [(k, place[other], factor) for k, (terms, _) in solved.items() for other, factor in terms.items()]
    row, column, factor = np.array(entries, dtype=np.int64).T
    change = csr_matrix((factor, (row, column)), shape=(parts.part.size, free.size))
    shift = np.zeros(parts.part.size, dtype=np.int64)
    for k, (_, amount) in solved.items():
        shift[k] = amount
    sums = (parts.sums @ change).tocsr()
    sums.eliminate_zeros()
    return CellParts(part=parts.part[free], sums=sums, constant=parts.constant + parts.sums @ shift)


Terms = dict[int, int]


def _eliminate(rows: list[Terms], right: list[int]) -> dict[int, tuple[Terms, int]] | None:
    """Solve sum of factor * part = right for some parts in terms of the others, by pivots of +1 or -1 only: all stays whole.

    Shortest row first and, in it, the part that the fewest rows use: that keeps the rows short.
    """
    used: dict[int, set[int]] = {}
    for number, row in enumerate(rows):
        for k in row:
            used.setdefault(k, set()).add(number)
    waiting = set(range(len(rows)))
    shortest = [(len(row), number) for number, row in enumerate(rows)]  # also of lengths that rows had before: those are passed over
    heapify(shortest)
    solved: dict[int, tuple[Terms, int]] = {}
    while waiting:
        length, number = heappop(shortest)
        if number not in waiting or length != len(rows[number]):
            continue
        waiting.discard(number)
        units = [k for k, factor in rows[number].items() if abs(factor) == 1]
        if rows[number] and not units:
            return None
        if not rows[number]:
            if right[number]:
                return None
            continue
        pivot = min(units, key=lambda k: (len(used[k]), k))
        factor = rows[number].pop(pivot)
        answer = ({k: -factor * c for k, c in rows[number].items()}, factor * right[number])
        for k in (pivot, *rows[number]):
            used[k].discard(number)
        changed = used[pivot]
        _substitute(pivot, answer, rows, right, used)
        for other in changed:
            heappush(shortest, (len(rows[other]), other))
        _update(solved, pivot, answer)
    return solved


def _substitute(pivot: int, answer: tuple[Terms, int], rows: list[Terms], right: list[int], used: dict[int, set[int]]) -> None:
    """Put the answer for the pivot into every row that still uses it."""
    terms, amount = answer
    for number in used.pop(pivot):
        times = rows[number].pop(pivot)
        right[number] -= times * amount
        _add(rows[number], terms, times)
        for k in terms:
            (used[k].add if k in rows[number] else used[k].discard)(number)


def _update(solved: dict[int, tuple[Terms, int]], pivot: int, answer: tuple[Terms, int]) -> None:
    """Put the answer for the pivot into the earlier answers, and keep it."""
    terms, amount = answer
    for done, (earlier, shift) in solved.items():
        if pivot in earlier:
            times = earlier.pop(pivot)
            _add(earlier, terms, times)
            solved[done] = (earlier, shift + times * amount)
    solved[pivot] = answer


def _add(row: Terms, terms: Terms, times: int) -> None:
    for k, c in terms.items():
        row[k] = row.get(k, 0) + times * c
        if row[k] == 0:
            del row[k]


def _defining_relations(problem: ProtectionProblem) -> tuple[IntArray, IntArray, IntArray] | None:
    """For each cell that is some relation's total: the shortest such relation, and the total's factor there (+1 or -1)."""
    matrix = problem.relations
    lengths = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(matrix.shape[0]), lengths)
    positive = np.bincount(rows, weights=matrix.data > 0, minlength=matrix.shape[0])
    alone = np.where(matrix.data > 0, positive[rows] == 1, lengths[rows] - positive[rows] == 1) & (np.abs(matrix.data) == 1)
    entry = np.flatnonzero(alone & ((lengths[rows] > 2) | (matrix.data < 0)))
    if np.unique(rows[entry]).size < matrix.shape[0]:
        return None
    order = entry[np.lexsort((rows[entry], lengths[rows[entry]], matrix.indices[entry]))]
    cells, first = np.unique(matrix.indices[order], return_index=True)
    chosen = order[first]
    return cells.astype(np.int64), rows[chosen], matrix.data[chosen].astype(np.int64)


class PartSteps(NamedTuple):
    """The sums of parts both ways: the cells that each part is in, and the parts of each cell, with factors."""

    cells_at: AnyArray
    cells: AnyArray
    cell_factors: IntArray
    parts_at: AnyArray
    parts: AnyArray
    part_factors: IntArray


class RoundingGoal(NamedTuple):
    """The range of each cell, and what it costs to be away from the centre, linearly or in squares, or out of the range."""

    low: IntArray
    high: IntArray
    weight: FloatArray
    centre: FloatArray
    square: bool
    penalty: float


def round_by_parts(problem: ProtectionProblem, parts: CellParts, senses: IntArray, target: FloatArray, *, seed: int = 0) -> IntArray | None:
    """A whole table close to the target within the senses' ranges, or None when the walk did not find one."""
    start = np.rint(target[parts.part]).astype(np.int64)
    rows, columns = parts.sums.tocsr(), parts.sums.tocsc()
    by_part, by_cell = columns.data.astype(np.int64), rows.data.astype(np.int64)
    steps = PartSteps(columns.indptr, columns.indices, by_part, rows.indptr, rows.indices, by_cell)
    z = rows @ start + parts.constant
    square = problem.norm == "l2"
    centre = target if square else np.zeros(problem.size)
    penalty = 1e4 * float(problem.weight.max()) * (1.0 + (float(np.abs(centre).max()) if square else 0.0))
    goal = RoundingGoal(*problem.allowed(senses), problem.weight, centre, square, penalty)
    most = TUNING.steps_per_part * min(start.size, TUNING.most_for_parts)
    sweeps = max(TUNING.fewest_sweeps, TUNING.sweeps * TUNING.most_for_parts // max(start.size, TUNING.most_for_parts))
    clear = _walk(steps, goal, z, most, sweeps, seed)
    return z if clear and problem.accepts(z) else None


@njit(cache=True)
def _cost(i, z, goal):  # type: ignore[no-untyped-def]
    """What it costs that cell i has moved by z."""
    outside = max(goal.low[i] - z, z - goal.high[i], 0)
    away = abs(z - goal.centre[i])
    return goal.weight[i] * (away * away if goal.square else away) + goal.penalty * outside


@njit(cache=True)
def _step_cost(part, step, steps, goal, z):  # type: ignore[no-untyped-def]
    """What a step of the part adds to the cost of all its cells."""
    change = 0.0
    for k in range(steps.cells_at[part], steps.cells_at[part + 1]):
        i = steps.cells[k]
        change += _cost(i, z[i] + steps.cell_factors[k] * step, goal) - _cost(i, z[i], goal)
    return change


@njit(cache=True)
def _take(part, step, steps, z):  # type: ignore[no-untyped-def]
    """Take the step, in place."""
    for k in range(steps.cells_at[part], steps.cells_at[part + 1]):
        z[steps.cells[k]] += steps.cell_factors[k] * step


@njit(cache=True)
def _paired(part, step, steps, goal, z):  # type: ignore[no-untyped-def]
    """Take the step, look for the best of a few partners below a common total that step back, and keep the pair if it pays."""
    first = _step_cost(part, step, steps, goal, z)
    _take(part, step, steps, z)
    if first < -1e-12:
        return first
    best, partner, back = 0.0, -1, 0
    for _ in range(TUNING.partners):
        k = np.random.randint(steps.cells_at[part], steps.cells_at[part + 1])
        total = steps.cells[k]
        other = np.random.randint(steps.parts_at[total], steps.parts_at[total + 1])
        if steps.parts[other] == part:
            continue
        turn = -step * (1 if steps.part_factors[other] * steps.cell_factors[k] > 0 else -1)
        change = first + _step_cost(steps.parts[other], turn, steps, goal, z)
        if change < best - 1e-12:
            best, partner, back = change, steps.parts[other], turn
    if partner >= 0:
        _take(partner, back, steps, z)
        return best
    _take(part, -step, steps, z)
    return 0.0


@njit(cache=True)
def _walk(steps, goal, z, most, sweeps, seed):  # type: ignore[no-untyped-def]
    """First bring every cell into its range, then step downhill in cost; tells whether all cells are in range."""
    np.random.seed(seed)
    _mend(most, steps, goal, z)
    _descend(sweeps, steps, goal, z)
    return _count_outside(goal, z, np.empty(z.size, np.int64)) == 0


@njit(cache=True)
def _count_outside(goal, z, outside):  # type: ignore[no-untyped-def]
    """How many cells are out of their range; they are listed in `outside`."""
    count = 0
    for i in range(z.size):
        if z[i] < goal.low[i] or z[i] > goal.high[i]:
            outside[count] = i
            count += 1
    return count


@njit(cache=True)
def _mend(most, steps, goal, z):  # type: ignore[no-untyped-def]
    """Pick a cell out of its range and step one of its parts the right way, alone or with a partner."""
    parts = steps.cells_at.size - 1
    outside = np.empty(z.size, np.int64)
    count = 0
    for number in range(most):
        if number % max(1, parts // 8) == 0:
            count = _count_outside(goal, z, outside)
        if count == 0:
            return
        i = outside[np.random.randint(count)]
        if goal.low[i] <= z[i] <= goal.high[i]:
            continue
        k = np.random.randint(steps.parts_at[i], steps.parts_at[i + 1])
        turn = 1 if (z[i] < goal.low[i]) == (steps.part_factors[k] > 0) else -1
        if _paired(steps.parts[k], turn, steps, goal, z) == 0.0 and np.random.random() < TUNING.shaken:  # shakes the walk loose
            _take(steps.parts[k], turn, steps, z)


@njit(cache=True)
def _descend(sweeps, steps, goal, z):  # type: ignore[no-untyped-def]
    """Random steps that pay, until a whole sweep brings nothing."""
    parts = steps.cells_at.size - 1
    for _ in range(sweeps):
        gained = 0.0
        for _ in range(2 * parts):
            gained += _paired(np.random.randint(parts), 1 if np.random.random() < 0.5 else -1, steps, goal, z)
        if gained > -1e-12:
            return
