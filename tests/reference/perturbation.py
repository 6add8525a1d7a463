"""Microaggregation as slowly and plainly as the papers say it."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.core.arrays import FloatArray


def squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((each - mean) ** 2 for each in values)


def least_squares(ordered: Sequence[float], k: int) -> float:
    """The least sum of squares within groups of at least k neighbours, by trying every first group."""
    if not ordered:
        return 0.0
    ways = [
        squares(ordered[:size]) + least_squares(ordered[size:], k) for size in range(k, len(ordered) + 1) if _fits(len(ordered) - size, k)
    ]
    return min(ways)


def _fits(left: int, k: int) -> bool:
    return left == 0 or left >= k


def mdav_groups(points: FloatArray, k: int) -> list[frozenset[int]]:
    """MDAV-generic of Domingo-Ferrer and Torra (2005), line by line."""
    left, groups = list(range(len(points))), list[frozenset[int]]()

    def distance(one: int, point: FloatArray) -> float:
        return float(((points[one] - point) ** 2).sum())

    def farthest(point: FloatArray) -> int:
        return max(left, key=lambda each: distance(each, point))

    def take(point: FloatArray) -> None:
        nearest = sorted(left, key=lambda each: distance(each, point))[:k]
        groups.append(frozenset(nearest))
        left[:] = [each for each in left if each not in nearest]

    while len(left) >= 3 * k:
        first = farthest(points[left].mean(axis=0))
        second = farthest(points[first])
        take(points[first])
        take(points[second])
    if len(left) >= 2 * k:
        take(points[farthest(points[left].mean(axis=0))])
    groups.append(frozenset(left))
    return groups
