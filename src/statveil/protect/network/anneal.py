"""Senses of the cells inside subtables, annealed on what they leave to be absorbed (docs/science.md, section 4, "Anneal", "Surrogate 2").

With every sensitive cell at its level, a relation is left with an imbalance. Inside a subtable a row's imbalance and a column's of the
same direction are absorbed together by the cell where they cross. Three energies price that, one subtable at a time:
- `SUM`: every imbalance at the price of the cheapest cell that can absorb it (uneven weights);
- `LARGER`: the larger of the rows' and the columns' total, and a little of the smaller;
- `MATCHED`: rows matched with columns, except that a large sensitive cell, which may not move back, cannot match its own row with its
  own column; what is left unmatched must leave the subtable.
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
TOPS = 8
"""Largest sensitive cells of a subtable that may stand in the way of matching."""
CHUNKS = 8
SHORT_LINE = 12
"""Choices up to which a whole row or column is turned at once: its imbalance keeps its size, and only the lines across it change."""
MOVES = 6
"""Of so many moves one turns one cell, one two, one three, and the rest a line."""
SMALLER = 0.01
"""What the smaller side's imbalance counts: it must not hold the larger one's up, only break ties."""
HOT, COLD = 0.2, 0.02
"""The first temperature as a share of what a flip changes on average, and the last as a share of the first. Wider windows waste time."""


class Choices(NamedTuple):
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


class Plan(NamedTuple):
    """How to anneal: the energy, visits of each cell, the first temperature (1: from chance; less: from senses that are good already)."""

    kind: int
    sweeps: int
    heat: float
    seed: int


def choices_of(problem: ProtectionProblem, network: Network, inside: BoolArray) -> Choices:
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
    return Choices(
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


def imbalance(network: Network, choices: Choices, deviation: IntArray) -> FloatArray:
    """What each node still lacks with these deviations, mirrored on the second side."""
    lack = network.supply.astype(np.float64)
    lack -= np.bincount(network.tail, weights=deviation, minlength=network.nodes)
    lack += np.bincount(network.head, weights=deviation, minlength=network.nodes)
    lack[network.ground] = 0.0
    return np.where(choices.side == 1, -lack, lack)


def anneal(choices: Choices, up: IntArray, lacks: FloatArray, tables: BoolArray, plan: Plan) -> IntArray:
    """Annealed senses (1 up, 0 down) of the choices in these subtables, side by side; the same whatever the number of threads."""
    up, lacks = up.astype(np.int8), lacks.copy()
    work_before = np.append(0, np.cumsum(np.where(tables, np.diff(choices.start), 0)))
    cuts = np.searchsorted(work_before, np.linspace(0, work_before[-1], CHUNKS + 1)[1:-1])
    chunks = [(int(a), int(b)) for a, b in zip(np.append(0, cuts), np.append(cuts, tables.size), strict=True) if a < b]
    seeds = np.random.Generator(np.random.PCG64(plan.seed)).integers(2**63, size=tables.size).astype(np.uint64)

    def work(chunk: tuple[int, int]) -> None:
        _anneal_tables(choices, up, lacks, plan, seeds, tables, chunk[0], chunk[1], EXPONENTIAL)

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        list(pool.map(work, chunks))
    return up.astype(np.int64)


@njit(cache=True, nogil=True)
def _anneal_tables(c, up, lacks, plan, seeds, tables, first, last, draws):  # type: ignore[no-untyped-def]
    for table in range(first, last):
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
    rows, columns = sums[0] + sums[1], sums[2] + sums[3]
    if kind == SUM:
        return rows + columns
    if kind == LARGER:
        return max(rows, columns) + SMALLER * min(rows, columns)
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
    return rows + columns - matched + max(abs(net_rows), abs(net_columns)) + SMALLER * min(rows, columns)


@njit(cache=True, nogil=True)
def _tops_of(c, first, last):  # type: ignore[no-untyped-def]
    """The cells of the largest levels between first and last."""
    size = c.rise[first:last] - c.fall[first:last]
    order = np.argsort(-size, kind="mergesort")
    return first + order[: min(TOPS, order.size)]


@njit(cache=True, nogil=True)
def _anneal_table(c, up, lacks, plan, table, word, draws):  # type: ignore[no-untyped-def]
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
    hot = HOT * hot / size + 1e-12
    hot, cold = hot * plan.heat, hot * COLD
    energy = _energy(c, up, lacks, sums, kind, tops)
    steps = plan.sweeps * size
    temperature, factor = hot, (cold / hot) ** (1.0 / max(steps // 64, 1))
    moved = np.empty(SHORT_LINE, dtype=np.int64)
    for step in range(steps + 4 * size):
        if step % 64 == 0:
            temperature *= factor
        if step >= steps:
            temperature = 1e-9
        word += STEP
        dice = mixed(word)
        moved[0] = first + below(dice >> np.uint64(32), size)
        move = below(dice & np.uint64(0xFFFFFFFF), MOVES)
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
        if stop - start <= SHORT_LINE:
            moved[: stop - start] = c.listed[start:stop]
            return word, stop - start
    return word, 1
