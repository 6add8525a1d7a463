"""The problem with its senses fixed, on a network: least sum of w|z| as a min-cost flow in exact integers (docs/science.md, section 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statveil.core.arrays import LARGEST_EXACT, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.network import simplex
from statveil.protect.network.detect import Network
from statveil.protect.options import NO_LIMIT
from statveil.protect.problem import ProtectionProblem

COST_BITS = 36
"""The largest weight becomes 2 to this power."""
NO_CELL = slice(0)
FARTHEST = 2**60
"""Stands for "no bound" on an arc; sums of two stay inside 64 bits."""
LARGEST_PENALTY = 2**57
"""Penalties of several units on a path still fit 64 bits."""
TIMES_AS_MUCH = (1.0, 1.5, 3.0)
"""As sensitive parts rise, others fall, where totals have no room: as much in all may leave one total too high."""


def scale_of(weight: FloatArray) -> float:
    """What weights are multiplied with to become integers."""
    return float(2.0**COST_BITS / (weight.max(initial=0.0) or 1.0))


def whole_costs(weight: FloatArray) -> IntArray:
    """Weights as integers in the same proportion; refused where the smallest would vanish beside the largest."""
    cost: IntArray = np.rint(weight * scale_of(weight)).astype(np.int64)
    if (cost < 1).any():
        raise InputError(
            "The weights of the cells differ too much for exact computing.", hint="Use weights within ten orders of magnitude."
        )
    return cost


def soft_bounds(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Bounds for the flow; a bound that is one must be computed exactly."""
    for bound in (low, high):
        real = np.abs(bound[np.abs(bound) < NO_LIMIT // 2])
        if (real >= LARGEST_EXACT).any():
            raise InputError("A bound is too large to be computed exactly (2^53 units or more).", hint="Publish with fewer decimals.")
    return np.maximum(low, -FARTHEST), np.minimum(high, FARTHEST)


class Flow:
    """A network with bounds and costs, its tree kept from one solution to the next. `extra` arcs behind the cells join separate pieces."""

    def __init__(self, tail: IntArray, head: IntArray, supply: IntArray, cost: IntArray, low: IntArray, high: IntArray) -> None:
        self.cells, nodes = tail.size, supply.size
        self.supply = supply
        self.sure_penalty = nodes * int(cost.max(initial=0)) + 1
        if self.sure_penalty >= LARGEST_PENALTY:
            raise InputError(
                "The table has too many relations for exact computing on its network.", hint="Use another method, such as 'bcd'."
            )
        self.root = nodes - 1
        room = np.minimum(high, -low)
        chosen, piece = simplex.spanning(tail, head, np.lexsort((-room, cost, room <= 0)), nodes)
        others = np.setdiff1d(np.unique(piece), piece[self.root])
        extra = others.size
        tail, head = np.concatenate([tail, others]), np.concatenate([head, np.full(extra, self.root)])
        arcs, far = tail.size, np.full(extra, FARTHEST)
        ends = np.concatenate([tail, head])
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))])
        around = (np.argsort(ends, kind="stable") % arcs).astype(np.int32)
        zeros = [np.zeros(nodes, dtype=np.int64) for _ in range(6)]
        self.tree = simplex.Tree(
            tail=tail.astype(np.int32),
            head=head.astype(np.int32),
            low=np.concatenate([low, -far]),
            high=np.concatenate([high, far]),
            cost=np.concatenate([cost, np.zeros(extra, dtype=np.int64)]),
            flow=np.zeros(arcs, dtype=np.int64),
            left=np.zeros(arcs, dtype=np.int64),
            right=np.zeros(arcs, dtype=np.int64),
            parent=np.full(nodes, -1, dtype=np.int64),
            arc=np.full(nodes, -1, dtype=np.int64),
            slope=zeros[0],
            depth=zeros[1],
            child=np.full(nodes, -1, dtype=np.int64),
            sibling=zeros[2] - 1,
            before=zeros[3] - 1,
            potential=zeros[4],
            queue=zeros[5],
            queued=np.zeros(nodes, dtype=np.bool_),
            start=start,
            around=around,
            counter=np.zeros(7, dtype=np.int64),
            value=np.zeros(2),
            penalty=np.array([simplex.PENALTY]),
        )
        simplex.hang_all(self.tree, np.append(chosen, np.ones(extra, dtype=np.bool_)), self.root)

    @property
    def flow(self) -> IntArray:
        return self.tree.flow[: self.cells]

    def restart(self, low: IntArray, high: IntArray) -> None:
        """Take new bounds, keep the tree, and pivot to the optimum; at the end the flow is inside its bounds if any flow is."""
        self.settle(low, high)
        self.solve()
        if not self.inside and int(self.tree.penalty[0]) < self.sure_penalty:
            if self._feasible():
                self.tree.penalty[0] = self.sure_penalty
            self._settle()
            self.solve()

    def _feasible(self) -> bool:
        """Whether any flow keeps the bounds. The penalty alone decides: where a detour is long, costs could outweigh it."""
        cost, penalty = self.tree.cost.copy(), int(self.tree.penalty[0])
        self.tree.cost[:], self.tree.penalty[0] = 0, 1
        self._settle()
        self.solve()
        self.tree.cost[:], self.tree.penalty[0] = cost, penalty
        return self.inside

    def settle(self, low: IntArray, high: IntArray) -> None:
        """Take new bounds and keep the tree: the flow that it carries is the start of the pivots."""
        self.tree.low[: self.cells], self.tree.high[: self.cells] = low, high
        self._settle()

    def _settle(self) -> None:
        simplex.settle(self.tree, simplex.preorder(self.tree, self.root), self.supply)
        self.check()

    def solve(self) -> None:
        block = max(64, int(0.5 * np.sqrt(self.tree.tail.size)))
        simplex.solve_all(self.tree, block)
        self.check()

    def check(self) -> None:
        """Refuse to go on where potentials might no longer fit 64 bits."""
        if self.tree.counter[6]:
            raise InputError("The network is too deep for exact computing.", hint="Use another method, such as 'bcd'.")

    @property
    def outside(self) -> float:
        """How far the flow is outside the bounds, all arcs together."""
        return float(self.tree.value[1])

    @property
    def inside(self) -> bool:
        """Whether the flow keeps all bounds and all supplies."""
        tree, cells = self.tree, self.cells
        return bool(
            (tree.flow[:cells] >= tree.low[:cells]).all() and (tree.flow[:cells] <= tree.high[:cells]).all() and not tree.flow[cells:].any()
        )


