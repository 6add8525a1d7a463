"""Senses of the cells inside subtables, by what they leave to be absorbed (docs/science.md, section 4, "Anneal", "Surrogate 2").

With every sensitive cell at its level, a relation is left with an imbalance. Inside a subtable a row's imbalance and a column's of the
same direction are absorbed together by the cell where they cross. Three energies price that, one subtable at a time:
- `SUM`: every imbalance at the price of the cheapest cell that can absorb it (uneven weights);
- `LARGER`: the larger of the rows' and the columns' total, and a little of the smaller;
- `MATCHED`: rows matched with columns, except that a large sensitive cell, which may not move back, cannot match its own row with its
  own column; what is left unmatched must leave the subtable.
A good start is greedy balance: one pass, largest levels first, each so that its row and column are left closer to balance. The large
levels are spread first and the small ones fill in.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.core.compiled_random import CHANCES, EXPONENTIAL, STEP, below, mixed
from statveil.protect.network.detect import Network
from statveil.protect.problem import ProtectionProblem

SUM, LARGER, MATCHED = 0, 1, 2


class SubtableAnnealTuning(NamedTuple):
    """What steers annealing inside subtables: by judgement, on the tables of "Tables with one hierarchy" (benchmarks/RESULTS.md)."""

    tops: int = 8  # largest sensitive cells of a subtable that may stand in the way of matching
    chunks: int = 8  # parts that the subtables are shared out in among threads
    short_line: int = 12
    """SubtableChoices up to which a whole row or column is turned at once: its imbalance keeps its size, the lines across it change."""
    moves: int = 6  # of so many moves one turns one cell, one two, one three, and the rest a line
    smaller: float = 0.01  # what the smaller side's imbalance counts: it must not hold the larger one's up, only break ties
    hot: float = 0.2  # the first temperature as a share of what a flip changes on average
    cold: float = 0.02  # the last temperature as a share of the first. Wider windows waste time


TUNING = SubtableAnnealTuning()


class SubtableChoices(NamedTuple):
    """The cells with a choice inside subtables, ordered by subtable, and the nodes they touch.

    Moving cell k's deviation by d changes the imbalance at `row[k]` by `row_turn[k] * d`, and likewise for the column.
    """

    cell: IntArray
    row: IntArray
    column: IntArray
    row_turn: FloatArray
    column_turn: FloatArray
    rise: FloatArray
    fall: FloatArray
    dearer_up: FloatArray
    start: IntArray
    nodes: IntArray
    node_start: IntArray
    side: IntArray
    price: FloatArray
    list_start: IntArray
    listed: IntArray


class AnnealingPlan(NamedTuple):
    """How to anneal: the energy, visits of each cell, the first temperature (1: from chance; less: from senses that are good already)."""

    kind: int
    sweeps: int
    heat: float
    seed: int


def choices_of(problem: ProtectionProblem, network: Network, inside: BoolArray) -> SubtableChoices:
    """Gather what annealing needs. Only cells `inside` one subtable are choices here, no totals of inner rows."""
    both = problem.can_go_up & problem.can_go_down
    tail, head = network.tail, network.head
    table = np.maximum(network.subtable[tail], network.subtable[head])
    cell = np.flatnonzero(both & inside & (table >= 0))
    cell = cell[np.argsort(table[cell], kind="stable")]
    tables = int(network.subtable.max(initial=-1)) + 1
    side = np.where(network.side < 0, 0, network.side)
    tail_first = side[tail[cell]] == 0
    row, column = np.where(tail_first, tail[cell], head[cell]), np.where(tail_first, head[cell], tail[cell])
    mirrored = np.where(side == 1, -1.0, 1.0)  # on the second side an imbalance counts with the other sign
    out = np.where(tail_first, -1.0, 1.0)
    ends = np.concatenate([row, column])
    order = np.argsort(ends, kind="stable")
    nodes = np.argsort(network.subtable[:-1], kind="stable")
    return SubtableChoices(
        cell=cell,
        row=row,
        column=column,
        row_turn=out * mirrored[row],
        column_turn=-out * mirrored[column],
        rise=problem.up.low[cell].astype(np.float64),
        fall=problem.down.high[cell].astype(np.float64),
        dearer_up=problem.weight[cell] * (np.abs(problem.up.low[cell]) - np.abs(problem.down.high[cell])),
        start=np.searchsorted(table[cell], np.arange(tables + 1)),
        nodes=nodes,
        node_start=np.searchsorted(network.subtable[:-1][nodes], np.arange(tables + 1)),
        side=side,
        price=_prices(problem, network),
        list_start=np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=network.nodes))]),
        listed=order % max(cell.size, 1),
    )


def _prices(problem: ProtectionProblem, network: Network) -> FloatArray:
    """For each node the weight of the cheapest plain cell that can absorb an imbalance there; nothing at the ground."""
    plain = ~problem.sensitive & (problem.free.low < problem.free.high)
    prices = np.full(network.nodes, np.inf)
    np.minimum.at(prices, network.tail[plain], problem.weight[plain])
    np.minimum.at(prices, network.head[plain], problem.weight[plain])
    dearest = float(prices[np.isfinite(prices)].max(initial=0.0)) or 1.0
    prices = np.where(np.isfinite(prices), prices, dearest)
    prices[network.ground] = 0.0
    return prices


def imbalance(network: Network, choices: SubtableChoices, deviation: IntArray) -> FloatArray:
    """What each node still lacks with these deviations, mirrored on the second side."""
    lack = network.supply.astype(np.float64)
    lack -= np.bincount(network.tail, weights=deviation, minlength=network.nodes)
    lack += np.bincount(network.head, weights=deviation, minlength=network.nodes)
    lack[network.ground] = 0.0
    return np.where(choices.side == 1, -lack, lack)


def anneal(choices: SubtableChoices, up: IntArray, lacks: FloatArray, tables: BoolArray, plan: AnnealingPlan) -> IntArray:
    """Annealed senses (1 up, 0 down) of the choices in these subtables, side by side; the same whatever the number of threads."""
    up, lacks = up.astype(np.int8), lacks.copy()
    work_before = np.append(0, np.cumsum(np.where(tables, np.diff(choices.start), 0)))
    cuts = np.searchsorted(work_before, np.linspace(0, work_before[-1], TUNING.chunks + 1)[1:-1])
    chunks = [(int(a), int(b)) for a, b in zip(np.append(0, cuts), np.append(cuts, tables.size), strict=True) if a < b]
    seeds = np.random.Generator(np.random.PCG64(plan.seed)).integers(2**63, size=tables.size).astype(np.uint64)

    def work(chunk: tuple[int, int]) -> None:
        _anneal_tables(choices, up, lacks, plan, seeds, tables, chunk, EXPONENTIAL)

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        list(pool.map(work, chunks))
    return up.astype(np.int64)


@njit(cache=True, nogil=True)
def _anneal_tables(c, up, lacks, plan, seeds, tables, chunk, draws):  # type: ignore[no-untyped-def]
    """Anneal those of the subtables between the chunk's ends that are wanted, each from its own seed."""
    for table in range(chunk[0], chunk[1]):
        if tables[table] and c.start[table] < c.start[table + 1]:
            _anneal_table(c, up, lacks, plan, table, seeds[table], draws)


