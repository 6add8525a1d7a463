"""Messages: cells and relations tell each other what they would rather have, until the senses settle.

Belief propagation (sum-product) on the imbalance that senses leave. Relation j weighs every combination of its cells' senses by
exp(-(imbalance / T)^1.5) and by what the cells hear elsewhere, and tells each cell which sense the others would have it take. Cells
add up what they hear, with a growing share of what they leant to before (reinforcement: Braunstein and Zecchina, 2006), so that in
the end all of them decide. Where relations have few sensitive cells each, as in three dimensions, senses found so leave less than
annealed ones that take twenty times as long. No program is solved here.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.local import anneal
from statveil.protect.search_state import Search


class MessagesTuning(NamedTuple):
    """How messages are passed (benchmarks/RESULTS.md, random tables of the first paper, tells what that brings)."""

    most_cells: int = 16  # of a relation that have a choice: all combinations of their senses are weighed
    least_choices: int = 500  # cells with a choice from which messages pay; by judgement
    for_each: tuple[float, float] = (1.0, 2.5)
    """How many choices there must be for each relation. In two dimensions, where there are more, annealing soon balances all of them;
    where there are fewer, as in many linked hierarchies, hardly any can be balanced."""
    scale: float = 0.3
    """T, as a share of what a flip changes in a relation, priced (the mean): 0.27 to 0.32 do best on 20x20x20 tables."""
    reinforced: float = 3e-5
    """By how much the share of what a cell leant to before grows with each round; slower finds less imbalance, but takes longer."""
    damped: float = 0.5  # share of the new in each message; from about 0.8 on messages swing instead of settling
    first_leaning: float = 0.01  # by judgement
    firm: float = 15.0  # leanings beyond this are certain; by judgement
    calm: int = 20  # rounds in a row without a change of sense after which they have settled; by judgement
    most_rounds: int = 1_000  # by judgement


TUNING = MessagesTuning()
BITS = 2 ** (TUNING.most_cells + 1)


class FactorGraph(NamedTuple):
    """Of each relation its cells with a choice, what half a flip of each changes, and what the others leave; all in units of T."""

    choice: IntArray
    starts: IntArray
    members: IntArray
    halves: FloatArray
    offset: FloatArray
    leaning: FloatArray
    """What each cell leans to by itself, as up may cost more than down."""


def run(search: Search, *, tries: int = 40) -> None:
    """Method `messages`: senses that settled, each priced by one program; annealed ones where they do not settle."""
    if not fits(search.problem):
        raise InputError(f"Method 'messages' needs relations with at most {TUNING.most_cells} sensitive cells each.", hint="Use 'auto'.")
    if search.start is not None:
        search.try_senses(search.start)
    search.enter("passing messages")
    for _ in range(tries):
        senses = None if search.done else settled_senses(search)
        if senses is None:
            break
        search.try_senses(senses)
    if search.best is None:
        anneal.run(search)


def fits(problem: ProtectionProblem) -> bool:
    """Whether relations are short enough for all combinations of senses."""
    return bool(_choices(problem).max(initial=0) <= TUNING.most_cells)


def pays(problem: ProtectionProblem) -> bool:
    """Whether annealing falls short: there are many choices, but neither few nor many for each relation that has any."""
    choices = problem.choices.size
    concerned = max(int((_choices(problem) > 0).sum()), 1)
    return choices >= TUNING.least_choices and TUNING.for_each[0] <= choices / concerned <= TUNING.for_each[1] and fits(problem)


def _choices(problem: ProtectionProblem) -> IntArray:
    """How many cells of each relation have a choice."""
    return np.diff(problem.relations[:, problem.choices].indptr).astype(np.int64)


def settled_senses(search: Search) -> IntArray | None:
    """Senses from messages that began with a random leaning; None if they did not settle or time is up."""
    graph = graph_of(search.problem)
    leaning = TUNING.first_leaning * search.rng.standard_normal(graph.choice.size)
    heard = np.zeros(graph.members.size)
    calm = 0
    for done in range(0, TUNING.most_rounds, TUNING.calm):
        if search.seconds_left <= 0 and search.best is not None:
            return None
        calm = _pass(graph, leaning, heard, done, calm)
        if calm >= TUNING.calm:
            senses = search.problem.all_up()
            senses[graph.choice] = np.where(leaning > 0, 1, -1)
            return senses
    return None


def graph_of(problem: ProtectionProblem) -> FactorGraph:
    """With middle + half * s in the place of each cell with a choice, the imbalance of a relation is offset + sum of halves * s."""
    choice = problem.choices
    rows = problem.relations[:, choice]
    prices = anneal.relation_prices(problem)
    half = (problem.upper_level + problem.lower_level)[choice] / 2
    halves = rows.data * half[rows.indices] * np.repeat(prices, np.diff(rows.indptr))
    unit = TUNING.scale * 2 * float(np.abs(halves).mean()) if halves.size else 1.0
    middle = np.where(problem.can_go_up, problem.upper_level, -problem.lower_level) * problem.sensitive.astype(np.float64)
    middle[choice] = (problem.upper_level - problem.lower_level)[choice] / 2
    offset = prices * (problem.relations @ middle - problem.residual)
    dearer_up = problem.weight[choice] * (problem.upper_level - problem.lower_level)[choice]
    starts, members = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return FactorGraph(choice, starts, members, halves / unit, offset / unit, -dearer_up / (2 * unit))


@njit(cache=True, inline="always")
def _firm(leaning):  # type: ignore[no-untyped-def]
    """A leaning within what is certain."""
    return min(max(leaning, -TUNING.firm), TUNING.firm)


@njit(cache=True, fastmath=True)
def _combinations(first, last, graph, leaning, heard, offset, sums, weights):  # type: ignore[no-untyped-def]
    """Weights of all combinations of senses of a relation's cells, from what they hear elsewhere; how many there are."""
    size = 1
    sums[0], weights[0] = offset, 0.0
    for k in range(first, last):
        half, leans = graph.halves[k], _firm(leaning[graph.members[k]] - heard[k])
        for c in range(size):
            sums[size + c], weights[size + c] = sums[c] + half, weights[c] + leans
            sums[c], weights[c] = sums[c] - half, weights[c] - leans
        size *= 2
    most = -np.inf
    for c in range(size):
        weights[c] -= abs(sums[c]) * sqrt(abs(sums[c]))
        most = max(most, weights[c])
    for c in range(size):
        weights[c] = exp(weights[c] - most)
    return size


