"""The continuous program: the changes of leaf cells that cost the rows least, by a first-order method (PDHG, Chambolle and Pock 2011).

Changes are relative to their cells' sizes, and so are rows, so that the matrix has rows that add up to one whatever the decades of the
values; steps are those of Pock and Chambolle (2011), averages restart it (Applegate et al. 2021). What it says is rounded and repaired.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.server.cube.lattice import Members


class SolveTuning(NamedTuple):
    """benchmarks/RESULTS.md, the cube."""

    steps: int = 500
    restart: int = 100
    primal: float = 0.05
    """How much of the step goes to changes, and how little to prices."""


TUNING = SolveTuning()
FREE = 1e18


class Program(NamedTuple):
    """By row: size, what it costs to be off and to be short of its floor, both relative to its size; how quickly its price moves; its
    sense (0: not sensitive) and floor, or else where it is drawn to; the most it may be off. By leaf cell: size and bounds."""

    rows_of: Members
    size: FloatArray
    weight: FloatArray
    short: FloatArray
    pace: FloatArray
    sense: IntArray
    floor: FloatArray
    target: FloatArray
    most: FloatArray
    leaf_size: FloatArray
    low: FloatArray
    high: FloatArray


def solve_program(program: Program, start: FloatArray) -> FloatArray:
    """The changes of leaf cells, near the cheapest."""
    found: FloatArray = _pdhg(program, start, TUNING)
    return found


@numba.njit(cache=True, nogil=True)
def _pdhg(program, start, tuning):  # type: ignore[no-untyped-def]
    """Primal and dual steps in turn; each stretch of `restart` steps begins at the mean of the one before."""
    begin, item, size = program.rows_of.start, program.rows_of.item, program.leaf_size
    x, step = np.minimum(np.maximum(start, program.low), program.high), _steps(program, tuning.primal)
    price, per_unit = np.zeros(program.size.size), np.zeros(program.size.size)
    beyond = _added(begin, item, x, price.size)
    mean_x, mean_price, since = np.zeros(size.size), np.zeros(price.size), 0
    for _ in range(tuning.steps):
        _raise_prices(program, price, per_unit, beyond, tuning.primal)
        beyond[:] = 0.0
        for leaf in range(size.size):
            gradient = 0.0
            for at in range(begin[leaf], begin[leaf + 1]):
                gradient += per_unit[item[at]]
            new = min(max(x[leaf] - step[leaf] * gradient, program.low[leaf]), program.high[leaf])
            further = 2.0 * new - x[leaf]
            x[leaf] = new
            mean_x[leaf] += new
            for at in range(begin[leaf], begin[leaf + 1]):
                beyond[item[at]] += further
        mean_price += price
        since += 1
        if since == tuning.restart:
            x, price = mean_x / since, mean_price / since
            beyond = _added(begin, item, x, price.size)
            mean_x, mean_price, since = np.zeros(size.size), np.zeros(price.size), 0
    return x


@numba.njit(cache=True, nogil=True)
def _steps(program, primal):  # type: ignore[no-untyped-def]
    """For each leaf cell, in the units of changes: size squared over what its column of the relative matrix adds up to."""
    begin, item, size = program.rows_of.start, program.rows_of.item, program.leaf_size
    step = np.empty(size.size)
    for leaf in range(size.size):
        total = 0.0
        for at in range(begin[leaf], begin[leaf + 1]):
            total += program.pace[item[at]] * size[leaf] / program.size[item[at]]
        step[leaf] = primal * size[leaf] ** 2 / max(total, 1e-12)
    return step


@numba.njit(cache=True, nogil=True)
def _added(begin, item, x, rows):  # type: ignore[no-untyped-def]
    """What the leaves add up to in every row."""
    found = np.zeros(rows)
    for leaf in range(x.size):
        for at in range(begin[leaf], begin[leaf + 1]):
            found[item[at]] += x[leaf]
    return found


@numba.njit(cache=True, nogil=True)
def _raise_prices(program, price, per_unit, beyond, primal):  # type: ignore[no-untyped-def]
    """The proximal step of each row: a price between what being short and what being off costs."""
    for row in range(price.size):
        size, weight, short, sense = program.size[row], program.weight[row], program.short[row], program.sense[row]
        sigma = program.pace[row] / primal
        value = price[row] + sigma * beyond[row] / size
        if program.most[row] < FREE:
            most = program.most[row] / size
            price[row] = value - sigma * min(max(value / sigma, -most), most)
        elif sense > 0:
            price[row] = min(max(value - sigma * program.floor[row] / size, -short), weight)
        elif sense < 0:
            price[row] = min(max(value + sigma * program.floor[row] / size, -weight), short)
        else:
            price[row] = min(max(value - sigma * program.target[row] / size, -weight), weight)
        per_unit[row] = price[row] / size
