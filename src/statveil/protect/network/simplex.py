"""A network simplex for arcs with piecewise linear costs: one arc a cell, cost w|z|, and a penalty for each unit outside its bounds.

Each arc's cost is convex with breaks at its bounds and at zero; an arc outside the tree rests at a break, an arc of the tree lies on one
straight piece. Bounds are soft, so that any flow is a start: after a change of senses the last tree goes on as it is. All amounts and
costs are integers, hence no tolerances. Ties are broken so that the tree stays strongly feasible (Cunningham 1976): no cycling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray

PENALTY = 2**48
"""Cost of a unit outside the bounds, unless a network turns out to need more."""
_NEVER = 2**61
_FARTHEST_POTENTIAL = 2**60
"""Differences of two potentials, and slopes added to them, stay inside 64 bits; beyond, pivoting stops."""


class Tree(NamedTuple):
    """The whole state. Per arc: ends, bounds, cost, flow and the slopes of its cost to the left and right (none when in the tree).

    Per node: parent, the arc to it and that arc's slope, depth, children as linked lists, potential, and the nodes still to be looked at.
    `start` and `around` list the arcs at each node.
    """

    tail: AnyArray
    head: AnyArray
    low: IntArray
    high: IntArray
    cost: IntArray
    flow: IntArray
    left: IntArray
    right: IntArray
    parent: IntArray
    arc: IntArray
    slope: IntArray
    depth: IntArray
    child: IntArray
    sibling: IntArray
    before: IntArray
    potential: IntArray
    queue: IntArray
    queued: BoolArray
    start: IntArray
    around: AnyArray
    counter: IntArray
    """Pivots, nodes moved, arcs looked at, next arc to look at, queue's first and length, potentials too large to go on."""
    value: FloatArray
    """Cost of the flow, and the sum of what lies outside the bounds."""
    penalty: IntArray
    """Cost of a unit outside the bounds: one number, above every arc's own cost."""


@njit(cache=True, inline="always")
def right_slope(z, low, high, cost, penalty):  # type: ignore[no-untyped-def]
    """The slope of an arc's cost to the right of z."""
    if z < low:
        return -penalty
    if z >= high:
        return penalty
    return cost if z >= 0 else -cost


@njit(cache=True, inline="always")
def left_slope(z, low, high, cost, penalty):  # type: ignore[no-untyped-def]
    """The slope of an arc's cost to the left of z."""
    if z > high:
        return penalty
    if z <= low:
        return -penalty
    return cost if z > 0 else -cost


@njit(cache=True, inline="always")
def _room(t, e, slope, up):  # type: ignore[no-untyped-def]
    """How far the flow can rise (or fall) on the straight piece of this slope."""
    z, low, high, penalty = t.flow[e], t.low[e], t.high[e], t.penalty[0]
    if up:
        if slope == -penalty:
            return low - z
        if slope == penalty:
            return np.int64(_NEVER)
        return -z if slope < 0 < high else high - z
    if slope == penalty:
        return z - high
    if slope == -penalty:
        return np.int64(_NEVER)
    return z if low < 0 < slope else z - low


@njit(cache=True)
def rest(t, e):  # type: ignore[no-untyped-def]
    """Write down the slopes of an arc outside the tree."""
    t.left[e] = left_slope(t.flow[e], t.low[e], t.high[e], t.cost[e], t.penalty[0])
    t.right[e] = right_slope(t.flow[e], t.low[e], t.high[e], t.cost[e], t.penalty[0])


@njit(cache=True)
def _enter_tree(t, e):  # type: ignore[no-untyped-def]
    """An arc of the tree is never chosen to pivot: its slopes say so."""
    t.left[e], t.right[e] = -_NEVER, _NEVER


@njit(cache=True)
def _hang(t, u, parent):  # type: ignore[no-untyped-def]
    """Make u the first child of its parent."""
    first = t.child[parent]
    t.parent[u], t.sibling[u], t.before[u] = parent, first, -1
    if first >= 0:
        t.before[first] = u
    t.child[parent] = u