class FlowProgram:
    """The problem on its network, for any choice of senses; the counterpart of `continuous.FixedSenses`."""

    def __init__(self, problem: ProtectionProblem, network: Network, *, at_no_cost: BoolArray | slice = NO_CELL) -> None:
        self.problem, self.network = problem, network
        self.cost = whole_costs(problem.weight)
        self.cost[at_no_cost] = 0
        self.price = scale_of(problem.weight)
        self.up = soft_bounds(problem.up.low, problem.up.high)
        self.down = soft_bounds(problem.down.low, problem.down.high)
        self.free = soft_bounds(problem.free.low, problem.free.high)
        self.flow = Flow(network.tail, network.head, network.supply, self.cost, *self.free)

    def bounds(self, senses: IntArray) -> tuple[IntArray, IntArray]:
        low = np.where(senses > 0, self.up[0], np.where(senses < 0, self.down[0], self.free[0]))
        high = np.where(senses > 0, self.up[1], np.where(senses < 0, self.down[1], self.free[1]))
        return low, high

    def solve(self, senses: IntArray) -> IntArray | None:
        """The closest table with these senses; None if there is none."""
        self.flow.restart(*self.bounds(senses))
        return self.flow.flow.copy() if self.flow.inside else None

    def grown(self, senses: IntArray) -> IntArray | None:
        """A table with these senses without any pivot: parts grow in proportion to their values, totals by what that adds up to.

        How far a cell may fall stands for its value. A table is found where the tree holds the totals, as the first one does unless weights
        rise with values. Where totals may not grow, sensitive parts go to their levels, and the others fall by as much in proportion.
        """
        flow, (low, high) = self.flow, self.bounds(senses)
        value = np.where(self.free[0] > -FARTHEST, np.maximum(-self.free[0], 0), 0)
        held = flow.tree.arc[: flow.root]
        held = held[held < flow.cells]
        for start in (_grown_parts(held, low, value), *_made_good(held, low, high, value)):
            flow.flow[:] = start
            flow.settle(low, high)
            if flow.inside:
                break
        table = flow.flow.copy() if flow.inside else None
        flow.tree.flow[:] = 0  # where pivots begin
        return table

    @property
    def value(self) -> float:
        """The cost of the present flow."""
        return float(self.flow.tree.value[0]) / self.price

    @property
    def duals(self) -> FloatArray:
        """One multiplier per relation: what a unit more on its right-hand side would cost."""
        potential = self.flow.tree.potential
        return self.network.of_relations((potential[self.network.ground] - potential) / self.price, self.problem.rhs.size)


def _grown_parts(totals: IntArray, low: IntArray, value: IntArray) -> IntArray:
    """Parts as far up as the totals need. They grow to the whole number above growth * value, and a sum of such numbers is never below the
    one of their total.
    """
    rising = totals[(low[totals] > 0) & (value[totals] > 0)]
    growth = float(((low[rising] - 1) / value[rising]).max(initial=-1.0)) * (1 + 1e-12)
    return np.where((value > 0) & (growth >= 0), np.floor(growth * value).astype(np.int64) + 1, 0)


def _made_good(totals: IntArray, low: IntArray, high: IntArray, value: IntArray) -> Iterator[IntArray]:
    """Sensitive parts at their levels, and the others lower in proportion: by as much in all, then by more."""
    part = np.ones(low.size, dtype=np.bool_)
    part[totals] = False
    moved = np.where(low > 0, low, np.minimum(high, 0)) * part
    falling = part & (moved == 0) & (value > 0) & (high > 0)
    needed, there = float(moved.sum()), float(value[falling].sum())
    for times in TIMES_AS_MUCH:
        if 0 < times * needed < there:
            so_far = np.floor(np.cumsum(np.where(falling, value, 0)) * (times * needed / there)).astype(np.int64)
            yield moved - np.diff(so_far, prepend=0)
