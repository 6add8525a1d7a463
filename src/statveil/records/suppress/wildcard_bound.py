"""A lower bound on the cost of rule `wildcard`, for files of any size.

A combination that lacks records is either shown by nobody in the end, so that each of its records blanks one of its fields, or matched by
as many records from outside as it lacks, each of which blanks the fields in which it differs. Put a price on every lacking record of some
rare combinations. A record that blanks a set of fields earns the price of each combination that it comes to match, and of its own
combinations that it hides their whole price, shared by all who show them. If nobody can earn more than his blanks cost, then all prices
together are no more than the cost of any safe file: it is the dual of the covering program, and needs neither all combinations nor a
solver's word. What a key earns by all sets of fields is summed up field by field (a zeta transform), so that every key of the file is
looked at with every set, exactly, in whole numbers.

Prices come from a linear program whose rows, a key and a set of fields each, are generated. Its optima lie in corners where others earn
far too much, so the next rows are looked for half way between its optimum and the best prices so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray, IntArray
from statveil.records.suppress.problem import SuppressionProblem
from statveil.solve.processes import run_isolated


class WildcardBoundTuning(NamedTuple):
    """Sizes up to which prices are looked for, all by judgement; none depends on the clock."""

    most_units: int = 12
    """Fields, or groups of linked ones, whose sets are all looked at."""
    most_priced: int = 400
    """Combinations with a price."""
    most_cells: int = 20_000_000
    """Keys times tables in which rare combinations are looked for, largest tables first."""
    most_work: int = 60_000_000_000
    """Keys times (sets of fields and combinations) times rounds."""
    rounds: int = 80
    """Rounds of new rows."""
    new_rows: int = 100
    """Rows that enter in one round."""


TUNING = WildcardBoundTuning()
EXACT = 2**40
"""The dearest record costs so much when prices are checked in whole numbers."""


class Covering(NamedTuple):
    """Rare combinations with what they lack, and what records can do about them. Sets of units are bits, in the order of `unit_cost`."""

    differ: IntArray
    """By key and combination: units to blank in order to match; 0 where that changes nothing, -1 for those who show it."""
    table: IntArray
    lack: IntArray
    shown: IntArray
    """Records that show each combination."""
    unit_cost: FloatArray
    """By key and unit: what the unit's blank costs in one record."""


@njit(cache=True)
def _earnings(differ, table, price, own, sums, hidden):  # type: ignore[no-untyped-def]
    """`sums[set]`: what one record earns by blanking a set of units; `own` is the part of a combination's price that hiding it pays."""
    full = sums.size - 1
    sums[:] = 0
    hidden[:] = 0
    shows = False
    for cell in range(price.size):
        if differ[cell] > 0:
            sums[differ[cell]] += price[cell]
        elif differ[cell] < 0:
            sums[0] += own[cell]
            hidden[full & ~table[cell]] += own[cell]  # still shown under every set that leaves the table alone
            shows = True
    bit = 1
    while bit <= full:
        for each in range(full + 1):
            if each & bit:
                sums[each] += sums[each ^ bit]
                if shows:
                    hidden[each ^ bit] += hidden[each]
        bit <<= 1
    if shows:
        for each in range(full + 1):
            sums[each] -= hidden[each]


@njit(cache=True)
def _most_earned(differ, table, unit_cost, price, own, share, chosen):  # type: ignore[no-untyped-def]
    """For each key the greatest share of its cost that a set of blanks earns, and that set; the most that any earns beyond its cost."""
    units = unit_cost.shape[1]
    sums, hidden, cost = np.zeros(1 << units, price.dtype), np.zeros(1 << units, price.dtype), np.zeros(1 << units, unit_cost.dtype)
    beyond = price.dtype.type(0)
    for key in range(differ.shape[0]):
        for unit in range(units):
            for each in range(1 << unit):
                cost[each | 1 << unit] = cost[each] + unit_cost[key, unit]
        _earnings(differ[key], table, price, own, sums, hidden)
        share[key], chosen[key] = 0.0, 0
        for each in range(1, 1 << units):
            if sums[each] > 0:
                beyond = max(beyond, sums[each] - cost[each])
                if cost[each] > 0 and sums[each] > share[key] * cost[each]:
                    share[key], chosen[key] = sums[each] / cost[each], each
    return beyond


