"""Senses for least squares on a network: exact annealing of single cells and pairs, sensitive totals first (docs/science.md, section 4).

A change is priced by the multipliers first: the least cost is convex in what is forced on it, so the price never overstates the true
change (up to rounding), and most changes are refused unseen. The others are solved, and kept or taken back by Metropolis' rule on the
cost of the whole table. At temperature zero this is a descent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.network.flow import SensesProgram

TEMPERATURES = (0.0, 0.3, 0.1, 0.03, 0.01, 0.0)
"""Shares of a typical cell's cost: a descent, then cooling."""
SWEEPS = 3
"""Sweeps at each temperature."""


def cool_squares(
    program: SensesProgram, senses: IntArray, order: list[IntArray], rng: np.random.Generator, *, ended: Callable[[], bool]
) -> Iterator[IntArray]:
    """The senses whenever they are cheaper than all before. `order` lists the cells to turn, those of each group before the next."""
    start = _State(program, senses, rng)
    cells = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
    if not start.feasible or cells.size == 0:
        return
    best, typical = start.cost, float(np.median(start.least_cost[cells]))
    for share in TEMPERATURES:
        for _ in range(SWEEPS):
            moved = False
            for group in order:
                for cell in rng.permutation(group):
                    if ended():
                        return
                    moved |= start.try_turn(int(cell), group, -share * typical * np.log(1.0 - rng.random()))
                    if start.cost < best:
                        best = start.cost
                        yield start.senses.copy()
            if share == 0.0 and not moved:
                break


class _State:
    """Senses with their table, its cost, and what turning each cell costs at the least."""

    def __init__(self, program: SensesProgram, senses: IntArray, rng: np.random.Generator) -> None:
        self.program, self.senses, self.rng = program, senses.copy(), rng
        problem = program.problem
        nearest = np.maximum(problem.up.low, -problem.down.high).astype(np.float64)
        self.least_cost = problem.weight * nearest * nearest
        self.cost = np.inf
        self.feasible = self._take(self.senses, np.inf)

    def try_turn(self, cell: int, group: IntArray, worth: float) -> bool:
        """Turn the cell, or it and another at one of its ends by chance, if that costs no more than it is worth."""
        cells = [cell] if self.rng.random() < 0.5 else [cell, *self._partner(cell, group)]
        if self.price[cells].sum() > worth or (worth <= 0.0 and self.price[cells].sum() >= 0.0):
            return False
        trial = self.senses.copy()
        trial[cells] *= -1
        return self._take(trial, worth)

    def _partner(self, cell: int, group: IntArray) -> list[int]:
        network = self.program.network
        node = (network.tail if self.rng.random() < 0.5 else network.head)[cell]
        near = group[((network.tail[group] == node) | (network.head[group] == node)) & (group != cell)]
        return [int(self.rng.choice(near))] if near.size and node != network.ground else []

    def _take(self, senses: IntArray, worth: float) -> bool:
        """Solve for these senses and keep them where they cost no more than they are worth beyond the present ones."""
        deviation = self.program.solve(senses)
        if deviation is None or self.program.value - self.cost > worth or (worth <= 0.0 and self.program.value >= self.cost):
            return False
        self.senses, self.cost = senses, self.program.value
        self.price = _prices(self.program, senses, deviation)
        return True


def _prices(program: SensesProgram, senses: IntArray, deviation: IntArray) -> FloatArray:
    """At most what turning each cell changes in cost: its own squares, less what its way to the other sense takes off the rest."""
    problem = program.problem
    other = np.where(senses > 0, problem.down.high, problem.up.low).astype(np.float64)
    now = deviation.astype(np.float64)
    pull = program.pull(program.duals)
    return np.asarray(problem.weight * (other * other - now * now) - pull * (other - now))


def groups_of(cells: IntArray, totals: BoolArray) -> list[IntArray]:
    """The totals among the cells, then the others; none that is empty."""
    return [group for group in (cells[totals[cells]], cells[~totals[cells]]) if group.size]
