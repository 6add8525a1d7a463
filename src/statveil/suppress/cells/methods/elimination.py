"""Method `elimination`: cells are published from the most wanted on, unless a sensitive one would follow from what is published.

Every cell is a sum of free ones, a vector. A candidate is published if no sensitive vector becomes a combination of published ones; else it
is suppressed (the idea of Langsrud's GaussSuppression). That hides exact values only: nothing is promised of how closely a sensitive cell
can be bounded, and that no cell is below zero is not used. The order decides, and the pattern is seldom the cheapest.
"""

from __future__ import annotations

import heapq

import numpy as np

from statveil.audit.patterns.elimination import PRIMES, SparseElimination
from statveil.core.arrays import BoolArray
from statveil.suppress.cells.classes import ClassSystem

PRIME = PRIMES[0]
Vector = dict[int, int]


def elimination_pattern(system: ClassSystem) -> BoolArray:
    """The suppressed classes: free ones, and those that would give a sensitive one away. What costs most is wanted most,
    then what is largest."""
    vectors = _vectors(system)
    elimination = _Elimination({int(each): vectors[each] for each in np.flatnonzero(system.sensitive)})
    suppressed = system.free.copy()
    candidates = np.flatnonzero(~system.free)
    for candidate in candidates[np.lexsort((candidates, -system.down[candidates], -system.cost[candidates]))].tolist():
        suppressed[candidate] = not elimination.publish(vectors[candidate])
    return suppressed


def _vectors(system: ClassSystem) -> list[Vector]:
    """Each class as a combination of classes that the sums leave free, modulo a prime."""
    solved = SparseElimination(system.relations, PRIME)
    solved.reduce()
    vectors: list[Vector] = [{each: 1} for each in range(system.size)]
    for column, terms in reversed(solved.pivots):
        inverse = -pow(terms[column], -1, PRIME)
        vector: Vector = {}
        for other, factor in terms.items():
            if other != column:
                _add(vector, vectors[other], factor * inverse % PRIME)
        vectors[column] = vector
    return vectors


def _add(vector: Vector, other: Vector, times: int) -> None:
    for place, factor in other.items():
        new = (vector.get(place, 0) + times * factor) % PRIME
        if new:
            vector[place] = new
        else:
            vector.pop(place, None)


class _Elimination:
    """Published vectors, each free of the places of those before it, and the sensitive ones reduced by all of them."""

    def __init__(self, sensitive: dict[int, Vector]) -> None:
        self.published: list[tuple[int, Vector]] = []
        self.pivot_of: dict[int, int] = {}
        self.sensitive = {number: dict(vector) for number, vector in sensitive.items()}
        self.holding: dict[int, set[int]] = {}
        for number, vector in self.sensitive.items():
            for place in vector:
                self.holding.setdefault(place, set()).add(number)

    def publish(self, vector: Vector) -> bool:
        """Publish it unless that makes a sensitive one known."""
        left = self._reduced(vector)
        if not left:
            return True
        pivot = min(left, key=lambda place: (len(self.holding.get(place, ())), place))
        if any(self._parallel(self.sensitive[number], left, pivot) for number in self.holding.get(pivot, ())):
            return False
        self._take(left, pivot)
        return True

    def _reduced(self, vector: Vector) -> Vector:
        """By the published ones in their order."""
        left = dict(vector)
        waiting = [self.pivot_of[place] for place in left if place in self.pivot_of]
        heapq.heapify(waiting)
        done = -1
        while waiting:
            number = heapq.heappop(waiting)
            if number == done:
                continue
            done = number
            pivot, other = self.published[number]
            if pivot not in left:
                continue
            before = set(left)
            _add(left, other, -left[pivot] * pow(other[pivot], -1, PRIME) % PRIME)
            for place in left.keys() - before:
                if self.pivot_of.get(place, -1) > number:
                    heapq.heappush(waiting, self.pivot_of[place])
        return left

    def _parallel(self, vector: Vector, left: Vector, pivot: int) -> bool:
        if vector.keys() != left.keys():
            return False
        times = vector[pivot] * pow(left[pivot], -1, PRIME) % PRIME
        return all(vector[place] == times * factor % PRIME for place, factor in left.items())

    def _take(self, left: Vector, pivot: int) -> None:
        self.pivot_of[pivot] = len(self.published)
        self.published.append((pivot, left))
        inverse = pow(left[pivot], -1, PRIME)
        for number in list(self.holding.get(pivot, ())):
            vector = self.sensitive[number]
            before = set(vector)
            _add(vector, left, -vector[pivot] * inverse % PRIME)
            for place in before - vector.keys():
                self.holding[place].discard(number)
            for place in vector.keys() - before:
                self.holding.setdefault(place, set()).add(number)