@njit(cache=True)
def _unhang(t, u):  # type: ignore[no-untyped-def]
    """Take u out of its parent's children."""
    after, before = t.sibling[u], t.before[u]
    if before >= 0:
        t.sibling[before] = after
    else:
        t.child[t.parent[u]] = after
    if after >= 0:
        t.before[after] = before


@njit(cache=True)
def enqueue(t, u):  # type: ignore[no-untyped-def]
    """Put a node in the queue unless it is there."""
    if not t.queued[u]:
        t.queued[u] = True
        t.queue[(t.counter[4] + t.counter[5]) % t.queue.size] = u
        t.counter[5] += 1


@njit(cache=True)
def shift_subtree(t, top, shift, track):  # type: ignore[no-untyped-def]
    """Move the potentials of a subtree, renew its depths, and put its nodes in the queue if asked."""
    u = top
    while True:
        t.potential[u] += shift
        if abs(t.potential[u]) > _FARTHEST_POTENTIAL:
            t.counter[6] = 1
        t.depth[u] = t.depth[t.parent[u]] + 1
        t.counter[1] += 1
        if track:
            enqueue(t, u)
        if t.child[u] >= 0:
            u = t.child[u]
            continue
        while u != top and t.sibling[u] < 0:
            u = t.parent[u]
        if u == top:
            return
        u = t.sibling[u]


@njit(cache=True)
def _blocking(t, first, second, room):  # type: ignore[no-untyped-def]
    """The most that can go round the cycle first -> second -> root side -> first, and the node below the arc that stops it.

    Of several, the last one met along the cycle from its apex.
    """
    u, v, out_first, out_second, delta = first, second, -1, -1, room
    while t.depth[u] > t.depth[v]:
        u = t.parent[u]
    while t.depth[v] > t.depth[u]:
        v = t.parent[v]
    while u != v:
        u, v = t.parent[u], t.parent[v]
    join = u
    u = first
    while u != join:
        e = t.arc[u]
        d = _room(t, e, t.slope[u], t.tail[e] != u)
        if d < delta:
            delta, out_first = d, u
        u = t.parent[u]
    u = second
    while u != join:
        e = t.arc[u]
        d = _room(t, e, t.slope[u], t.tail[e] == u)
        if d <= delta:
            delta, out_second = d, u
        u = t.parent[u]
    return join, delta, out_first, out_second


@njit(cache=True, inline="always")
def _outside(z, low, high):  # type: ignore[no-untyped-def]
    """How far z is outside the bounds."""
    return max(low - z, 0) + max(z - high, 0)


@njit(cache=True)
def _move(t, e, step):  # type: ignore[no-untyped-def]
    """Change an arc's flow and keep the values up to date."""
    old, low, high = t.flow[e], t.low[e], t.high[e]
    new = old + step
    t.flow[e] = new
    t.value[0] += float(t.cost[e]) * (abs(new) - abs(old))
    t.value[1] += _outside(new, low, high) - _outside(old, low, high)


@njit(cache=True)
def _push(t, first, second, join, delta):  # type: ignore[no-untyped-def]
    """Send delta round the cycle, but for the arc that enters."""
    u = first
    while u != join:
        e = t.arc[u]
        _move(t, e, -delta if t.tail[e] == u else delta)
        u = t.parent[u]
    u = second
    while u != join:
        e = t.arc[u]
        _move(t, e, delta if t.tail[e] == u else -delta)
        u = t.parent[u]


