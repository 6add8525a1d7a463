"""Least squares with the senses fixed, on a network: a semismooth Newton method on the dual (METHODS 3), made whole by one more flow.

With multipliers y on the nodes, each arc's best flow is (y_tail - y_head) / 2w cut off at its bounds; Newton steps on y make the flows
meet the supplies. The whole flow nearest to the answer is a min-cost flow in what rounding leaves.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix
from scipy.sparse.linalg import splu

from statveil.arrays import FloatArray, IntArray
from statveil.protect.network.flow import FARTHEST, Flow, FlowProgram, whole_costs

STEPS = 60
FIRM = (1e-10, 1.0)
"""How firmly a node is held, at least and at most, beside the arcs around it."""
_EXACT = 1e-7
"""Imbalance, in units of the table, at which Newton's method ends: rounding takes up the rest."""


def least_squares(program: FlowProgram, senses: IntArray) -> IntArray | None:
    """The whole table with these senses whose weighted sum of squares is least, up to rounding; None if there is none."""
    low, high = program.bounds(senses)
    if (low > high).any():
        return None
    target = _Newton(program, low, high).solve()
    return None if target is None else _nearest_whole(program, low, high, target)


class _Newton:
    def __init__(self, program: FlowProgram, low: IntArray, high: IntArray) -> None:
        network = program.network
        self.tail, self.head, self.nodes = network.tail, network.head, network.nodes
        self.low = np.where(low <= -FARTHEST, -np.inf, low.astype(np.float64))
        self.high = np.where(high >= FARTHEST, np.inf, high.astype(np.float64))
        self.slack = 0.5 / program.problem.weight
        self.supply = network.supply.astype(np.float64)

    def flow(self, y: FloatArray) -> FloatArray:
        return np.asarray(np.clip((y[self.tail] - y[self.head]) * self.slack, self.low, self.high))

    def lack(self, flow: FloatArray) -> FloatArray:
        """What each node's flow lacks; nothing is asked of the ground."""
        out = np.bincount(self.tail, weights=flow, minlength=self.nodes) - np.bincount(self.head, weights=flow, minlength=self.nodes)
        lack = self.supply - out
        lack[-1] = 0.0
        return np.asarray(lack)

    def value(self, y: FloatArray, flow: FloatArray) -> float:
        """The dual objective, which Newton steps must raise."""
        return float((0.5 / self.slack * flow - (y[self.tail] - y[self.head])) @ flow + y @ self.supply)

    def solve(self) -> FloatArray | None:
        y = np.zeros(self.nodes)
        flow = self.flow(y)
        value, hold = self.value(y, flow), FIRM[0]
        for _ in range(STEPS):
            lack = self.lack(flow)
            if np.abs(lack).max(initial=0.0) <= _EXACT:
                return flow
            step = self._step(y, lack, hold)
            length = 1.0
            while length > 1e-9:
                trial = y + length * step
                trial_flow = self.flow(trial)
                trial_value = self.value(trial, trial_flow)
                if trial_value >= value + 1e-4 * length * float(step @ lack):
                    break
                length /= 2
            y, flow, value = trial, trial_flow, trial_value
            hold = min(max(hold / 100 if length == 1.0 else hold * 1000, FIRM[0]), FIRM[1])
        return flow if np.abs(self.lack(flow)).max(initial=0.0) <= 0.5 else None

    def _step(self, y: FloatArray, lack: FloatArray, firmly: float) -> FloatArray:
        """Solve the Laplacian of the arcs that can give way, each node held a little by itself, more firmly after a step too long.

        Those just at a bound are among them: where all of a table lies at its bounds, as a table of zeros does, none would be left.
        """
        pull = (y[self.tail] - y[self.head]) * self.slack
        inner = (pull >= self.low) & (pull <= self.high) & (self.low < self.high)
        tail, head, weight = self.tail[inner], self.head[inner], self.slack[inner]
        hold = np.full(self.nodes, firmly * float(self.slack.max(initial=1.0)))
        hold[-1] = 1e10 * float(self.slack.max(initial=1.0))
        every = np.arange(self.nodes)
        entries = np.concatenate([weight, weight, -weight, -weight, hold])
        rows, columns = np.concatenate([tail, head, tail, head, every]), np.concatenate([tail, head, head, tail, every])
        laplacian = csc_matrix(coo_matrix((entries, (rows, columns)), shape=(self.nodes, self.nodes)))
        return np.asarray(splu(laplacian, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(lack))


def _nearest_whole(program: FlowProgram, low: IntArray, high: IntArray, target: FloatArray) -> IntArray | None:
    """Round, and let a flow of least weight bring what rounding lacks."""
    network = program.network
    base = np.clip(np.rint(target).astype(np.int64), low, high)
    out = np.zeros(network.nodes, dtype=np.int64)
    np.add.at(out, network.tail, base)
    np.subtract.at(out, network.head, base)
    supply = network.supply - out
    room = (np.where(low <= -FARTHEST, low, low - base), np.where(high >= FARTHEST, high, high - base))
    flow = Flow(network.tail, network.head, supply, whole_costs(program.problem.weight), *room)
    flow.restart(*room)
    return base + flow.flow if flow.inside else None
