"""First senses: every cell up, and senses annealed on the imbalance they leave (METHODS 4, "Anneal").

If each sensitive cell moves by just its level, relation j is left with an imbalance |sum of +-level|, which other cells must
absorb. The energy is the sum of these, each priced at the cheapest cell that could absorb it, plus what an up-move costs more
than a down-move where the two levels differ. No program is solved here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from statveil.arrays import FloatArray, IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search import Search

SWEEPS = 400
"""Annealing visits every sensitive cell about so often; a work limit, not a clock, so that runs repeat."""


def run(search: Search, *, sweeps: int = SWEEPS) -> None:
    """Method `anneal`: senses annealed from the start given or from chance, priced by one program; all up if they are infeasible."""
    search.enter("balancing senses")
    if not search.try_senses(anneal_senses(search, sweeps=sweeps, start=search.start)) and search.best is None:
        search.enter("all up")
        search.try_senses(all_up(search.problem))


def all_up(problem: ProtectionProblem) -> IntArray:
    """Every cell up where it can go up. With free upper bounds this is always feasible: scale the table up."""
    return np.where(problem.sensitive, np.where(problem.can_go_up, 1, -1), 0).astype(np.int64)


def anneal_senses(search: Search, *, sweeps: int = SWEEPS, start: IntArray | None = None) -> IntArray:
    """Senses of low imbalance. Cells with a forced sense keep it."""
    problem = search.problem
    senses = all_up(problem) if start is None else start.copy()
    choice = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    if choice.size == 0:
        return senses
    columns = problem.relations.tocsc()[:, choice]
    columns.sort_indices()
    move = (problem.upper_level + problem.lower_level)[choice].astype(np.float64)  # what a flip changes
    level = np.where(senses > 0, problem.upper_level, -problem.lower_level) * problem.sensitive
    imbalance = (problem.residual - problem.relations @ level).astype(np.float64)
    flips = np.array(senses[choice] > 0)
    if start is None:
        flips_start = search.rng.random(choice.size) < 0.5
        imbalance += problem.relations[:, choice] @ np.where(flips & ~flips_start, move, 0.0)
        flips &= flips_start
    seed = int(search.rng.integers(2**31))
    dearer_up = problem.weight[choice] * (problem.upper_level - problem.lower_level)[choice]
    graph = (columns.indptr, columns.indices, columns.data.astype(np.float64))
    best = _anneal(*graph, move, dearer_up, imbalance, relation_prices(problem), flips, sweeps, seed)
    senses[choice] = np.where(best, 1, -1)
    return senses


def relation_prices(problem: ProtectionProblem) -> FloatArray:
    """For each relation, the weight of the cheapest cell that can absorb an imbalance there."""
    matrix = problem.relations
    room = (problem.free.high > problem.free.low)[matrix.indices]
    weight = np.where(room, problem.weight[matrix.indices] / np.abs(matrix.data), np.inf)
    prices = np.full(matrix.shape[0], np.inf)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    np.minimum.at(prices, rows, weight)
    dearest = float(prices[np.isfinite(prices)].max(initial=1.0))
    return np.where(np.isfinite(prices), prices, dearest)


@njit(cache=True)
def _anneal(indptr, indices, data, move, dearer_up, imbalance, price, up, sweeps, seed):  # type: ignore[no-untyped-def]
    """Metropolis over single flips and over pairs within one relation; returns the best assignment seen."""
    np.random.seed(seed)
    size = move.size
    energy = np.sum(price * np.abs(imbalance)) + np.sum(dearer_up * up)
    best, best_energy = up.copy(), energy
    hot = 0.0
    for i in range(size):
        for k in range(indptr[i], indptr[i + 1]):
            hot += price[indices[k]] * abs(data[k]) * move[i]
    hot = 0.5 * hot / size + 1e-12
    cold = hot * 1e-4
    steps = sweeps * size
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        i = np.random.randint(size)
        delta = _flip_cost(i, indptr, indices, data, move, dearer_up, imbalance, price, up)
        if delta <= 0.0 or np.random.random() < np.exp(-delta / temperature):
            _flip(i, indptr, indices, data, move, imbalance, up)
            energy += delta
        else:  # try a partner that goes the other way, so that the first flip's imbalance is taken up
            j = np.random.randint(size)
            if j != i and up[j] != up[i]:
                _flip(i, indptr, indices, data, move, imbalance, up)
                both = delta + _flip_cost(j, indptr, indices, data, move, dearer_up, imbalance, price, up)
                if both <= 0.0 or np.random.random() < np.exp(-both / temperature):
                    _flip(j, indptr, indices, data, move, imbalance, up)
                    energy += both
                else:
                    _flip(i, indptr, indices, data, move, imbalance, up)
        if energy < best_energy - 1e-12:
            best_energy = energy
            best[:] = up
    return best


@njit(cache=True)
def _flip_cost(i, indptr, indices, data, move, dearer_up, imbalance, price, up):  # type: ignore[no-untyped-def]
    change = move[i] if up[i] else -move[i]  # the cell's term falls by `move` when it goes from up to down
    cost = -dearer_up[i] if up[i] else dearer_up[i]
    for k in range(indptr[i], indptr[i + 1]):
        j = indices[k]
        cost += price[j] * (abs(imbalance[j] + data[k] * change) - abs(imbalance[j]))
    return cost


@njit(cache=True)
def _flip(i, indptr, indices, data, move, imbalance, up):  # type: ignore[no-untyped-def]
    change = move[i] if up[i] else -move[i]
    for k in range(indptr[i], indptr[i + 1]):
        imbalance[indices[k]] += data[k] * change
    up[i] = not up[i]
