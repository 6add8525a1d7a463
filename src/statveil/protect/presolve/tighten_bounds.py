"""Bounds through relations: what the other terms of a relation allow bounds each term. Exact integers throughout."""

from __future__ import annotations

from numba import njit

from statveil.core.arrays import AnyArray, IntArray

ENDLESS = 2**61
"""Deviations beyond this stand for "no bound"."""
USEFUL = 2**52
"""Wider bounds than this are not worth having, and would not pass through a solver."""
_MOST = 2.0**62


@njit(cache=True)
def tighten_bounds(
    indptr: AnyArray,
    indices: AnyArray,
    factors: IntArray,
    residual: IntArray,
    relation: IntArray,
    low: IntArray,
    high: IntArray,
    low_by: IntArray,
    high_by: IntArray,
) -> bool:
    """One pass over the relations, in place; `low_by` and `high_by` get the relation that moved the bound. Tells whether one moved.

    A relation whose terms might not fit 64 bits is left alone.
    """
    moved = False
    for row in range(residual.size):
        cells, terms = indices[indptr[row] : indptr[row + 1]], factors[indptr[row] : indptr[row + 1]]
        moved |= _bound_terms(cells, terms, residual[row], relation[row], low, high, low_by, high_by)
        moved |= _bound_terms(cells, -terms, -residual[row], relation[row], low, high, low_by, high_by)
    return moved


@njit(cache=True)
def _least(cells: AnyArray, terms: IntArray, low: IntArray, high: IntArray) -> tuple[int, int, float]:
    """The least that a relation's left side can be, how many terms are endless (and left out), and the sum of sizes."""
    least, endless, size = 0, 0, 0.0
    for cell, factor in zip(cells, terms):  # noqa: B905
        bottom = low[cell] if factor > 0 else high[cell]
        if abs(bottom) >= ENDLESS:
            endless += 1
        else:
            least += factor * bottom
            size += abs(float(factor) * float(bottom))
    return least, endless, size


@njit(cache=True)
def _bound_terms(
    cells: AnyArray,
    terms: IntArray,
    right: int,
    relation: int,
    low: IntArray,
    high: IntArray,
    low_by: IntArray,
    high_by: IntArray,
) -> bool:
    """Each term may exceed its own least by as much as the right side exceeds the left one's; an endless one alone is bounded by that."""
    least, endless, size = _least(cells, terms, low, high)
    if endless > 1 or size + abs(float(right)) >= _MOST:
        return False
    moved = False
    for cell, factor in zip(cells, terms):  # noqa: B905
        bottom = low[cell] if factor > 0 else high[cell]
        if endless and abs(bottom) < ENDLESS:
            continue
        most = right - least + (0 if endless else factor * bottom)
        bound = most // factor if factor > 0 else -(most // -factor)
        if abs(bound) >= USEFUL:
            continue
        if factor > 0 and bound < high[cell]:
            high[cell], high_by[cell], moved = bound, relation, True
        elif factor < 0 and bound > low[cell]:
            low[cell], low_by[cell], moved = bound, relation, True
    return moved
