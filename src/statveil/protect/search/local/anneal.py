"""First senses: every cell up, and senses annealed on the imbalance they leave (docs/science.md, section 4, "Anneal").

If each sensitive cell moves by just its level, relation j is left with an imbalance |sum of +-level|, which other cells must
absorb. The energy is the sum of these, each priced at the cheapest cell that could absorb it, plus what an up-move costs more
than a down-move where the two levels differ. No program is solved here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.state import Search

SWEEPS = 400
"""Annealing visits every sensitive cell about so often; a work limit, not a clock, so that runs repeat."""
HOT, COLD = 0.37, 0.2
"""Where annealing begins, as a share of the mean change a flip makes in a relation, and ends, of a small one (the tenth percentile).

A narrow window does most. On a 20x20x20 table, from there down by a factor of ten, 3,200 sweeps leave tables that cost 126,000 to
131,000 above the floor; four decades of cooling, as many sweeps, 140,000.
"""
NARROW = 0.4
"""The end as a share of the beginning for long runs over many cells whose flips are of one size: order sets in between, and the time
is best spent there (20x20x20, 25,600 sweeps: imbalance 271,000 to 273,000, which the wider window needs twice the sweeps for)."""
BLOCK = 1024
BLOCKS_AT_A_TIME = 4_096
"""Blocks of moves between looks at the clock: about a tenth of a second."""
DESCENT_SWEEPS = 10
REACH = 8.0
"""Times the temperature: a flip that costs more is hardly ever made good by a mate, so none is tried."""
MATES = 8
"""Cells of a relation among which the mate of a flip is looked for.

On a 20x20x20 table 25,600 sweeps with the best of these leave an imbalance of 267,500 in 2.8 s; with any mate, whatever the flip costs,
273,000 in 3.6 s.
"""
ENDLESS = 1e300


def run(search: Search, *, sweeps: int = SWEEPS) -> None:
    """Method `anneal`: senses annealed from the start given or from chance, priced by one program; all up if they are infeasible."""
    search.enter("balancing senses")
    if not search.try_senses(anneal_senses(search, sweeps=sweeps, start=search.start)) and search.best is None:
        search.enter("all up")
        search.try_senses(all_up(search.problem))


def begin(search: Search) -> None:
    """A first table for methods that improve one: with the senses given, if they leave a table, or else by `anneal`."""
    if search.start is not None:
        search.try_senses(search.start)
    if search.best is None:
        run(search)


def all_up(problem: ProtectionProblem) -> IntArray:
    """Every cell up where it can go up. With free upper bounds this is always feasible: scale the table up."""
    return np.where(problem.sensitive, np.where(problem.can_go_up, 1, -1), 0).astype(np.int64)


def anneal_senses(search: Search, *, sweeps: int = SWEEPS, start: IntArray | None = None, narrow: bool = False) -> IntArray:
    """Senses of low imbalance. Cells with a forced sense keep it."""
    problem = search.problem
    choice = np.flatnonzero(problem.can_go_up & problem.can_go_down)
    if choice.size == 0:
        return all_up(problem) if start is None else start.copy()
    return _SenseAnnealing(problem, choice, narrow=narrow).anneal(search.rng, sweeps, start, lambda: search.seconds_left <= 0)


class _SenseAnnealing:
    """What annealing needs: for each cell with a choice its relations and what a flip changes in them, and the way back."""

    def __init__(self, problem: ProtectionProblem, choice: IntArray, *, narrow: bool = False) -> None:
        self.problem, self.choice = problem, choice
        columns = problem.relations.tocsc()[:, choice]
        columns.sort_indices()
        rows = columns.tocsr()
        self.starts, self.relations = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
        self.row_starts, self.members = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        move = (problem.upper_level + problem.lower_level)[choice].astype(np.float64)  # what a flip changes
        self.changes = columns.data * np.repeat(move, np.diff(columns.indptr))
        self.member_changes = rows.data * move[rows.indices]
        self.prices = relation_prices(problem)
        self.dearer_up = problem.weight[choice] * (problem.upper_level - problem.lower_level)[choice]
        terms = self.prices[self.relations] * np.abs(self.changes)
        self.hot = HOT * float(terms.mean()) if terms.size else 1.0
        small = float(np.quantile(terms, 0.1)) if terms.size else 1.0
        ends = NARROW * self.hot if narrow and small > NARROW * self.hot else min(0.1 * self.hot, COLD * small)
        self.cold = max(ends, 1e-6 * self.hot)

    def imbalance(self, senses: IntArray) -> FloatArray:
        problem = self.problem
        level = np.where(senses > 0, problem.upper_level, -problem.lower_level) * problem.sensitive
        return np.asarray(problem.residual - problem.relations @ level, dtype=np.float64)

    def energy(self, senses: IntArray) -> float:
        dearer = self.dearer_up[senses[self.choice] > 0].sum()
        return float(self.prices @ np.abs(self.imbalance(senses)) + dearer)

    def anneal(self, rng: np.random.Generator, sweeps: int, start: IntArray | None, out_of_time: Callable[[], bool]) -> IntArray:
        """One try, from the start given or from chance, cooled evenly and ended by a descent; the descent comes early if time is up."""
        senses = all_up(self.problem) if start is None else start.copy()
        if start is None:
            senses[self.choice] = np.where(rng.random(self.choice.size) < 0.5, 1, -1)
        signs, imbalance = senses[self.choice].astype(np.float64), self.imbalance(senses)
        mates = (self.row_starts, self.members, self.member_changes)
        links = (self.starts, self.relations, self.changes, *mates, self.prices, self.dearer_up)
        word = np.uint64(rng.integers(2**63))
        blocks, descent = max(1, sweeps * signs.size // BLOCK), max(1, DESCENT_SWEEPS * signs.size // BLOCK)
        cooling, done = (self.cold / self.hot) ** (1.0 / blocks), 0
        while done < blocks and not out_of_time():
            part = min(BLOCKS_AT_A_TIME, blocks - done)
            word = np.uint64(_anneal(*links, imbalance, signs, part, self.hot * cooling**done, cooling, word, EXPONENTIAL))
            done += part
        _anneal(*links, imbalance, signs, descent, 0.0, 1.0, word, EXPONENTIAL)
        senses[self.choice] = signs.astype(np.int64)
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


@njit(cache=True, fastmath=True, inline="always")
def _flip_cost(i, starts, relations, changes, prices, dearer_up, imbalance, signs):  # type: ignore[no-untyped-def]
    cost = -signs[i] * dearer_up[i]
    for k in range(starts[i], starts[i + 1]):
        now = imbalance[relations[k]]
        cost += prices[relations[k]] * (abs(now + signs[i] * changes[k]) - abs(now))
    return cost


@njit(cache=True, fastmath=True, inline="always")
def _flip(i, starts, relations, changes, imbalance, signs):  # type: ignore[no-untyped-def]
    for k in range(starts[i], starts[i + 1]):
        imbalance[relations[k]] += signs[i] * changes[k]
    signs[i] = -signs[i]


@njit(cache=True, fastmath=True, inline="always")
def _mate(i, dice, starts, relations, changes, row_starts, members, member_changes, imbalance, signs):  # type: ignore[no-untyped-def]
    """Of some cells of one of this cell's relations the one that, turned with it, leaves the least there; itself if none helps."""
    at = starts[i] + np.int64(((dice >> np.uint64(48)) * np.uint64(starts[i + 1] - starts[i])) >> np.uint64(16))
    first, last = row_starts[relations[at]], row_starts[relations[at] + 1]
    place = first + below((dice >> np.uint64(16)) & np.uint64(0xFFFFFFFF), last - first)
    turned = imbalance[relations[at]] + signs[i] * changes[at]
    best, least = i, abs(turned)
    for _ in range(min(MATES, last - first)):
        left = abs(turned + signs[members[place]] * member_changes[place])
        if left < least and members[place] != i:
            best, least = members[place], left
        place = place + 1 if place + 1 < last else first
    return best


