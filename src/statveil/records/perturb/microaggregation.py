"""Groups of at least k records that are alike: the best possible ones of one column, and MDAV for several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray


class MdavTuning(NamedTuple):
    block: int = 10_000
    """Records that MDAV looks at together; its time grows with their square. More are cut into blocks along their principal component:
    benchmarks/RESULTS.md, perturbation."""


TUNING = MdavTuning()


def group_means(values: FloatArray, k: int) -> FloatArray:
    """Each record (row) replaced by the mean of its group; at least k rows."""
    group = _groups(values, k)
    size = np.bincount(group)
    sums = [np.bincount(group, weights=column) for column in values.T]
    return np.stack([each / size for each in sums], axis=1)[group]


def _groups(values: FloatArray, k: int) -> IntArray:
    if values.shape[1] == 1:
        return best_groups(values[:, 0], k)
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return by_blocks(scaled, k)


def best_groups(values: FloatArray, k: int) -> IntArray:
    """The groups of least sum of squares: a shortest path over the sorted values (Hansen and Mukherjee 2003)."""
    order = np.argsort(values, kind="stable")
    group = np.empty(values.size, dtype=np.int64)
    group[order] = _shortest_path(values[order] - values.mean(), k)
    return group


@njit(cache=True)
def _shortest_path(ordered, k):  # type: ignore[no-untyped-def]
    """Groups are k to 2k-1 neighbours: larger ones could be cut in two without loss."""
    n = ordered.size
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for place in range(n):
        sums[place + 1] = sums[place] + ordered[place]
        squares[place + 1] = squares[place] + ordered[place] ** 2
    cost, came = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    cost[0] = 0.0
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            part = sums[end] - sums[start]
            found = cost[start] + squares[end] - squares[start] - part * part / (end - start)
            if found < cost[end]:
                cost[end], came[end] = found, start
    group, end, number = np.zeros(n, dtype=np.int64), n, 0
    while end > 0:
        group[came[end] : end] = number
        end, number = came[end], number + 1
    return group


def by_blocks(scaled: FloatArray, k: int) -> IntArray:
    """MDAV on blocks of neighbours along the first principal component."""
    block = max(TUNING.block, 4 * k)
    pieces = -(-scaled.shape[0] // block)
    along = scaled @ np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    order = np.argsort(along, kind="stable") if pieces > 1 else np.arange(along.size)
    group, first = np.empty(along.size, dtype=np.int64), 0
    for rows in np.array_split(order, pieces):
        group[rows] = mdav(np.ascontiguousarray(scaled[rows]), k) + first
        first = int(group[rows].max()) + 1
    return group


@njit(cache=True)
def mdav(points, k):  # type: ignore[no-untyped-def]
    """MDAV (Domingo-Ferrer and Mateo-Sanz 2002; in the fixed form of Domingo-Ferrer and Torra 2005, algorithm MDAV-generic).

    The record farthest from the mean of those left, and the one farthest from it, each take their k-1 nearest.
    """
    left, at = np.arange(points.shape[0]), points.copy()
    group, number, n = np.zeros(points.shape[0], dtype=np.int64), 0, points.shape[0]
    while n >= 3 * k:
        first = at[_farthest(at, n, _mean(at, n))].copy()
        second = at[_farthest(at, n, first)].copy()
        n = _take(at, left, n, first, k, group, number)
        n = _take(at, left, n, second, k, group, number + 1)
        number += 2
    if n >= 2 * k:
        first = at[_farthest(at, n, _mean(at, n))].copy()
        n = _take(at, left, n, first, k, group, number)
        number += 1
    for place in range(n):
        group[left[place]] = number
    return group


@njit(cache=True)
def _mean(at, n):  # type: ignore[no-untyped-def]
    """The mean of the first n points."""
    found = np.zeros(at.shape[1])
    for place in range(n):
        for column in range(at.shape[1]):
            found[column] += at[place, column]
    return found / n


@njit(cache=True, inline="always")
def _distance(at, place, point):  # type: ignore[no-untyped-def]
    """The squared distance of a point from the one at `place`."""
    found = 0.0
    for column in range(point.size):
        found += (at[place, column] - point[column]) ** 2
    return found


@njit(cache=True)
def _farthest(at, n, point):  # type: ignore[no-untyped-def]
    """Which of the first n points lies farthest from `point`."""
    best, far = 0, -1.0
    for place in range(n):
        distance = _distance(at, place, point)
        if distance > far:
            best, far = place, distance
    return best


@njit(cache=True)
def _take(at, left, n, point, k, group, number):  # type: ignore[no-untyped-def]
    """Give the k records nearest to a point to a group; those left move up, in their order. Returns how many are left."""
    near, place_of, held = np.full(k, np.inf), np.zeros(k, dtype=np.int64), 0
    for place in range(n):
        distance = _distance(at, place, point)
        if held == k and distance >= near[k - 1]:
            continue
        slot = held if held < k else k - 1
        while slot > 0 and near[slot - 1] > distance:
            near[slot], place_of[slot] = near[slot - 1], place_of[slot - 1]
            slot -= 1
        near[slot], place_of[slot] = distance, place
        held = min(held + 1, k)
    taken = np.sort(place_of)
    for place in taken:
        group[left[place]] = number
    kept, following = taken[0], 0
    for place in range(taken[0], n):
        if following < k and taken[following] == place:
            following += 1
            continue
        left[kept] = left[place]
        at[kept] = at[place]
        kept += 1
    return kept
