"""First senses: every cell up, and senses annealed on the imbalance they leave (docs/science.md, section 4, "Anneal").

If each sensitive cell moves by just its level, relation j is left with an imbalance |sum of +-level|, which other cells must
absorb. The energy is the sum of these, each priced at the cheapest cell that could absorb it, plus what an up-move costs more
than a down-move where the two levels differ. No program is solved here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search_state import Search


class AnnealTuning(NamedTuple):
    """How senses are annealed. Figures on 20x20x20 tables were measured when the number was chosen; the rest is by judgement."""

    sweeps: int = 400  # visits of every sensitive cell, about; a work limit, not a clock, so that runs repeat
    hot: float = 0.37  # where annealing begins, as a share of the mean change a flip makes in a relation
    cold: float = 0.2
    """Where it ends, of a small change (the tenth percentile). A narrow window does most. On a 20x20x20 table, from there down by a
    factor of ten, 3,200 sweeps leave tables that cost 126,000 to 131,000 above the floor; four decades of cooling, as many sweeps,
    140,000."""
    narrow: float = 0.4
    """The end as a share of the beginning for long runs over many cells whose flips are of one size: order sets in between, and the time
    is best spent there (20x20x20, 25,600 sweeps: imbalance 271,000 to 273,000, which the wider window needs twice the sweeps for)."""
    block: int = 1024  # moves at one temperature
    blocks_at_a_time: int = 4_096  # between looks at the clock: about a tenth of a second
    descent_sweeps: int = 10  # at no temperature, in the end
    reach: float = 8.0  # times the temperature: a flip that costs more is hardly ever made good by a mate, so none is tried
    mates: int = 8
    """Cells of a relation among which the mate of a flip is looked for. On a 20x20x20 table 25,600 sweeps with the best of these leave an
    imbalance of 267,500 in 2.8 s; with any mate, whatever the flip costs, 273,000 in 3.6 s."""


TUNING = AnnealTuning()
ENDLESS = 1e300


def run(search: Search, *, sweeps: int = TUNING.sweeps) -> None:
    """Method `anneal`: senses annealed from the start given or from chance, priced by one program; all up if they are infeasible."""
    search.enter("balancing senses")
    if not search.try_senses(anneal_senses(search, sweeps=sweeps, start=search.start)) and search.best is None:
        search.enter("all up")
        search.try_senses(search.problem.all_up())


def begin(search: Search) -> None:
    """A first table for methods that improve one: with the senses given, if they leave a table, or else by `anneal`."""
    if search.start is not None:
        search.try_senses(search.start)
    if search.best is None:
        run(search)


def anneal_senses(search: Search, *, sweeps: int = TUNING.sweeps, start: IntArray | None = None, narrow: bool = False) -> IntArray:
    """Senses of low imbalance. Cells with a forced sense keep it."""
    problem = search.problem
    choice = problem.choices
    if choice.size == 0:
        return problem.all_up() if start is None else start.copy()
    return _SenseAnnealing(problem, choice, narrow=narrow).anneal(search.rng, sweeps, start, lambda: search.seconds_left <= 0)


class SenseLinks(NamedTuple):
    """For each cell with a choice its relations and what a flip changes in them; the way back; the price of what relations are out by,
    and what each cell costs more up than down."""

    starts: IntArray
    relations: IntArray
    changes: FloatArray
    row_starts: IntArray
    members: IntArray
    member_changes: FloatArray
    prices: FloatArray
    dearer_up: FloatArray


class _SenseAnnealing:
    """What annealing needs, and the temperatures between which it goes."""

    def __init__(self, problem: ProtectionProblem, choice: IntArray, *, narrow: bool = False) -> None:
        self.problem, self.choice = problem, choice
        self.links = _links(problem, choice)
        terms = self.links.prices[self.links.relations] * np.abs(self.links.changes)
        self.hot = TUNING.hot * float(terms.mean()) if terms.size else 1.0
        small = float(np.quantile(terms, 0.1)) if terms.size else 1.0
        ends = TUNING.narrow * self.hot if narrow and small > TUNING.narrow * self.hot else min(0.1 * self.hot, TUNING.cold * small)
        self.cold = max(ends, 1e-6 * self.hot)

    def imbalance(self, senses: IntArray) -> FloatArray:
        problem = self.problem
        level = np.where(senses > 0, problem.upper_level, -problem.lower_level) * problem.sensitive
        return np.asarray(problem.residual - problem.relations @ level, dtype=np.float64)

    def energy(self, senses: IntArray) -> float:
        dearer = self.links.dearer_up[senses[self.choice] > 0].sum()
        return float(self.links.prices @ np.abs(self.imbalance(senses)) + dearer)

    def anneal(self, rng: np.random.Generator, sweeps: int, start: IntArray | None, out_of_time: Callable[[], bool]) -> IntArray:
        """One try, from the start given or from chance, cooled evenly and ended by a descent; the descent comes early if time is up."""
        senses = self.problem.all_up() if start is None else start.copy()
        if start is None:
            senses[self.choice] = np.where(rng.random(self.choice.size) < 0.5, 1, -1)
        signs, imbalance = senses[self.choice].astype(np.float64), self.imbalance(senses)
        word = np.uint64(rng.integers(2**63))
        blocks, descent = max(1, sweeps * signs.size // TUNING.block), max(1, TUNING.descent_sweeps * signs.size // TUNING.block)
        cooling, done = (self.cold / self.hot) ** (1.0 / blocks), 0
        while done < blocks and not out_of_time():
            part = min(TUNING.blocks_at_a_time, blocks - done)
            word = np.uint64(_anneal(self.links, imbalance, signs, part, self.hot * cooling**done, cooling, word, EXPONENTIAL))
            done += part
        _anneal(self.links, imbalance, signs, descent, 0.0, 1.0, word, EXPONENTIAL)
        senses[self.choice] = signs.astype(np.int64)
        return senses


def _links(problem: ProtectionProblem, choice: IntArray) -> SenseLinks:
    columns = problem.relations.tocsc()[:, choice]
    columns.sort_indices()
    rows = columns.tocsr()
    move = (problem.upper_level + problem.lower_level)[choice].astype(np.float64)  # what a flip changes
    return SenseLinks(
        starts=columns.indptr.astype(np.int64),
        relations=columns.indices.astype(np.int64),
        changes=columns.data * np.repeat(move, np.diff(columns.indptr)),
        row_starts=rows.indptr.astype(np.int64),
        members=rows.indices.astype(np.int64),
        member_changes=rows.data * move[rows.indices],
        prices=relation_prices(problem),
        dearer_up=problem.weight[choice] * (problem.upper_level - problem.lower_level)[choice],
    )


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
def _flip_cost(i, links, imbalance, signs):  # type: ignore[no-untyped-def]
    """What a flip adds to the energy."""
    cost = -signs[i] * links.dearer_up[i]
    for k in range(links.starts[i], links.starts[i + 1]):
        now = imbalance[links.relations[k]]
        cost += links.prices[links.relations[k]] * (abs(now + signs[i] * links.changes[k]) - abs(now))
    return cost


@njit(cache=True, fastmath=True, inline="always")
def _flip(i, links, imbalance, signs):  # type: ignore[no-untyped-def]
    """Flip, in place: signs[i] * changes is added to the imbalance of the cell's relations."""
    for k in range(links.starts[i], links.starts[i + 1]):
        imbalance[links.relations[k]] += signs[i] * links.changes[k]
    signs[i] = -signs[i]