@njit(cache=True)
def pivot(t, e, up, track):  # type: ignore[no-untyped-def]
    """Let arc e's flow rise (or fall) until an arc stops it; that arc leaves the tree and e takes its place."""
    t.counter[0] += 1
    slope = t.right[e] if up else t.left[e]
    first, second = (t.tail[e], t.head[e]) if up else (t.head[e], t.tail[e])
    room = _room(t, e, slope, up)
    join, delta, out_first, out_second = _blocking(t, first, second, room)
    if delta > 0:
        _push(t, first, second, join, delta)
        _move(t, e, delta if up else -delta)
    if out_first < 0 and out_second < 0:
        rest(t, e)
        return
    out, inner, outer = (out_second, second, first) if out_second >= 0 else (out_first, first, second)
    gain = slope + t.potential[t.tail[e]] - t.potential[t.head[e]]
    leaving = t.arc[out]
    _rehang(t, inner, outer, out, e, slope)
    rest(t, leaving)
    _enter_tree(t, e)
    shift_subtree(t, inner, gain if inner == t.head[e] else -gain, track)


@njit(cache=True)
def _rehang(t, inner, outer, out, e, slope):  # type: ignore[no-untyped-def]
    """Turn the path from `inner` up to `out` round and hang it below `outer` by arc e."""
    u, parent, arc = inner, outer, e
    while True:
        old_parent, old_arc, old_slope = t.parent[u], t.arc[u], t.slope[u]
        _unhang(t, u)
        _hang(t, u, parent)
        t.arc[u], t.slope[u] = arc, slope
        if u == out:
            return
        parent, arc, slope, u = u, old_arc, old_slope, old_parent


@njit(cache=True)
def solve_all(t, block):  # type: ignore[no-untyped-def]
    """Pivot until no arc has a gain, looking at arcs block by block; ends early where potentials grow too far."""
    arcs = t.tail.size
    quiet, at = 0, t.counter[3]
    while quiet < arcs and t.counter[6] == 0:
        best, best_gain = -1, 0
        for _ in range(min(block, arcs)):
            difference = t.potential[t.tail[at]] - t.potential[t.head[at]]
            gain = max(-(t.right[at] + difference), t.left[at] + difference)
            if gain > best_gain:
                best, best_gain = at, gain
            at += 1
            if at == arcs:
                at = 0
        if best < 0:
            quiet += block
            continue
        quiet = 0
        pivot(t, best, -(t.right[best] + t.potential[t.tail[best]] - t.potential[t.head[best]]) == best_gain, False)
    t.counter[3] = at


@njit(cache=True)
def solve_queue(t):  # type: ignore[no-untyped-def]
    """The same where only arcs at queued nodes can have a gain."""
    while t.counter[5] > 0 and t.counter[6] == 0:
        u = t.queue[t.counter[4]]
        best, best_gain = -1, 0
        for k in range(t.start[u], t.start[u + 1]):
            e = t.around[k]
            difference = t.potential[t.tail[e]] - t.potential[t.head[e]]
            gain = max(-(t.right[e] + difference), t.left[e] + difference)
            if gain > best_gain:
                best, best_gain = e, gain
        t.counter[2] += t.start[u + 1] - t.start[u]
        if best < 0:
            t.counter[4] = (t.counter[4] + 1) % t.queue.size
            t.counter[5] -= 1
            t.queued[u] = False
            continue
        pivot(t, best, -(t.right[best] + t.potential[t.tail[best]] - t.potential[t.head[best]]) == best_gain, True)


@njit(cache=True)
def clear_queue(t):  # type: ignore[no-untyped-def]
    """Leave no node in the queue."""
    while t.counter[5] > 0:
        t.queued[t.queue[t.counter[4]]] = False
        t.counter[4] = (t.counter[4] + 1) % t.queue.size
        t.counter[5] -= 1


@njit(cache=True)
def set_bounds(t, e, low, high):  # type: ignore[no-untyped-def]
    """Give an arc other bounds; what may have a gain now is put in the queue."""
    t.value[1] += _outside(t.flow[e], low, high) - _outside(t.flow[e], t.low[e], t.high[e])
    t.low[e], t.high[e] = low, high
    u, v = t.tail[e], t.head[e]
    if t.right[e] < _NEVER:  # outside the tree
        rest(t, e)
        enqueue(t, u)
        return
    below = u if t.arc[u] == e and t.parent[u] == v else v
    slope = _slope_to_root(t, below)
    shift = slope - t.slope[below]
    t.slope[below] = slope
    if shift != 0:
        shift_subtree(t, below, shift if below == v else -shift, True)


