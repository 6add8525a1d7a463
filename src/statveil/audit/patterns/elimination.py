"""Random vectors of the null space of the relations between suppressed cells, by elimination modulo primes.

A suppressed cell is recovered exactly iff it is zero in every vector of the null space; whoever knows a second cell recovers it iff the two
are in one proportion in all of them. Random vectors show both, up to a chance of one in the prime (docs/audit.md).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import IntArray

PRIMES = (2147483647, 2147483629)
"""The two largest primes of 31 bits: products of two residues fit in 64."""
VECTORS = 2


class NullVectors(NamedTuple):
    """`vectors[prime, k]` is the k-th random vector modulo that prime; `rank` that of the matrix modulo each."""

    vectors: IntArray
    rank: tuple[int, ...]
    primes: tuple[int, ...]


def null_vectors(matrix: csr_matrix, *, seed: int = 1) -> NullVectors:
    """Random null vectors modulo those primes that give the full rank: a prime that divides a determinant sees too small a one."""
    found = [SparseElimination(matrix, prime).run(np.random.default_rng(seed + at)) for at, prime in enumerate(PRIMES)]
    ranks = [rank for rank, _ in found]
    kept = [at for at, rank in enumerate(ranks) if rank == max(ranks)]
    vectors = np.stack([found[at][1] for at in kept])
    return NullVectors(vectors=vectors, rank=tuple(ranks[at] for at in kept), primes=tuple(PRIMES[at] for at in kept))


def proportions(null: NullVectors) -> list[tuple[int, ...]]:
    """A key for each cell that is equal for cells in one proportion in all vectors; recovered cells share a key of zeros."""
    keys = []
    for vectors, prime in zip(null.vectors.tolist(), null.primes, strict=True):
        first, second = vectors
        keys.append([_ratio(one, two, prime) for one, two in zip(first, second, strict=True)])
    return list(zip(*keys, strict=True))


def _ratio(one: int, two: int, prime: int) -> int:
    """A quotient modulo the prime, one more than it so that zero is left for nought."""
    return 0 if one == two == 0 else prime + 1 if two == 0 else one * pow(two, -1, prime) % prime + 1


class SparseElimination:
    """Sparse elimination: the pivot is in the column with the fewest entries, there in the shortest row.

    A right-hand side is a last column that is never a pivot: `matrix @ x == right` is `(matrix, -right) @ (x, 1) == 0`.
    """

    def __init__(self, matrix: csr_matrix, prime: int, right: Sequence[int] = ()) -> None:
        self.prime, self.columns = prime, matrix.shape[1]
        self.rows: list[dict[int, int]] = []
        self.where: list[set[int]] = [set() for _ in range(self.columns + bool(right))]
        for at in range(matrix.shape[0]):
            part = slice(matrix.indptr[at], matrix.indptr[at + 1])
            terms = dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
            terms |= {self.columns: -right[at]} if right else {}
            self.rows.append({column: factor % prime for column, factor in terms.items() if factor % prime})
            for column in self.rows[-1]:
                self.where[column].add(at)
        self.pivots: list[tuple[int, dict[int, int]]] = []

    def run(self, rng: np.random.Generator) -> tuple[int, IntArray]:
        """The rank, and vectors of the null space: free columns at random, the others from the last pivot to the first."""
        self.reduce()
        found: list[list[int]] = rng.integers(1, self.prime, size=(VECTORS, self.columns)).tolist()
        return len(self.pivots), np.array([self._completed(vector) for vector in found], dtype=np.int64)

    def solution(self, start: Sequence[int]) -> list[int]:
        """Free columns as they are at the start, the others as the right-hand side asks; rows that contradict each other are left alone."""
        self.reduce()
        return self._completed([*(each % self.prime for each in start), 1])[: self.columns]

    def reduce(self) -> None:
        """Find all pivots."""
        for column in self._order():
            self._pivot(column)

    def _order(self) -> Iterator[int]:
        """Columns by how many rows they are in, as it stands when their turn comes."""
        queue = [(len(rows), column) for column, rows in enumerate(self.where[: self.columns]) if rows]
        heapq.heapify(queue)
        while queue:
            count, column = heapq.heappop(queue)
            now = len(self.where[column])
            if now > count:
                heapq.heappush(queue, (now, column))
            elif now:
                yield column

    def _pivot(self, column: int) -> None:
        pivot = min(self.where[column], key=lambda row: (len(self.rows[row]), row))
        terms = self.rows[pivot]
        for other in terms:
            self.where[other].discard(pivot)
        inverse = pow(terms[column], -1, self.prime)
        for row in sorted(self.where[column]):
            self._subtract(row, terms, self.rows[row][column] * inverse % self.prime)
        self.pivots.append((column, terms))

    def _subtract(self, row: int, terms: dict[int, int], times: int) -> None:
        here, prime = self.rows[row], self.prime
        for column, factor in terms.items():
            new = (here.get(column, 0) - times * factor) % prime
            if new:
                if column not in here:
                    self.where[column].add(row)
                here[column] = new
            elif column in here:
                del here[column]
                self.where[column].discard(row)

    def _completed(self, vector: list[int]) -> list[int]:
        """The columns of pivots from those that are free."""
        for column, terms in reversed(self.pivots):
            inverse = -pow(terms[column], -1, self.prime)
            vector[column] = sum(factor * vector[other] for other, factor in terms.items() if other != column) * inverse % self.prime
        return vector