@njit(cache=True, fastmath=True)
def _tell(first, last, graph, leaning, heard, size, weights):  # type: ignore[no-untyped-def]
    """What a relation tells each of its cells, the last one first: up against down over all combinations, less what the cell told."""
    for k in range(last - 1, first - 1, -1):
        size //= 2
        down, up = 1e-30, 1e-30
        for c in range(size):
            down += weights[c]
            up += weights[size + c]
            weights[c] += weights[size + c]
        told = 0.5 * log(up / down) - _firm(leaning[graph.members[k]] - heard[k])
        heard[k] += TUNING.damped * (told - heard[k])


@njit(cache=True)
def _pass(graph, leaning, heard, done, calm):  # type: ignore[no-untyped-def]
    """Some rounds of messages, leanings and messages in place; for how many rounds now no cell has changed its sense."""
    sums, weights = np.empty(BITS), np.empty(BITS)
    for number in range(done, done + TUNING.calm):
        for j in range(graph.starts.size - 1):
            first, last = graph.starts[j], graph.starts[j + 1]
            if first < last:
                size = _combinations(first, last, graph, leaning, heard, graph.offset[j], sums, weights)
                _tell(first, last, graph, leaning, heard, size, weights)
        leans = graph.leaning + TUNING.reinforced * number * leaning
        for k in range(graph.members.size):
            leans[graph.members[k]] += heard[k]
        calm = calm + 1 if (leans * leaning > 0).all() else 0
        leaning[:] = leans
    return calm
