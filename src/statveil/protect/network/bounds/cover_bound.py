"""Lower bounds on a network (docs/science.md, section 5): cover and polygon cuts by one more min-cost flow, evaluated by weak duality.

A relation whose sensitive cells cannot balance at their levels needs d more from its cells: cover. Where one cell is longer than all the
others together, only the others can bring it: polygon, the same with that cell left out. With each cell's share above its least size as
the flow from one side of the network to the other, the cheapest way to bring all these amounts is a min-cost flow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.formats.certificate import COVER
from statveil.protect.bounds.cuts import least_sizes
from statveil.protect.network.bounds import TUNING
from statveil.protect.network.detect import Network
from statveil.protect.network.flow import FARTHEST, Flow, scale_of, whole_costs
from statveil.protect.options import NO_LIMIT
from statveil.protect.presolve.redundancy import sparse_rows
from statveil.protect.problem import Interval, ProtectionProblem
from statveil.protect.search_state import DualMultipliers


class Shortage(NamedTuple):
    """Per relation: what its cells lack at their least sizes, and the cell longer than all the others (`COVER`: none is)."""

    amount: IntArray
    longest: IntArray


def shortages(problem: ProtectionProblem) -> Shortage:
    """The least imbalance of every relation with each sensitive cell at a level of an open sense and the others at rest."""
    least = least_sizes(problem)
    rise = np.where(problem.can_go_up, problem.up.low, problem.down.high)
    fall = np.where(problem.can_go_down, problem.down.high, problem.up.low)
    cells = _CellLevels(least, rise, fall, problem.sensitive)
    return Shortage(*_shortages(sparse_rows(problem.relations), problem.residual, cells, TUNING.most_sensitive))


def least_imbalance(problem: ProtectionProblem, relation: int) -> int:
    """The same of one relation, whatever its longest cell."""
    part = slice(*problem.relations.indptr[relation : relation + 2])
    cells, factors = problem.relations.indices[part], problem.relations.data[part]
    cells, factors = cells[problem.sensitive[cells]], factors[problem.sensitive[cells]]
    up, down = problem.can_go_up[cells], problem.can_go_down[cells]
    one = factors * np.where(up, problem.up.low[cells], problem.down.high[cells])
    two = factors * np.where(down, problem.down.high[cells], problem.up.low[cells])
    open_, target = one != two, int(problem.residual[relation])
    if open_.sum() > TUNING.most_sensitive:
        return 0
    return int(_least_imbalance(target - int(one[~open_].sum()), one[open_], two[open_]))


class _CellLevels(NamedTuple):
    """Of each cell: its least size, the nearest it can go up and down, and whether it is sensitive."""

    least: IntArray
    rise: IntArray
    fall: IntArray
    sensitive: BoolArray


@njit(cache=True)
def _shortages(matrix, residual, each, most):  # type: ignore[no-untyped-def]
    """Amount and longest cell of every relation; the least imbalance only where at most so many of its cells are sensitive."""
    (indptr, indices, data), count = matrix, residual.size
    amount, longest = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for row in range(count):
        total, top, top_cell, sensitive = abs(residual[row]), 0, -1, 0
        for k in range(indptr[row], indptr[row + 1]):
            term = abs(data[k]) * each.least[indices[k]]
            total += term
            if term > top:
                top, top_cell = term, indices[k]
            sensitive += each.sensitive[indices[k]]
        if 2 * top > total:
            amount[row], longest[row] = 2 * top - total, top_cell
        elif 0 < sensitive <= most:
            cells = np.empty(sensitive, dtype=np.int64)
            factors = np.empty(sensitive, dtype=np.int64)
            at = 0
            for k in range(indptr[row], indptr[row + 1]):
                if each.sensitive[indices[k]]:
                    cells[at], factors[at] = indices[k], data[k]
                    at += 1
            amount[row] = _least_imbalance(residual[row], factors * each.rise[cells], factors * each.fall[cells])
    return amount, longest


@njit(cache=True)
def _least_imbalance(target, one, two):  # type: ignore[no-untyped-def]
    """min |target - sum of one choice each|, by meeting in the middle: exact."""
    half = one.size // 2
    left = np.sort(_all_sums(one[:half], two[:half]))
    right = np.sort(_all_sums(one[half:], two[half:]))
    best, j = abs(target - left[0] - right[-1]), right.size - 1
    for i in range(left.size):
        while j > 0 and left[i] + right[j] > target:
            best = min(best, abs(target - left[i] - right[j]))
            j -= 1
        best = min(best, abs(target - left[i] - right[j]))
    return best


@njit(cache=True)
def _all_sums(one, two):  # type: ignore[no-untyped-def]
    """The sum of every choice of one term or the other at each place."""
    sums = np.zeros(1 << one.size, dtype=np.int64)
    for at in range(one.size):
        size = 1 << at
        for k in range(size):
            sums[size + k] = sums[k] + two[at]
            sums[k] += one[at]
    return sums


def cover_multipliers(problem: ProtectionProblem, network: Network, shortage: Shortage) -> DualMultipliers:
    """Multipliers of the cheapest way to bring all shortages. Where the network has no two sides it is laid out twice, at half price."""
    flow = _CoverFlow(problem, network, shortage)
    need, node = flow.need, np.flatnonzero(network.relation >= 0)
    amount = np.zeros(network.nodes)
    for copy in range(flow.copies):
        amount[node] += flow.price_at(node, copy)
    chosen = node[(amount[node] > 0) & (need[node] > 0)]
    relation = network.relation[chosen]
    return DualMultipliers(np.zeros(0), relation, shortage.longest[relation], amount[chosen])


class _CoverFlow:
    """The flow: from every node of the first side to those of the second, through the ground what exceeds the needs."""

    def __init__(self, problem: ProtectionProblem, network: Network, shortage: Shortage) -> None:
        nodes, ground, tail, head = network.nodes, network.ground, network.tail, network.head
        self.need = np.zeros(nodes, dtype=np.int64)
        inner = network.relation >= 0
        self.need[inner] = shortage.amount[network.relation[inner]]
        longest = np.full(nodes, -1)
        longest[inner] = shortage.longest[network.relation[inner]]
        cells = np.arange(problem.size)
        tail = np.where(longest[tail] == cells, ground, tail)
        head = np.where(longest[head] == cells, ground, head)
        room = room_above(problem)
        useful = ((self.need[tail] > 0) | (self.need[head] > 0)) & (room > 0)
        tail, head, room, weight = tail[useful], head[useful], room[useful], problem.weight[useful]
        self.copies = 1 if (network.side[:-1] >= 0).all() else 2
        side = network.side if self.copies == 1 else np.zeros(nodes, dtype=np.int64)
        turned = (side[tail] == 1) | (side[head] == 0) & (head != ground)
        first, second = np.where(turned, head, tail), np.where(turned, tail, head)
        if self.copies == 2:
            first, second = np.concatenate([tail, head]), np.concatenate([head, tail])
            room, weight = np.concatenate([room, room]), np.concatenate([weight, weight]) / 2
        self._solve(first, second, side, room, weight)

    def _solve(self, first: IntArray, second: IntArray, side: IntArray, room: IntArray, weight: FloatArray) -> None:
        """Nodes of the first side, with one copy more of all behind them where there are two copies, and the ground at the end."""
        nodes = self.need.size
        ground = self.copies * nodes
        last = nodes - 1
        offset = nodes if self.copies == 2 else 0
        first, second = np.where(first == last, ground, first), np.where(second == last, ground, second + offset)
        sender = np.flatnonzero((self.need > 0) & ((side == 0) | (self.copies == 2)))
        taker = np.flatnonzero((self.need > 0) & ((side == 1) | (self.copies == 2)))
        tail = np.concatenate([first, np.full(sender.size, ground), taker + offset])
        head = np.concatenate([second, sender, np.full(taker.size, ground)])
        idle = self._idle(side, offset, ground)
        tail, head = np.concatenate([tail, idle[0]]), np.concatenate([head, idle[1]])
        free = np.zeros(tail.size - first.size, dtype=np.int64)
        low = np.concatenate(
            [np.zeros(first.size, dtype=np.int64), self.need[sender], self.need[taker], np.zeros(idle[0].size, dtype=np.int64)]
        )
        high = np.concatenate([room, np.full(free.size, FARTHEST)])
        cost = whole_costs(weight)
        self.price = scale_of(weight)
        self.flow = Flow(tail, head, np.zeros(ground + 1, dtype=np.int64), np.concatenate([cost, free]), low, high)
        self.flow.restart(low, high)
        self.side, self.ground = side, ground

    def _idle(self, side: IntArray, offset: int, ground: int) -> tuple[IntArray, IntArray]:
        """Where nothing is needed, more may still come than goes: an arc to or from the ground without a least flow."""
        rest = np.flatnonzero(self.need[:-1] == 0)
        senders = rest if self.copies == 2 else rest[side[rest] == 0]
        takers = rest if self.copies == 2 else rest[side[rest] == 1]
        return (
            np.concatenate([np.full(senders.size, ground), takers + offset]),
            np.concatenate([senders, np.full(takers.size, ground)]),
        )

    def price_at(self, node: IntArray, copy: int) -> FloatArray:
        """The multiplier of each node's need, from the potentials."""
        potential = self.flow.tree.potential
        if self.copies == 1:
            difference = (potential[self.ground] - potential[node]) * np.where(self.side[node] == 0, 1, -1)
        elif copy == 0:
            difference = potential[self.ground] - potential[node]
        else:
            difference = potential[node + self.need.size] - potential[self.ground]
        return np.asarray(np.maximum(difference, 0) / self.price)