def wildcard_bound(problem: SuppressionProblem, *, worth: float, seconds: float, ties: bool = False) -> float:
    """A bound on the cost of any safe file, 0 where there is none; no more is tried once it reaches `worth`.

    With `ties`, on cost and second cost together: where that is what the cheapest file found has, none of its cost has a lower second cost.
    """
    deadline, covering = time.monotonic() + seconds, covering_of(problem)
    if covering is None or time.monotonic() >= deadline:
        return 0.0
    if ties:
        covering = covering._replace(unit_cost=covering.unit_cost + _second_costs(problem, covering))
    enough = worth - 1 + 1e-3 if _whole(covering) else worth
    heard: list[FloatArray] = []
    left = deadline - time.monotonic()
    run_isolated([(_search, (covering, enough, left))], seconds=left, on_message=heard.append)
    return max((proved(covering, prices) for prices in heard[-1:]), default=0.0)


def _whole(covering: Covering) -> bool:
    return bool(np.all(covering.unit_cost == np.round(covering.unit_cost)))


def proved(covering: Covering, prices: FloatArray) -> float:
    """The bound that prices give, worked out in whole numbers; 0 if somebody earns too much. Whole costs have a whole optimum."""
    dearest = float(covering.unit_cost.sum(axis=1).max())
    scale = 2.0 ** np.floor(np.log2(EXACT / dearest))
    cost = np.floor(covering.unit_cost * scale).astype(np.int64)
    each = np.floor(np.maximum(prices, 0.0) * (1 - 1e-9) * scale / covering.shown).astype(np.int64)
    price, own = each * covering.shown, each * covering.lack
    share, chosen = np.zeros(len(cost)), np.zeros(len(cost), dtype=np.int64)
    if _most_earned(covering.differ, covering.table, cost, price, own, share, chosen) > 0:
        return 0.0
    total = int((price * covering.lack).sum())
    if _whole(covering) and scale >= 1:
        return float(-(-total // int(scale)))
    return total / float(scale)


def covering_of(problem: SuppressionProblem) -> Covering | None:
    """Some of the file's rare combinations, those that lack most first, chosen among equals by lot; None where there are none."""
    coded = problem.coded
    units = [unit for unit, fields in enumerate(problem.unit_mask) if fields]
    codes = problem.written_codes(np.arange(coded.size))
    if len(units) > TUNING.most_units:
        return None
    table, first, lack = _rare(problem)
    rng = np.random.Generator(np.random.PCG64(0))
    order = np.lexsort((rng.permutation(lack.size), -lack))[: 4 * TUNING.most_priced]
    differ, shown, kept = list[IntArray](), list[int](), list[int]()
    for cell in order.tolist():
        places = coded.tables[table[cell]][0]
        apart = [(codes[place] >= 0) & (codes[place] != codes[place, first[cell]]) for place in places]
        known = np.all(codes[list(places)] >= 0, axis=0)
        row = np.zeros(coded.size, dtype=np.int64)
        for place, other in zip(places, apart, strict=True):
            row |= np.where(other, 1 << units.index(int(problem.unit_of[place])), 0)
        lack[cell] = coded.tables[table[cell]][1] - int(coded.count[row == 0].sum())  # records that do not know a field match as well
        if lack[cell] > 0:
            shown.append(int(coded.count[known & (row == 0)].sum()))
            differ.append(np.where(known & (row == 0), -1, row).astype(np.int16))
            kept.append(cell)
        if len(kept) == TUNING.most_priced:
            break
    if not kept:
        return None
    masks = [sum(1 << place for place, unit in enumerate(units) if problem.table_masks[table[cell]] >> unit & 1) for cell in kept]
    return Covering(
        np.stack(differ, axis=1), np.array(masks, dtype=np.int64), lack[kept], np.array(shown), _unit_costs(problem, codes, units)
    )


def _unit_costs(problem: SuppressionProblem, codes: IntArray, units: list[int]) -> FloatArray:
    """Unknown fields cost nothing: they are as good as blank."""
    known = (codes >= 0) * problem.field_cost[:, None]
    costs = [known[problem.unit_of == unit].sum(axis=0) for unit in units]
    return np.ascontiguousarray(np.stack(costs, axis=1) * problem.record_mass[:, None])


def _second_costs(problem: SuppressionProblem, covering: Covering) -> FloatArray:
    units = [unit for unit, fields in enumerate(problem.unit_mask) if fields]
    ranks = problem.tie_cost(np.int64(1) << np.array(units, dtype=np.int64))
    return np.asarray((covering.unit_cost > 0) * ranks * problem.record_mass[:, None])


def _rare(problem: SuppressionProblem) -> tuple[IntArray, IntArray, IntArray]:
    """Rare cells: their table, a key that shows each, and what they lack if nobody's value were unknown."""
    coded, every = problem.coded, list[tuple[IntArray, IntArray, IntArray]]()
    largest = sorted(range(len(coded.tables)), key=lambda table: -len(coded.tables[table][0]))
    for table in largest[: max(1, TUNING.most_cells // coded.size)]:
        places, threshold = coded.tables[table]
        cells, first, inverse = np.unique(problem.cells(places), return_index=True, return_inverse=True)
        total = np.bincount(inverse.ravel(), weights=coded.count)
        short = np.flatnonzero((total < threshold) & (cells >= 0))
        every.append((np.full(short.size, table), first[short], threshold - total[short].astype(np.int64)))
    tables, keys, lacks = (np.concatenate(part).astype(np.int64) for part in zip(*every, strict=True))
    return tables, keys, lacks


def _search(covering: Covering, enough: float, seconds: float, send: Callable[[Any], None]) -> None:
    """Send prices under which nobody earns too much, each time better ones are found, until they add up to more than enough."""
    from statveil.solve.highs import PackingProgram

    deadline = time.monotonic() + seconds
    keys, cells = covering.differ.shape
    rounds = min(TUNING.rounds, int(TUNING.most_work // (keys * (cells + covering.unit_cost.shape[1] * 2 ** covering.unit_cost.shape[1]))))
    program = PackingProgram(covering.lack.astype(np.float64), upper=float(covering.unit_cost.sum(axis=1).max()))
    ratio = covering.lack / covering.shown
    share, chosen = np.zeros(keys), np.zeros(keys, dtype=np.int64)
    inside, best, prices, seen = np.ones(cells), 0.0, np.ones(cells), set[bytes]()
    for _ in range(rounds):
        _most_earned(covering.differ, covering.table, covering.unit_cost, prices, prices * ratio, share, chosen)
        most = float(share.max())
        value = float(covering.lack @ prices) / most
        if value > best:
            inside, best = prices / most, value
            send(inside)
        if best >= enough or time.monotonic() > deadline:
            return
        rows = _new_rows(covering, ratio, share, chosen, seen)
        found = program.with_rows(*rows, seconds=deadline - time.monotonic())
        if found is None or float(covering.lack @ found) <= best * (1 + 1e-6):
            return
        prices = (found + inside) / 2 if rows[1].size else found


def _new_rows(
    covering: Covering, ratio: FloatArray, share: FloatArray, chosen: IntArray, seen: set[bytes]
) -> tuple[csr_matrix, FloatArray]:
    """What the keys that earn most beyond their cost earn from each combination, and what it costs them; never the same row twice."""
    rows, costs = list[FloatArray](), list[float]()
    for key in np.argsort(-share, kind="stable"):
        if share[key] <= 1 + 1e-7 or len(rows) == TUNING.new_rows:
            break
        differ, blank = covering.differ[key], int(chosen[key])
        helped = (differ > 0) & (differ & ~np.int64(blank) == 0)
        row = np.where(differ < 0, np.where(covering.table & blank, ratio, 0.0), helped)
        cost = float(sum(covering.unit_cost[key, unit] for unit in range(blank.bit_length()) if blank >> unit & 1))
        told = row.tobytes() + np.float64(cost).tobytes()
        if told not in seen:
            seen.add(told)
            rows.append(row)
            costs.append(cost)
    return csr_matrix(np.array(rows).reshape(len(rows), ratio.size)), np.array(costs)
