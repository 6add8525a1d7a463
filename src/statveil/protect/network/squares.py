"""Least squares with the senses fixed, on a network: a semismooth Newton method on the dual (docs/science.md, section 3), made whole by one
more flow.

With multipliers y on the nodes, each arc's best flow is (y_tail - y_head) / 2w cut off at its bounds; Newton steps on y make the flows
meet the supplies. The whole flow nearest to the answer is a min-cost flow in what rounding leaves. That flow decides alone whether
there is a table: where Newton's method does not come to its end, the flow brings what is missing, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import splu

from statveil.core.arrays import FloatArray, IntArray
from statveil.protect.network.flow import FARTHEST, Flow, FlowProgram, whole_costs


class NewtonTuning(NamedTuple):
    """Where Newton's method ends: by judgement; the flow that follows decides alone whether there is a table."""

    steps: int = 300
    halvings: int = 80
    softest: float = 1e-9  # how much an arc at its bound counts in a step, at least, beside one that can give way
    hardest: float = 1.0  # the same, at most
    exact: float = 1e-7  # imbalance, in units of the table, at which the method ends: rounding takes up the rest
    relative: float = 1e-12  # the same beside the largest flow
    rounded: float = 0.5  # imbalance that rounding takes up as well as it does a smaller one
    leans: float = 1e-4  # an amount nearer than this to a whole one may be rounded to either neighbour of it
    longest: float = 1e15  # A step that is still worth lengthening there leads to no end: no flow keeps the bounds


TUNING = NewtonTuning()


class SquaresProgram:
    """The problem on its network in least squares, for any choice of senses; the counterpart of `FlowProgram`."""

    def __init__(self, linear: FlowProgram) -> None:
        self.linear, self.problem, self.network = linear, linear.problem, linear.network
        network = self.network
        self.potential = np.zeros(network.nodes)
        self.deviation = np.zeros(self.problem.size, dtype=np.int64)
        self.rest = Flow(network.tail, network.head, network.supply.copy(), whole_costs(self.problem.weight), *linear.free)

    def solve(self, senses: IntArray) -> IntArray | None:
        """The whole table with these senses whose weighted sum of squares is least, up to rounding; None if there is none."""
        low, high = self.linear.bounds(senses)
        if (low > high).any():
            return None
        answer = Newton(self.linear, low, high).solve(self.potential)
        found = self._nearest_whole(low, high, answer.flow)
        if found is None:
            return None
        if not answer.ended:
            other = self.linear.solve(senses)
            found = found if other is None or self.problem.cost(found) <= self.problem.cost(other) else other
        self.potential, self.deviation = answer.potential if answer.ended else np.zeros_like(self.potential), found
        return found.copy()

    @property
    def value(self) -> float:
        """The cost of the present table."""
        return self.problem.cost(self.deviation)

    @property
    def duals(self) -> FloatArray:
        """One multiplier per relation: what a unit more on its right-hand side would cost."""
        return self.network.of_relations(self.potential - self.potential[self.network.ground], self.problem.rhs.size)

    def _nearest_whole(self, low: IntArray, high: IntArray, target: FloatArray) -> IntArray | None:
        """The whole flow with the least squares among those that round every amount up or down; any other if there is none.

        Rounded to the other side an amount with fraction f costs w(1 - 2f) more: the linear part of the squares cancels out along cycles.
        """
        base = np.clip(np.rint(target).astype(np.int64), low, high)
        lean = target - base
        below, above = np.where(lean < TUNING.leans, -1, 0), np.where(lean > -TUNING.leans, 1, 0)
        room = (np.where(low <= -FARTHEST, low, low - base), np.where(high >= FARTHEST, high, high - base))
        sides = (np.maximum(room[0], below), np.minimum(room[1], above))
        for dearer, (least, most) in ((np.maximum(1 - 2 * np.abs(lean), 0.0), sides), (1.0, room)):
            found = self._completed(base, np.rint(self.linear.cost * dearer).astype(np.int64), least, most)
            if found is not None:
                return found
        return None

    def _completed(self, base: IntArray, cost: IntArray, least: IntArray, most: IntArray) -> IntArray | None:
        """Bring what the base lacks by a flow of least cost within this room."""
        network = self.network
        out = np.zeros(network.nodes, dtype=np.int64)
        np.add.at(out, network.tail, base)
        np.subtract.at(out, network.head, base)
        self.rest.supply = network.supply - out
        self.rest.tree.cost[: cost.size] = cost
        self.rest.restart(least, most)
        return base + self.rest.flow if self.rest.inside else None