@njit(cache=True, fastmath=True, inline="always")
def _mate(i, bits, links, imbalance, signs):  # type: ignore[no-untyped-def]
    """Of some cells of one of this cell's relations the one that, turned with it, leaves the least there; itself if none helps."""
    relations, members = links.relations, links.members
    at = links.starts[i] + np.int64(((bits >> np.uint64(48)) * np.uint64(links.starts[i + 1] - links.starts[i])) >> np.uint64(16))
    first, last = links.row_starts[relations[at]], links.row_starts[relations[at] + 1]
    place = first + below((bits >> np.uint64(16)) & np.uint64(0xFFFFFFFF), last - first)
    turned = imbalance[relations[at]] + signs[i] * links.changes[at]
    best, least = i, abs(turned)
    for _ in range(min(TUNING.mates, last - first)):
        left = abs(turned + signs[members[place]] * links.member_changes[place])
        if left < least and members[place] != i:
            best, least = members[place], left
        place = place + 1 if place + 1 < last else first
    return best


@njit(cache=True, fastmath=True)
def _anneal(links, imbalance, signs, blocks, temperature, cooling, word, draws):  # type: ignore[no-untyped-def]
    """Metropolis over single flips and over pairs that share a relation, so that what one takes the other gives. At no temperature:
    a descent, in which every cell may have a mate. Signs and imbalance are changed in place; the word of chance to go on from is
    returned.
    """
    size = np.uint64(signs.size)
    for _ in range(blocks):
        temperature *= cooling
        reach = TUNING.reach * temperature if temperature > 0.0 else ENDLESS
        for _ in range(TUNING.block):
            word += STEP
            bits = mixed(word)
            i = np.int64(((bits >> np.uint64(32)) * size) >> np.uint64(32))
            cost = _flip_cost(i, links, imbalance, signs)
            if cost <= temperature * draws[np.int64(bits & np.uint64(CHANCES - 1))]:
                _flip(i, links, imbalance, signs)
            elif cost <= reach and links.starts[i] < links.starts[i + 1]:
                word += STEP
                bits = mixed(word)
                j = _mate(i, bits, links, imbalance, signs)
                if j != i:  # both are turned; else the first is taken back
                    _flip(i, links, imbalance, signs)
                    cost += _flip_cost(j, links, imbalance, signs)
                    j = j if cost <= temperature * draws[np.int64(bits & np.uint64(CHANCES - 1))] else i
                    _flip(j, links, imbalance, signs)
    return word
