"""Components of one relation, solved on the spot: all senses are tried, and for each the cheapest cells give or take what is left over."""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.protect.problem import ProtectionProblem

MOST_CHOICES = 10
"""Cells with a choice up to which all senses are tried."""


def solve_single_relations(problem: ProtectionProblem, rows: IntArray) -> tuple[BoolArray, IntArray]:
    """For relations that share no cell with another: which were solved, and the least-cost deviation of each cell in those.

    Only L1 and factors of one size; then amounts are whole, and optimal. A relation that cannot be satisfied is left unsolved.
    """
    deviation = np.zeros(problem.size, dtype=np.int64)
    if problem.norm != "l1":
        return np.zeros(rows.size, dtype=np.bool_), deviation
    matrix = problem.relations.tocsr()
    intervals = np.stack([each for pair in (problem.free, problem.down, problem.up) for each in pair])
    solved = _solve(
        rows, matrix.indptr, matrix.indices, matrix.data, problem.residual, intervals, problem.sensitive, problem.weight, deviation
    )
    return solved, deviation


@njit(cache=True)
def _solve(
    rows: IntArray,
    indptr: AnyArray,
    indices: AnyArray,
    data: IntArray,
    residual: IntArray,
    intervals: IntArray,
    sensitive: BoolArray,
    weight: FloatArray,
    deviation: IntArray,
) -> BoolArray:
    solved = np.zeros(rows.size, dtype=np.bool_)
    for k in range(rows.size):
        cells, factors = indices[indptr[rows[k]] : indptr[rows[k] + 1]], data[indptr[rows[k]] : indptr[rows[k] + 1]]
        size = abs(factors[0])
        choices = cells[sensitive[cells]]
        if (np.abs(factors) != size).any() or residual[rows[k]] % size or choices.size > MOST_CHOICES:
            continue
        order = np.argsort(weight[cells], kind="mergesort")
        best = np.inf
        for senses in range(2**choices.size):
            table = _cheapest(cells[order], factors[order] // size, residual[rows[k]] // size, senses, intervals, sensitive)
            cost = (weight[cells[order]] * np.abs(table)).sum() if table.size else np.inf
            if cost < best:
                best, solved[k] = cost, True
                deviation[cells[order]] = table
    return solved


@njit(cache=True)
def _cheapest(cells: AnyArray, signs: IntArray, right: int, senses: int, intervals: IntArray, sensitive: BoolArray) -> IntArray:
    """The least-cost amounts for these senses (a bit for each sensitive cell, 1 up), cells in order of weight; empty if there are none."""
    table, kinds = np.empty(cells.size, dtype=np.int64), np.zeros(cells.size, dtype=np.int64)
    missing = right
    for i in range(cells.size):
        if sensitive[cells[i]]:
            kinds[i] = 4 if senses % 2 else 2
            senses //= 2
        low, high = intervals[kinds[i], cells[i]], intervals[kinds[i] + 1, cells[i]]
        if low > high:
            return table[:0]
        table[i] = min(max(0, low), high)  # as near to zero as it may be: every further unit costs its weight
        missing -= signs[i] * table[i]
    for i in range(cells.size):
        low, high = intervals[kinds[i], cells[i]], intervals[kinds[i] + 1, cells[i]]
        rises = (signs[i] > 0) == (missing > 0)
        step = min(high - table[i] if rises else table[i] - low, abs(missing))
        table[i] += step if rises else -step
        missing -= step if missing > 0 else -step
    return table if missing == 0 else table[:0]