@njit(cache=True)
def _slope_to_root(t, u):  # type: ignore[no-untyped-def]
    """The slope of the arc above u on the piece that leads on when flow goes from u to the root."""
    e = t.arc[u]
    z, low, high, cost, penalty = t.flow[e], t.low[e], t.high[e], t.cost[e], t.penalty[0]
    return right_slope(z, low, high, cost, penalty) if t.tail[e] == u else left_slope(z, low, high, cost, penalty)


@njit(cache=True)
def settle(t, order, supply):  # type: ignore[no-untyped-def]
    """Work everything out anew from the tree: flows of its arcs from the others', slopes, depths and potentials.

    `order` lists the nodes from the root down. Arcs outside the tree are moved into their bounds first.
    """
    need = supply.copy()
    for e in range(t.tail.size):
        if t.right[e] < _NEVER:
            t.flow[e] = min(max(t.flow[e], t.low[e]), t.high[e])
            rest(t, e)
            need[t.tail[e]] -= t.flow[e]
            need[t.head[e]] += t.flow[e]
    for k in range(order.size - 1, 0, -1):
        u = order[k]
        e = t.arc[u]
        t.flow[e] = need[u] if t.tail[e] == u else -need[u]
        need[t.parent[u]] += need[u]
    for k in range(1, order.size):
        u = order[k]
        e, p = t.arc[u], t.parent[u]
        t.slope[u] = _slope_to_root(t, u)
        t.depth[u] = t.depth[p] + 1
        t.potential[u] = t.potential[p] + (t.slope[u] if t.head[e] == u else -t.slope[u])
        if abs(t.potential[u]) > _FARTHEST_POTENTIAL:
            t.counter[6] = 1
            break
    clear_queue(t)
    t.value[:] = 0.0
    for e in range(t.tail.size):
        t.value[0] += float(t.cost[e]) * abs(t.flow[e])
        t.value[1] += _outside(t.flow[e], t.low[e], t.high[e])


@njit(cache=True)
def preorder(t, root):  # type: ignore[no-untyped-def]
    """The nodes from the root down."""
    order = np.empty(t.parent.size, dtype=np.int64)
    order[0], length = root, 1
    for k in range(order.size):
        u = t.child[order[k]]
        while u >= 0:
            order[length] = u
            length += 1
            u = t.sibling[u]
    return order


@njit(cache=True)
def hang_all(t, chosen, root):  # type: ignore[no-untyped-def]
    """Make the tree of the chosen arcs (which span all nodes), hung from the root."""
    t.child[:] = -1
    t.arc[:] = -1
    t.parent[:] = -1
    queue = np.empty(t.parent.size, dtype=np.int64)
    queue[0], length = root, 1
    for k in range(queue.size):
        u = queue[k]
        for at in range(t.start[u], t.start[u + 1]):
            e = t.around[at]
            if chosen[e] and e != t.arc[u]:
                v = t.head[e] if t.tail[e] == u else t.tail[e]
                t.arc[v] = e
                _hang(t, v, u)
                _enter_tree(t, e)
                queue[length] = v
                length += 1


@njit(cache=True)
def spanning(tail, head, order, nodes):  # type: ignore[no-untyped-def]
    """Arcs of a forest, taken in the order given, and the piece of each node."""
    piece = np.arange(nodes)
    chosen = np.zeros(tail.size, dtype=np.bool_)
    for e in order:
        u, v = tail[e], head[e]
        while piece[u] != u:
            piece[u] = piece[piece[u]]
            u = piece[u]
        while piece[v] != v:
            piece[v] = piece[piece[v]]
            v = piece[v]
        if u != v:
            chosen[e] = True
            piece[max(u, v)] = min(u, v)
    for u in range(nodes):
        root = u
        while piece[root] != root:
            root = piece[root]
        piece[u] = root
    return chosen, piece