@njit(cache=True, nogil=True)
def _flip(c, up, lacks, sums, k):  # type: ignore[no-untyped-def]
    """Turn the sense of choice k; keep imbalances and their four sums (side and direction) up to date."""
    step = (c.fall[k] - c.rise[k]) if up[k] else (c.rise[k] - c.fall[k])
    up[k] = 1 - up[k]
    for end in range(2):
        j = c.row[k] if end == 0 else c.column[k]
        change = (c.row_turn[k] if end == 0 else c.column_turn[k]) * step
        old, price, at = lacks[j], c.price[j], 2 * c.side[j]
        new = old + change
        sums[at] += price * (max(new, 0.0) - max(old, 0.0))
        sums[at + 1] += price * (max(-new, 0.0) - max(-old, 0.0))
        lacks[j] = new


@njit(cache=True, nogil=True)
def _energy(c, up, lacks, sums, kind, tops):  # type: ignore[no-untyped-def]
    """What the imbalances cost by this kind of energy."""
    rows, columns = sums[0] + sums[1], sums[2] + sums[3]
    if kind == SUM:
        return rows + columns
    if kind == LARGER:
        return max(rows, columns) + TUNING.smaller * min(rows, columns)
    matched, net_rows, net_columns = 0.0, 0.0, 0.0
    for direction in range(2):
        r, s = sums[direction], sums[2 + direction]
        most = min(r, s)
        sign = 1.0 if direction == 0 else -1.0
        for at in range(tops.size):
            k = tops[at]
            z = c.rise[k] if up[k] else c.fall[k]
            if sign * c.row_turn[k] * z > 0:
                i, j = c.row[k], c.column[k]
                own = max(sign * lacks[i], 0.0) * c.price[i] + max(sign * lacks[j], 0.0) * c.price[j]
                most = min(most, r + s - own)
        most = max(most, 0.0)
        matched += most
        net_rows += sign * (r - most)
        net_columns += sign * (s - most)
    return rows + columns - matched + max(abs(net_rows), abs(net_columns)) + TUNING.smaller * min(rows, columns)


