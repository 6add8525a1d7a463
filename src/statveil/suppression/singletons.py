"""Who alone knows a suppressed class, and could work out another from it.

The respondent alone in class s recovers class q exactly where d_q is the same multiple of d_s in every deviation that keeps the sums: where
their rows of a basis of the null space are parallel. Two random vectors of the null space modulo a prime show it with near certainty; what
they show is met by a need of its own, and every such need has a witness in whole numbers.
"""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.suppression.classes import ClassSystem, Need

PRIME = 2_147_483_629
_SEED = 20_240_229
VECTORS = 3


def breaches(system: ClassSystem, suppressed: BoolArray) -> tuple[Need, ...]:
    """Needs that keep every sensitive class from the one who alone knows another: to be met as well."""
    columns = np.flatnonzero(suppressed)
    vectors = null_vectors(np.asarray(system.relations[:, columns].todense(), dtype=np.int64))
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, number in enumerate(columns.tolist()):
        row = vectors[place]
        if row.any():
            lead = next(int(each) for each in row if each)
            inverse = pow(lead, PRIME - 2, PRIME)
            groups.setdefault(tuple(int(each) * inverse % PRIME for each in row), []).append(number)
    return tuple(need for members in groups.values() for need in _needs_within(system, members))


def _needs_within(system: ClassSystem, members: list[int]) -> list[Need]:
    knowing = [each for each in members if system.single[each]]
    pairs = [(target, known) for known in knowing for target in members if target != known and system.sensitive[target]]
    return [Need(target, 1 if system.up[target] > 0 else -1, 1, known) for target, known in pairs]


def null_vectors(matrix: IntArray) -> IntArray:
    """Random vectors of the null space modulo the prime, one column each."""
    rows, size = matrix.shape
    left = matrix % PRIME
    pivots: list[int] = []
    for column in range(size):
        done = len(pivots)
        below = np.flatnonzero(left[done:, column])
        if done == rows or not below.size:
            continue
        chosen = done + int(below[0])
        left[[done, chosen]] = left[[chosen, done]]
        left[done] = left[done] * pow(int(left[done, column]), PRIME - 2, PRIME) % PRIME
        others = np.flatnonzero(left[:, column])
        others = others[others != done]
        used = np.flatnonzero(left[done])
        block = np.ix_(others, used)
        left[block] = (left[block] - left[others, column][:, None] * left[done, used] % PRIME) % PRIME
        pivots.append(column)
    free = np.setdiff1d(np.arange(size), pivots)
    vectors = np.zeros((size, VECTORS), dtype=np.int64)
    vectors[free] = np.random.default_rng(_SEED).integers(1, PRIME, size=(free.size, VECTORS))
    for row, pivot in enumerate(pivots):
        used = free[np.flatnonzero(left[row, free])]
        vectors[pivot] = -(left[row, used][:, None] * vectors[used] % PRIME).sum(axis=0) % PRIME
    return vectors