@njit(cache=True, fastmath=True)
def _anneal(  # type: ignore[no-untyped-def]
    starts,
    relations,
    changes,
    row_starts,
    members,
    member_changes,
    prices,
    dearer_up,
    imbalance,
    signs,
    blocks,
    temperature,
    cooling,
    word,
    draws,
):
    """Metropolis over single flips and over pairs that share a relation, so that what one takes the other gives. At no temperature:
    a descent, in which every cell may have a mate.

    Flipping cell i adds signs[i] * changes to the imbalance of its relations. Signs and imbalance are changed in place; the word of
    chance to go on from is returned.
    """
    size = np.uint64(signs.size)
    for _ in range(blocks):
        temperature *= cooling
        reach = REACH * temperature if temperature > 0.0 else ENDLESS
        for _ in range(BLOCK):
            word += STEP
            dice = mixed(word)
            i = np.int64(((dice >> np.uint64(32)) * size) >> np.uint64(32))
            cost = _flip_cost(i, starts, relations, changes, prices, dearer_up, imbalance, signs)
            if cost <= temperature * draws[np.int64(dice & np.uint64(CHANCES - 1))]:
                _flip(i, starts, relations, changes, imbalance, signs)
            elif cost <= reach and starts[i] < starts[i + 1]:
                word += STEP
                dice = mixed(word)
                j = _mate(i, dice, starts, relations, changes, row_starts, members, member_changes, imbalance, signs)
                if j != i:  # both are turned; else the first is taken back
                    _flip(i, starts, relations, changes, imbalance, signs)
                    cost += _flip_cost(j, starts, relations, changes, prices, dearer_up, imbalance, signs)
                    j = j if cost <= temperature * draws[np.int64(dice & np.uint64(CHANCES - 1))] else i
                    _flip(j, starts, relations, changes, imbalance, signs)
    return word