@njit(cache=True, nogil=True)
def _tops_of(c, first, last):  # type: ignore[no-untyped-def]
    """The cells of the largest levels between first and last."""
    size = c.rise[first:last] - c.fall[first:last]
    order = np.argsort(-size, kind="mergesort")
    return first + order[: min(TUNING.tops, order.size)]


@njit(cache=True, nogil=True)
def _anneal_table(c, up, lacks, plan, table, word, draws):  # type: ignore[no-untyped-def]
    """Anneal one subtable in place; a few sweeps at no temperature end it."""
    kind = plan.kind
    first, last = c.start[table], c.start[table + 1]
    size = last - first
    sums = np.zeros(4)
    for at in range(c.node_start[table], c.node_start[table + 1]):
        j = c.nodes[at]
        sums[2 * c.side[j]] += c.price[j] * max(lacks[j], 0.0)
        sums[2 * c.side[j] + 1] += c.price[j] * max(-lacks[j], 0.0)
    tops = _tops_of(c, first, last)
    hot = 0.0
    for k in range(first, last):
        hot += (c.rise[k] - c.fall[k]) * 0.5 * (c.price[c.row[k]] + c.price[c.column[k]])
    hot = TUNING.hot * hot / size + 1e-12
    hot, cold = hot * plan.heat, hot * TUNING.cold
    energy = _energy(c, up, lacks, sums, kind, tops)
    steps = plan.sweeps * size
    temperature, factor = hot, (cold / hot) ** (1.0 / max(steps // 64, 1))
    moved = np.empty(TUNING.short_line, dtype=np.int64)
    for step in range(steps + 4 * size):
        if step % 64 == 0:
            temperature *= factor
        if step >= steps:
            temperature = 1e-9
        word += STEP
        dice = mixed(word)
        moved[0] = first + below(dice >> np.uint64(32), size)
        move = below(dice & np.uint64(0xFFFFFFFF), TUNING.moves)
        word, count = _chain(c, word, 1 + move, moved) if move < 3 else _line(c, word, moved)
        extra = 0.0
        for at in range(count):
            extra += -c.dearer_up[moved[at]] if up[moved[at]] else c.dearer_up[moved[at]]
            _flip(c, up, lacks, sums, moved[at])
        new = _energy(c, up, lacks, sums, kind, tops)
        if new - energy + extra <= temperature * draws[np.int64(mixed(~word) & np.uint64(CHANCES - 1))]:
            energy = new
        else:
            for at in range(count):
                _flip(c, up, lacks, sums, moved[at])


@njit(cache=True, nogil=True)
def _chain(c, word, wanted, moved):  # type: ignore[no-untyped-def]
    """Up to so many cells to turn: each further one shares a row or column with the one before and moves it the other way.

    Returns the word that chance goes on from, and their number.
    """
    count = 1
    word += STEP
    dice = mixed(word)
    by_row = dice & np.uint64(1) == 0
    while count < wanted:
        last = moved[count - 1]
        node = c.row[last] if by_row else c.column[last]
        size = c.list_start[node + 1] - c.list_start[node]
        if size < 2:
            return word, count
        bits = dice >> np.uint64(32) if count == 1 else (dice >> np.uint64(1)) & np.uint64(0xFFFFFFFF)
        other = c.listed[c.list_start[node] + below(bits, size)]
        if other == last or other == moved[0]:
            return word, count
        moved[count] = other
        count += 1
        by_row = not by_row
    return word, count


@njit(cache=True, nogil=True)
def _line(c, word, moved):  # type: ignore[no-untyped-def]
    """The whole row or column of the first cell, whichever chance draws, or the other if that is too long; else the cell alone."""
    word += STEP
    one, two = c.row[moved[0]], c.column[moved[0]]
    if mixed(word) & np.uint64(1) == 1:
        one, two = two, one
    for node in (one, two):
        start, stop = c.list_start[node], c.list_start[node + 1]
        if stop - start <= TUNING.short_line:
            moved[: stop - start] = c.listed[start:stop]
            return word, stop - start
    return word, 1


# --- greedy balance


def greedy_balance(choices: SubtableChoices, lacks: FloatArray, seed: int) -> IntArray:
    """Senses (1 up, 0 down) of the choices, given what each node lacks with all of them at rest; chance, by the seed, breaks ties.

    No subtable is left less balanced than with all of its choices up.
    """
    up, order = np.ones(choices.cell.size, dtype=np.int64), np.argsort(choices.fall - choices.rise, kind="stable")
    table = np.repeat(np.arange(choices.start.size - 1), np.diff(choices.start))
    in_turn = order[np.argsort(table[order], kind="stable")]
    _balance_tables(choices, up, lacks.copy(), in_turn, np.uint64(seed))
    return up


@njit(cache=True)
def _balance_tables(c, up, lacks, in_turn, word):  # type: ignore[no-untyped-def]
    """Choose the senses of each subtable in turn, in place; all up where that leaves it more balanced."""
    for table in range(c.start.size - 1):
        turn = in_turn[c.start[table] : c.start[table + 1]]
        nodes = c.nodes[c.node_start[table] : c.node_start[table + 1]]
        at_rest = lacks[nodes]
        for k in turn:
            _move(c, lacks, k, c.rise[k])
        all_up = _imbalance(c, lacks, nodes)
        lacks[nodes] = at_rest
        for k in turn:
            word += STEP
            better = _left_over(c, lacks, k, c.fall[k]) - _left_over(c, lacks, k, c.rise[k])
            up[k] = better > 0 or (better == 0 and mixed(word) & np.uint64(1) == 1)
            _move(c, lacks, k, c.rise[k] if up[k] else c.fall[k])
        if _imbalance(c, lacks, nodes) > all_up:
            up[turn] = 1


@njit(cache=True, inline="always")
def _move(c, lacks, k, amount):  # type: ignore[no-untyped-def]
    """Change the deviation of choice k."""
    lacks[c.row[k]] += c.row_turn[k] * amount
    lacks[c.column[k]] += c.column_turn[k] * amount


@njit(cache=True, inline="always")
def _left_over(c, lacks, k, amount):  # type: ignore[no-untyped-def]
    """What the row and the column of choice k would lack, at their prices, with this amount in it."""
    i, j = c.row[k], c.column[k]
    return c.price[i] * abs(lacks[i] + c.row_turn[k] * amount) + c.price[j] * abs(lacks[j] + c.column_turn[k] * amount)


@njit(cache=True)
def _imbalance(c, lacks, nodes):  # type: ignore[no-untyped-def]
    """What these nodes lack, at their prices."""
    total = 0.0
    for j in nodes:
        total += c.price[j] * abs(lacks[j])
    return total
