"""Exact changes of senses on the network (docs/science.md, section 4, "dual-priced flips", pair and chain moves), in either norm.

A flip is priced by the potentials first: the least cost is convex in what is forced on it, so the price never overstates the true
change (in squares: up to rounding), and most flips are refused unseen. The others are made, and kept or taken back by Metropolis' rule on
the true cost. At temperature zero this is a descent. In absolute changes the tree goes on from where it is, a few pivots away from
the new optimum; in squares the table is solved anew, sensitive totals first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.network import simplex
from statveil.protect.network.flow import FlowProgram
from statveil.protect.network.squares import SensesProgram


class SquareFlipTuning(NamedTuple):
    """What steers flips in squares: by judgement."""

    temperatures: tuple[float, ...] = (0.0, 0.3, 0.1, 0.03, 0.01, 0.0)  # shares of a typical cell's cost: a descent, then cooling
    sweeps: int = 3  # sweeps at each temperature


TUNING = SquareFlipTuning()


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
    """Give choice k the other sense."""
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
    """Moves of up to three flips each, from hot to cold; tells how many were kept."""
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
        simplex.solve_queue(t)
        if t.value[1] > outside or (t.value[1] == outside and t.value[0] - before > worth):
            for at in range(count):
                _turn(t, f, senses, moved[at])
            simplex.solve_queue(t)
        else:
            kept += 1
    return kept


# --- least squares


def cool_squares(
    program: SensesProgram, senses: IntArray, order: list[IntArray], rng: np.random.Generator, *, ended: Callable[[], bool]
) -> Iterator[IntArray]:
    """The senses whenever they are cheaper than all before. `order` lists the cells to turn, those of each group before the next."""
    start = _SquareFlips(program, senses, rng)
    cells = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
    if not start.feasible or cells.size == 0:
        return
    best, typical = start.cost, float(np.median(start.least_cost[cells]))
    for share in TUNING.temperatures:
        for _ in range(TUNING.sweeps):
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


class _SquareFlips:
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
        self.price = _square_prices(self.program, senses, deviation)
        return True


def _square_prices(program: SensesProgram, senses: IntArray, deviation: IntArray) -> FloatArray:
    """At most what turning each cell changes in cost: its own squares, less what its way to the other sense takes off the rest. Where that
    pulls it further than it must go, it goes as far as pays.
    """
    problem = program.problem
    pull = problem.relations.T @ program.duals  # what a forced unit of each cell takes off the cost of the rest
    low, high = (np.where(senses > 0, down, up) for down, up in zip(problem.down, problem.up, strict=True))
    nearest = np.where(senses > 0, high, low).astype(np.float64)
    dear = problem.weight > 0
    pays = np.divide(pull, 2 * problem.weight, out=nearest, where=dear)
    other, now = np.clip(pays, low, high), deviation.astype(np.float64)
    return np.asarray(problem.weight * (other * other - now * now) - pull * (other - now))


def groups_of(cells: IntArray, totals: BoolArray) -> list[IntArray]:
    """The totals among the cells, then the others; none that is empty."""
    return [group for group in (cells[totals[cells]], cells[~totals[cells]]) if group.size]
