"""Greedy balance (docs/science.md, section 4): senses in one pass, largest levels first, each so that its row and column are left closer to
balance.

The large levels are spread first and the small ones fill in: a good start at once, which annealing then improves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.compiled_random import STEP, mixed
from statveil.protect.network.anneal import Choices


def balance(choices: Choices, lacks: FloatArray, seed: int) -> IntArray:
    """Senses (1 up, 0 down) of the choices, given what each node lacks with all of them at rest; chance, by the seed, breaks ties.

    No subtable is left less balanced than with all of its choices up.
    """
    up, order = np.ones(choices.cell.size, dtype=np.int64), np.argsort(choices.fall - choices.rise, kind="stable")
    table = np.repeat(np.arange(choices.start.size - 1), np.diff(choices.start))
    in_turn = order[np.argsort(table[order], kind="stable")]
    _balance_tables(choices, up, lacks.copy(), in_turn, np.uint64(seed))
    return up


@njit(cache=True)
def _balance_tables(c, up, lacks, in_turn, word):  # type: ignore[no-untyped-def]
    for table in range(c.start.size - 1):
        turn = in_turn[c.start[table] : c.start[table + 1]]
        nodes = c.nodes[c.node_start[table] : c.node_start[table + 1]]
        at_rest = lacks[nodes]
        for k in turn:
            _move(c, lacks, k, c.rise[k])
        all_up = _imbalance(c, lacks, nodes)
        lacks[nodes] = at_rest
        for k in turn:
            word += STEP
            better = _left(c, lacks, k, c.fall[k]) - _left(c, lacks, k, c.rise[k])
            up[k] = better > 0 or (better == 0 and mixed(word) & np.uint64(1) == 1)
            _move(c, lacks, k, c.rise[k] if up[k] else c.fall[k])
        if _imbalance(c, lacks, nodes) > all_up:
            up[turn] = 1


@njit(cache=True, inline="always")
def _move(c, lacks, k, amount):  # type: ignore[no-untyped-def]
    lacks[c.row[k]] += c.row_turn[k] * amount
    lacks[c.column[k]] += c.column_turn[k] * amount


@njit(cache=True, inline="always")
def _left(c, lacks, k, amount):  # type: ignore[no-untyped-def]
    """What the row and the column of choice k would lack, at their prices, with this amount in it."""
    i, j = c.row[k], c.column[k]
    return c.price[i] * abs(lacks[i] + c.row_turn[k] * amount) + c.price[j] * abs(lacks[j] + c.column_turn[k] * amount)


@njit(cache=True)
def _imbalance(c, lacks, nodes):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in nodes:
        total += c.price[j] * abs(lacks[j])
    return total
