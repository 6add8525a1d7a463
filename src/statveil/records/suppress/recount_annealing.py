"""Good blanks under `recount` in seconds: rows choose in turn which fields to hide, and the file cools down until nobody is in danger.

The optimum under `original` is nearly always within a fraction of a percent of that under `recount`: of the many cheapest ways to hide
rare combinations, most take too many records out of others, and few do not. So rows begin with blanks that cost least. A row's answer
to what all others show has a price: its blanks, and a little for every record, its own or another's, that is left in a cell with too few.
Rows answer in an order drawn by lot, with noise in the prices (Gibbs sampling) that falls while the price of danger stays far below that
of a blank: this walks among the cheapest blanks to those that harm nobody. Then the price of danger rises, and what cannot be helped
otherwise is blanked. Cells that were rare in the original are always hidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from statveil.core.arrays import FloatArray, IntArray
from statveil.records.suppress.problem import SuppressionProblem, row_amount

Blanked = tuple[IntArray, IntArray, IntArray]
"""Rows of key, blank units and records."""


class RecountAnnealingTuning(NamedTuple):
    """Measured on a household survey of 14,827 records with the full key (benchmarks/RESULTS.md, `silc`); the clock only cuts short."""

    sweeps: int = 2_000
    """Sweeps over all rows while it cools,"""
    most_work: int = 15_000_000_000
    """or rows times tables times sweeps, if that is less."""
    danger: float = 0.1
    """Price of a record in danger while it cools, as a share of the cheapest blank."""
    warmest: float = 1.5
    """Noise in the beginning, in prices of danger,"""
    coldest: float = 0.1
    """and in the end."""
    timed: int = 4
    """Sweeps after which it is known how many the clock allows."""
    rising: int = 60
    """Sweeps in which the price of danger rises,"""
    dearest: float = 2.0
    """to so many of the cheapest blanks."""


TUNING = RecountAnnealingTuning()


class ShownCells(NamedTuple):
    """`cell[row, table]` numbers the cells of all tables together, -1 for none; `total` is what rows show in each."""

    cell: IntArray
    masks: IntArray
    threshold: IntArray
    total: IntArray
    amount: IntArray


def shown_cells(problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray, cells: Sequence[IntArray]) -> ShownCells:
    """Of rows with blanks; `cells` has the cell of each key in each table, numbered from 0, -1 for none."""
    amount = np.asarray(row_amount(problem, key, records), dtype=np.int64)
    cell = np.full((key.size, len(cells)), -1, dtype=np.int64)
    totals, size = list[IntArray](), 0
    for table, of_key in enumerate(cells):
        own, number = of_key[key], int(of_key.max(initial=-1)) + 1
        cell[:, table] = np.where(own < 0, -1, own + size)
        shown = (own >= 0) & (units & problem.table_masks[table] == 0)
        totals.append(np.zeros(number, dtype=np.int64))
        np.add.at(totals[-1], own[shown], amount[shown])
        size += number
    threshold = np.array([threshold for _, threshold in problem.coded.tables], dtype=np.int64)
    return ShownCells(cell, problem.table_masks, threshold, np.concatenate([np.zeros(0, dtype=np.int64), *totals]), amount)


class RowChoices(NamedTuple):
    """What a unit's blank costs in a record of mass 1 (below 0: no unit of its own), the rows' masses, and the sets that each must hit:
    `required[begin[row] : begin[row + 1]]`."""

    cost: FloatArray
    mass: FloatArray
    required: IntArray
    begin: IntArray


@njit(cache=True)
def _in_doubt(shown, row, mask, doubt):  # type: ignore[no-untyped-def]
    """The tables where it matters whether a row shows its cell: units, and what is in danger if it does and if it does not."""
    found, amount = 0, shown.amount[row]
    for table in range(shown.masks.size):
        cell = shown.cell[row, table]
        if cell < 0:
            continue
        others = shown.total[cell] - (0 if shown.masks[table] & mask else amount)
        if others < shown.threshold[table]:
            safe = others + amount >= shown.threshold[table]
            doubt[found, 0], doubt[found, 1], doubt[found, 2] = shown.masks[table], 0 if safe else others + amount, others
            found += 1
    return found


@njit(cache=True)
def _price_of(mask, doubt, cost, danger, heat):  # type: ignore[no-untyped-def]
    """What a mask of blanks costs: its values, the keys it leaves in danger, and the noise of the heat."""
    value, unsafe = 0.0, 0
    for unit in range(cost.size):
        if (mask >> unit) & 1:
            value += cost[unit]
    for each in range(doubt.shape[0]):
        unsafe += doubt[each, 2] if doubt[each, 0] & mask else doubt[each, 1]
    noise = heat * np.log(-np.log(1.0 - np.random.random())) if heat > 0 else 0.0
    return value + danger * unsafe + noise


@njit(cache=True)
def _hits_all(mask, required):  # type: ignore[no-untyped-def]
    """Whether the mask blanks one value at least of each that is required."""
    for each in required:  # noqa: SIM110 - compiled
        if not each & mask:
            return False
    return True


@njit(cache=True)
def _answer(mask, doubt, cost, required, danger, heat):  # type: ignore[no-untyped-def]
    """The best set of units that differs by one added, one dropped, or one for another."""
    chosen, best = mask, _price_of(mask, doubt, cost, danger, heat)
    for drop in range(-1, cost.size):
        if drop >= 0 and not (mask >> drop) & 1:
            continue
        left = mask if drop < 0 else mask & ~(1 << drop)
        for add in range(-1, cost.size):
            if add >= 0 and ((mask >> add) & 1 or cost[add] < 0):
                continue
            other = left if add < 0 else left | (1 << add)
            if other != mask and (drop < 0 or _hits_all(other, required)):
                price = _price_of(other, doubt, cost, danger, heat)
                if price < best:
                    chosen, best = other, price
    return chosen


@njit(cache=True)
def _sweep(order, danger, heat, shown, choices, units):  # type: ignore[no-untyped-def]
    """Rows answer in this order; how many changed."""
    doubt, changed = np.empty((shown.masks.size, 3), np.int64), 0
    for row in order:
        mask = units[row]
        number = _in_doubt(shown, row, mask, doubt)
        if mask == 0 and number == 0:
            continue
        required, mass = choices.required[choices.begin[row] : choices.begin[row + 1]], choices.mass[row]
        chosen = _answer(mask, doubt[:number], choices.cost, required, danger / mass, heat / mass)
        if chosen == mask:
            continue
        units[row] = chosen
        changed += 1
        for table in range(shown.masks.size):
            if shown.cell[row, table] >= 0:
                before, after = shown.masks[table] & mask == 0, shown.masks[table] & chosen == 0
                shown.total[shown.cell[row, table]] += (int(after) - int(before)) * shown.amount[row]
    return changed


@njit(cache=True)
def _sow(seed):  # type: ignore[no-untyped-def]
    """Set the compiled code's own generator, which Python's seed does not reach."""
    np.random.seed(seed)


def _sets_of(required: Sequence[Sequence[int]], kind: IntArray) -> tuple[IntArray, IntArray]:
    """The sets of the kinds of these rows one after the other, and where those of each row begin."""
    every = np.array([mask for each in required for mask in each], dtype=np.int64)
    size = np.array([len(each) for each in required], dtype=np.int64)
    first = np.cumsum(size) - size
    begin = np.concatenate([[0], np.cumsum(size[kind])]).astype(np.int64)
    place = np.arange(begin[-1]) + np.repeat(first[kind] - begin[:-1], size[kind])
    return every[place], begin


class RecountAnnealing:
    """Rows with blanks, each with the sets that it must hit. Rows too small to be safe alone are taken record by record."""

    def __init__(
        self, problem: SuppressionProblem, rows: Blanked, required: Sequence[Sequence[int]], kind: IntArray, cells: Sequence[IntArray]
    ) -> None:
        """`required[kind[key]]` are the sets of units, unsafe in the original, that the records of a key must hit; `cells`: see above."""
        key, units, records = rows
        small = row_amount(problem, key, records) < max((threshold for _, threshold in problem.coded.tables), default=0)
        times = np.where(small, records, 1)
        self.problem, self.key, self.units = problem, np.repeat(key, times), np.repeat(units, times)
        self.records = np.repeat(np.where(small, 1, records), times)
        self.shown = shown_cells(problem, self.key, self.units, self.records, cells)
        sets, begin = _sets_of(required, kind[self.key])
        cost = problem.units_cost(np.int64(1) << np.arange(problem.unit_of.size, dtype=np.int64))
        self.choices = RowChoices(
            cost=np.where(problem.unit_mask > 0, cost, -1.0),
            mass=np.maximum(problem.record_mass[self.key] * self.records, 1e-9),
            required=sets,
            begin=begin,
        )
        self.least = float(cost[problem.unit_mask > 0].min() * np.median(problem.record_mass)) / problem.coded.unit

    def cool(self, deadline: float, *, seed: int = 0) -> None:
        """Walk among the cheapest blanks; faster to the end where the clock does not allow all sweeps."""
        sweeps = min(TUNING.sweeps, TUNING.most_work // max(1, self.shown.cell.size))
        rng = np.random.Generator(np.random.PCG64(seed))
        _sow(seed)
        danger, began, sweep, cooled = TUNING.danger * self.least, time.monotonic(), 0, 0.0
        while cooled < 1 and sweep < sweeps and time.monotonic() < deadline:
            heat = TUNING.warmest * (TUNING.coldest / TUNING.warmest) ** cooled
            self._turn(rng, danger, heat * danger * self.problem.coded.unit)
            sweep, now = sweep + 1, time.monotonic()
            left = (deadline - now) * sweep / (now - began)  # sweeps
            cooled += (1 - cooled) / max(1.0, min(sweeps - sweep, left)) if sweep > TUNING.timed else 1 / sweeps

    def settle(self, stopped: Callable[[], bool], *, seed: int = 0) -> Blanked:
        """Make danger dearer and dearer; what is in danger still is left to rounds of more blanks."""
        rng = np.random.Generator(np.random.PCG64(seed))
        for sweep in range(TUNING.rising):
            share = TUNING.danger * (TUNING.dearest / TUNING.danger) ** (sweep / (TUNING.rising - 1))
            if not self._turn(rng, share * self.least, 0.0) or stopped():
                break
        return self.key, self.units, self.records

    def _turn(self, rng: np.random.Generator, danger: float, heat: float) -> int:
        return int(_sweep(rng.permutation(self.key.size), danger, heat, self.shown, self.choices, self.units))