def room_above(problem: ProtectionProblem) -> IntArray:
    """How far each cell's size can be above its least."""
    reach = np.maximum(np.abs(problem.free.low), np.abs(problem.free.high))
    if problem.variant == "exact":
        exactly = np.maximum(problem.lower_level, problem.upper_level)
        reach = np.where(problem.sensitive, np.minimum(reach, exactly), reach)
    return np.minimum(reach - least_sizes(problem), FARTHEST)


def dual_bound(problem: ProtectionProblem, multipliers: DualMultipliers, shortage: Shortage, *, worth: float = np.inf) -> float:
    """The bound that the multipliers give: for each cell the least of its cost less their pull, over its exact allowed set.

    Any multipliers give a valid bound. Only tables cheaper than `worth` are of interest, which ends every cell's range. DualMultipliers
    that overdraw cells a little are worth more when shrunk; the best of a few factors counts.
    """
    relation, own, amount = multipliers.cut_relation, multipliers.cut_cell != COVER, multipliers.cut
    equality = multipliers.relations if multipliers.relations.size else np.zeros(problem.rhs.size)
    pull, slant = pull_of(problem, multipliers), np.asarray(problem.relations.T @ equality)
    rest = np.where(own, -np.abs(problem.residual[relation]), cover_right_sides(problem, shortage)[relation]).astype(np.float64)
    right = np.concatenate([amount * rest, equality * problem.residual])
    reach = largest_change(problem, worth)
    factors = np.minimum(TUNING.shrinks, _bearable_factor(problem, slant, pull, reach))
    return max(_value(_least_terms(problem, f * slant, f * pull, reach), f * right) for f in np.unique(factors))