SensesProgram = FlowProgram | SquaresProgram
"""The problem on its network with its senses fixed, in either norm."""


class DualSolution(NamedTuple):
    """Multipliers of the nodes, the flow that belongs to them, and whether it meets the supplies."""

    potential: FloatArray
    flow: FloatArray
    ended: bool


class Newton:
    """Damped Newton steps on the dual, which is concave and piecewise quadratic.

    Where few arcs can give way the pure step is far too long in what they leave undecided. So those at their bounds count too, a
    little (more after a step that had to be shortened, less after one that had not), and the step's length is looked for.
    """

    def __init__(self, program: FlowProgram, low: IntArray, high: IntArray) -> None:
        network = program.network
        self.tail, self.head, self.nodes = network.tail, network.head, network.nodes
        self.low = np.where(low <= -FARTHEST, -np.inf, low.astype(np.float64))
        self.high = np.where(high >= FARTHEST, np.inf, high.astype(np.float64))
        self.slack = 0.5 / program.problem.weight
        self.supply = network.supply.astype(np.float64)

    def solve(self, start: FloatArray) -> DualSolution:
        y, soft = start, TUNING.softest
        flow = self._flow(y)
        for _ in range(TUNING.steps):
            lack = self._lack(flow)
            if np.abs(lack).max(initial=0.0) <= max(TUNING.exact, TUNING.relative * float(np.abs(flow).max(initial=0.0))):
                break
            step = self._step(y, lack, soft)
            length = self._length(y, step, float(step @ lack))
            if not 0.0 < length < TUNING.longest:
                break
            y = y + length * step
            flow = self._flow(y)
            soft = min(max(soft / 100 if length >= 0.5 else soft * 30, TUNING.softest), TUNING.hardest)
        return DualSolution(y, flow, bool(np.abs(self._lack(flow)).max(initial=0.0) <= TUNING.rounded))

    def _flow(self, y: FloatArray) -> FloatArray:
        return np.asarray(np.clip((y[self.tail] - y[self.head]) * self.slack, self.low, self.high))

    def _lack(self, flow: FloatArray) -> FloatArray:
        """What each node's flow lacks, the gradient of the dual; nothing is asked of the ground."""
        out = np.bincount(self.tail, weights=flow, minlength=self.nodes) - np.bincount(self.head, weights=flow, minlength=self.nodes)
        lack = self.supply - out
        lack[-1] = 0.0
        return np.asarray(lack)

    def _length(self, y: FloatArray, step: FloatArray, rise: float) -> float:
        """How far to go: to where the dual, which rises along the step at first, hardly rises or falls any more."""
        pull, rate = (y[self.tail] - y[self.head]) * self.slack, (step[self.tail] - step[self.head]) * self.slack
        across, gain = step[self.tail] - step[self.head], float(step @ self.supply)

        def slope(length: float) -> float:
            return gain - float(across @ np.clip(pull + length * rate, self.low, self.high))

        near, far, length = 0.0, np.inf, 1.0
        for _ in range(TUNING.halvings):
            now = slope(length)
            if abs(now) <= 0.1 * rise or length >= TUNING.longest:
                break
            near, far = (length, far) if now > 0 else (near, length)
            length = 4 * length if np.isinf(far) else (near + far) / 2
        return length

    def _step(self, y: FloatArray, lack: FloatArray, soft: float) -> FloatArray:
        """Solve the Laplacian of the arcs that can give way, those at their bounds counting `soft`ly; the ground stays where it is."""
        pull = (y[self.tail] - y[self.head]) * self.slack
        inner = (pull >= self.low) & (pull <= self.high) & (self.low < self.high)
        weight = np.where(inner, self.slack, soft * self.slack)
        largest = float(self.slack.max(initial=1.0))
        hold = np.full(self.nodes, 1e-13 * largest)
        hold[-1] = 1e10 * largest
        every = np.arange(self.nodes)
        entries = np.concatenate([weight, weight, -weight, -weight, hold])
        rows = np.concatenate([self.tail, self.head, self.tail, self.head, every])
        columns = np.concatenate([self.tail, self.head, self.head, self.tail, every])
        laplacian = csc_matrix(coo_matrix((entries, (rows, columns)), shape=(self.nodes, self.nodes)))
        return np.asarray(splu(laplacian, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(lack))
