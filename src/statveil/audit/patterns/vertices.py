"""Corners of the set of possible tables in exact fractions, from what a solver says of them in doubles.

Of a corner only which cells are at a bound is taken from the solver; the others follow from the relations, by elimination modulo one large
prime and reconstruction of fractions (P. S. Wang, "A p-adic algorithm for univariate partial fractions", SYMSAC 1981). What comes out is
checked by whoever asked for it: a wrong corner is none.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isqrt

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.patterns.elimination import SparseElimination
from statveil.core.arrays import FloatArray, IntArray

PRIME = 2**127 - 1
"""A Mersenne prime: fractions with numerator and denominator below 2^63 are told apart."""
AT_A_BOUND = 1e-6
"""How near to a bound, in parts of the largest deviation, a cell is taken to be there. By judgement: wrong guesses are found out."""


def exact_corner(matrix: csr_matrix, deviation: FloatArray, down: IntArray, up: IntArray) -> list[Fraction] | None:
    """The table with `matrix @ table == 0` that has the solver's cells at their bounds; None where fractions are too long to be told."""
    near = AT_A_BOUND * max(float(np.abs(deviation).max(initial=0)), 1.0)
    low, high = deviation + down <= near, up - deviation <= near
    known = np.where(low, -down, np.where(high, up, np.rint(deviation).astype(np.int64)))
    inner = np.flatnonzero(~low & ~high)
    rest = [int(known[at]) if fixed else 0 for at, fixed in enumerate((low | high).tolist())]
    found = _solved(matrix[:, inner], [-each for each in times(matrix, rest)], [int(known[at]) for at in inner])
    if found is None:
        return None
    table = [Fraction(each) for each in rest]
    for at, value in zip(inner.tolist(), found, strict=True):
        table[at] = value
    return table


def times(matrix: csr_matrix, column: list[int]) -> list[int]:
    """A product in integers without end."""
    ends, where, factors = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    return [sum(factors[at] * column[where[at]] for at in range(first, last)) for first, last in pairwise(ends)]


def _solved(matrix: csr_matrix, right: list[int], start: list[int]) -> list[Fraction] | None:
    """Columns that the rows leave open stay at their start; the others follow."""
    solution = SparseElimination(matrix, PRIME, right).solution(start)
    fractions = [_fraction(each) for each in solution]
    return None if any(each is None for each in fractions) else [each for each in fractions if each is not None]


def _fraction(residue: int) -> Fraction | None:
    """The fraction with numerator and denominator below the root of half the prime that is this residue, if there is one."""
    most = isqrt(PRIME // 2)
    (before, now), (count_before, count) = (PRIME, residue), (0, 1)
    while now > most:
        quotient = before // now
        (before, now), (count_before, count) = (now, before - quotient * now), (count, count_before - quotient * count)
    return Fraction(now, count) if 0 < abs(count) <= most else None