def _value(terms: FloatArray, right: FloatArray) -> float:
    """Their sum, less what rounding may have added."""
    return float(terms.sum() + right.sum()) - 1e-12 * float(np.abs(terms).sum() + np.abs(right).sum())


def largest_change(problem: ProtectionProblem, worth: float) -> FloatArray:
    """The largest change of a cell in a table cheaper than `worth`."""
    reach = worth / problem.weight * (1 + 1e-9)
    return np.asarray(reach if problem.norm == "l1" else np.sqrt(reach))


def cover_right_sides(problem: ProtectionProblem, shortage: Shortage) -> IntArray:
    """The right-hand side of each relation's cover cut: the least sizes of its sensitive cells, and what they lack."""
    return np.asarray(abs(problem.relations) @ np.where(problem.sensitive, least_sizes(problem), 0)) + shortage.amount


def pull_of(problem: ProtectionProblem, multipliers: DualMultipliers) -> FloatArray:
    """What the cuts take off the cost of a unit of each cell's size. All factors are one: this is a network."""
    amount, own = multipliers.cut, multipliers.cut_cell != COVER
    weights = np.bincount(multipliers.cut_relation, weights=amount, minlength=problem.rhs.size)
    back = np.bincount(multipliers.cut_cell[own], weights=amount[own], minlength=problem.size)
    return np.asarray(abs(problem.relations).T @ weights - 2.0 * back, dtype=np.float64)


def _bearable_factor(problem: ProtectionProblem, slant: FloatArray, pull: FloatArray, reach: FloatArray) -> float:
    """The factor, one if possible, at which no cell of endless range earns by growing."""
    strain = np.zeros(problem.size)
    if problem.norm == "l1":
        for endless, sign in ((problem.free.high >= NO_LIMIT // 2, 1.0), (problem.free.low <= -NO_LIMIT // 2, -1.0)):
            strain = np.maximum(strain, np.where(endless & np.isinf(reach), (sign * slant + pull) / problem.weight, 0.0))
    return min(1.0, 1.0 / float(strain.max(initial=1.0))) * (1 - 1e-12)


def _least_terms(problem: ProtectionProblem, slant: FloatArray, pull: FloatArray, reach: FloatArray) -> FloatArray:
    """For each cell the least of cost(z) - slant z - pull |z| over the deviations allowed to it."""
    best = np.full(problem.size, np.inf)
    plain = ~problem.sensitive
    for allowed, open_ in ((problem.free, plain), (problem.up, problem.can_go_up), (problem.down, problem.can_go_down)):
        best = np.where(open_, np.minimum(best, _least_on(problem, allowed, slant, pull, reach)), best)
    return best


def _least_on(problem: ProtectionProblem, allowed: Interval, slant: FloatArray, pull: FloatArray, reach: FloatArray) -> FloatArray:
    """The same over one interval, on both sides of zero. An endless side is taken only where it cannot earn."""
    best = np.full(problem.size, np.inf)
    for sign, low, high in ((1.0, allowed.low, allowed.high), (-1.0, -allowed.high, -allowed.low)):
        near = np.maximum(low, 0).astype(np.float64)
        far = np.where(high >= NO_LIMIT // 2, np.inf, high.astype(np.float64))
        far = np.where(near <= far, np.maximum(np.minimum(far, reach), near), far)
        linear = sign * slant + pull
        if problem.norm == "l2":
            at = np.clip(linear / (2 * problem.weight), near, far)
            value = problem.weight * at * at - linear * at
        else:
            reduced = problem.weight - linear
            at = np.where((reduced >= 0) | np.isinf(far), near, far)
            value = np.where(np.isinf(far), np.maximum(reduced, 0.0), reduced) * at
        best = np.where(near <= far, np.minimum(best, value), best)
    return best
