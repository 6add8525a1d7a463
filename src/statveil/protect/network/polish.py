"""Exact changes of senses on the network (docs/science.md, section 4, "dual-priced flips", pair and chain moves).

A flip is priced by the potentials first: the flow's cost is convex in what is forced on it, so the price never overstates the true
change, and most flips are refused unseen. The others are made: the tree goes on from where it is, a few pivots away from the new
optimum, and the flip is kept or taken back by Metropolis' rule on the true cost. At temperature zero this is a descent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.network import simplex
from statveil.protect.network.flow import FlowProgram


class Flips(NamedTuple):
    """Cells with a choice, the bounds of both senses, and for each cell the others at its ends (one list per node)."""

    cell: IntArray
    up_low: IntArray
    up_high: IntArray
    down_low: IntArray
    down_high: IntArray
    list_start: IntArray
    listed: IntArray


def flips_of(program: FlowProgram, cells: IntArray) -> Flips:
    network = program.network
    ends = np.concatenate([network.tail[cells], network.head[cells]])
    listed = np.argsort(ends, kind="stable") % max(cells.size, 1)
    start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=network.nodes))])
    return Flips(cells, program.up[0][cells], program.up[1][cells], program.down[0][cells], program.down[1][cells], start, listed)


def polish(program: FlowProgram, flips: Flips, senses: IntArray, *, steps: int, temperature: FloatArray, seed: int) -> int:
    """Try so many moves from the solved flow, with `temperature` falling from its first to its second value; senses change in place.

    Returns the number of moves kept.
    """
    hot, cold = temperature * program.price
    kept = int(_polish(program.flow.tree, flips, senses, steps, hot, cold, seed))
    program.flow.check()
    return kept


@njit(cache=True)
def _other(f, sense, k):  # type: ignore[no-untyped-def]
    """The bounds of the sense that choice k does not have, and the nearest flow there."""
    if sense > 0:
        return f.down_low[k], f.down_high[k], f.down_high[k]
    return f.up_low[k], f.up_high[k], f.up_low[k]


@njit(cache=True)
def _price(t, f, senses, k):  # type: ignore[no-untyped-def]
    """At most what turning choice k changes in cost."""
    e = f.cell[k]
    z = t.flow[e]
    _, _, wanted = _other(f, senses[e], k)
    own = float(t.cost[e]) * (abs(wanted) - abs(z))
    return own + float(t.potential[t.tail[e]] - t.potential[t.head[e]]) * (wanted - z)


@njit(cache=True)
def _turn(t, f, senses, k):  # type: ignore[no-untyped-def]
    e = f.cell[k]
    low, high, _ = _other(f, senses[e], k)
    senses[e] = -senses[e]
    simplex.set_bounds(t, e, low, high)


@njit(cache=True)
def _partner(t, f, k, moved, count):  # type: ignore[no-untyped-def]
    """A choice at one of k's ends that is not among the moved; -1 if chance finds none."""
    e = f.cell[k]
    node = t.tail[e] if np.random.random() < 0.5 else t.head[e]
    size = f.list_start[node + 1] - f.list_start[node]
    other = f.listed[f.list_start[node] + np.random.randint(size)]
    for at in range(count):
        if moved[at] == other:
            return -1
    return other


@njit(cache=True)
def _polish(t, f, senses, steps, hot, cold, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    kept, size = 0, f.cell.size
    moved = np.empty(3, dtype=np.int64)
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps) if hot > 0 else 0.0
        worth = -temperature * np.log(1.0 - np.random.random()) - 1e-3
        moved[0], count = np.random.randint(size), 1
        price = _price(t, f, senses, moved[0])
        wanted = 1 + np.random.randint(3)
        while count < wanted:
            other = _partner(t, f, moved[count - 1], moved, count)
            if other < 0:
                break
            further = _price(t, f, senses, other)
            moved[count] = other
            count += 1
            price += further
        if price > worth:
            continue
        before, outside = t.value[0], t.value[1]
        for at in range(count):
            _turn(t, f, senses, moved[at])
        simplex.solve_queue(t, 2**60)
        if t.value[1] > outside or (t.value[1] == outside and t.value[0] - before > worth):
            for at in range(count):
                _turn(t, f, senses, moved[at])
            simplex.solve_queue(t, 2**60)
        else:
            kept += 1
    return kept
