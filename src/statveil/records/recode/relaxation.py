"""S4's relaxed recoding problem: dual weights (eq. 4), the relaxed problem (5), its Lagrangean relaxation (7), and dual cuts.

For each key a feasible dual of its suppression problem gives every unsafe combination a weight; the weights of the combinations that a
recoding leaves unsafe bound the cost of its blanks from below. So the relaxed problem is a sum of small tables, one for each combination
of fields, indexed by the levels of its fields alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import SolverFailed
from statveil.records.frequencies import Words, distinct_patterns
from statveil.records.recode.evaluate import Evaluator, Levels
from statveil.records.suppress.covers import maximal_sets
from statveil.records.suppress.integer_programs import solve_linear
from statveil.solve.model import LinearModel


class RelaxationTuning(NamedTuple):
    most_enumerated: int = 3_000_000
    """Recodings up to which all are priced at once: by judgement."""
    subgradient_steps: int = 300
    """By judgement."""
    halve_after: int = 15
    """Steps without a better bound after which the step is halved: by judgement."""
    most_cuts: int = 40
    """Rounds of dual cuts; 3 to 21 were needed (benchmarks/RESULTS.md, `adult`)."""


TUNING = RelaxationTuning()
SHRINK = 1 - 1e-9
"""Weights are scaled by this, so that what the solver's rounding leaves cannot break the constraints of (4)."""


def dual_weights(evaluator: Evaluator, levels: Levels, *, seconds: float) -> tuple[Words, FloatArray, IntArray]:
    """Eq. 4 with z taken at these levels: distinct patterns, weight of each table in each pattern, and the pattern of each key.

    One linear program for all patterns. Only maximal unsafe combinations get weight: they are the last that a recoding makes safe.
    """
    problem = evaluator.problem
    distinct, inverse = distinct_patterns(evaluator.patterns(levels))
    masks = problem.table_masks
    rows, columns, owners, widths = list[int](), list[int](), list[tuple[int, int]](), list[int]()
    first_table: dict[int, int] = {}
    for table, mask in enumerate(masks):
        first_table.setdefault(int(mask), table)
    units = masks.size and int(max(masks)).bit_length()
    for pattern, words in enumerate(distinct):
        for mask in maximal_sets(words, masks):
            column = len(owners)
            owners.append((pattern, first_table[mask]))
            for unit in range(units):
                if mask >> unit & 1:
                    rows.append(pattern * units + unit)
                    columns.append(column)
            widths.append(mask.bit_count())
    weight = np.zeros((len(distinct), masks.size))
    if owners:
        capacity = problem.mask_cost(problem.unit_mask[:units])
        value = _packing(rows, columns, len(owners), np.tile(capacity, len(distinct)), seconds)
        for (pattern, table), each in zip(owners, value, strict=True):
            weight[pattern, table] = each
    return distinct, weight, inverse


def _packing(rows: Sequence[int], columns: Sequence[int], size: int, capacity: FloatArray, seconds: float) -> FloatArray:
    """max sum pi, A pi <= capacity; the answer is scaled until it holds."""
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(capacity.size, size))
    model = LinearModel(
        cost=-np.ones(size),
        matrix=matrix,
        row_lower=np.full(capacity.size, -np.inf),
        row_upper=capacity,
        lower=np.zeros(size),
        upper=np.full(size, np.inf),
    )
    found = solve_linear(model, seconds=seconds).x
    if found is None:
        raise SolverFailed("The linear program of the dual weights was not solved in time.", hint="Give more seconds.")
    value = np.maximum(found, 0.0)
    over = float(np.max((matrix @ value) / np.maximum(capacity, 1e-300), initial=0.0))
    return np.asarray(value * (SHRINK / max(1.0, over)))


class RelaxedProblem(NamedTuple):
    """The relaxed problem (5): `tables[t]` has one axis for each field of table t and holds the weight left unsafe."""

    places: list[tuple[int, ...]]
    tables: list[FloatArray]
    costs: list[FloatArray]

    def price(self, levels: Levels) -> float:
        recoding = sum(costs[level] for costs, level in zip(self.costs, levels, strict=True))
        return float(recoding + sum(table[tuple(levels[f] for f in fs)] for fs, table in zip(self.places, self.tables, strict=True)))

    def everywhere(self) -> FloatArray | None:
        """The relaxed cost of every recoding, one axis a field; None where there are too many."""
        shape = tuple(costs.size for costs in self.costs)
        if math.prod(shape) > TUNING.most_enumerated:
            return None
        found = np.zeros(shape)
        for field, costs in enumerate(self.costs):
            found += _spread(costs, (field,), len(shape))
        for places, table in zip(self.places, self.tables, strict=True):
            found += _spread(table, places, len(shape))
        return found


def _spread(table: FloatArray, places: tuple[int, ...], fields: int) -> FloatArray:
    shape = [1] * fields
    for axis, place in enumerate(places):
        shape[place] = table.shape[axis]
    return table.reshape(shape)


def relaxed_problem(evaluator: Evaluator, levels: Levels, *, seconds: float) -> RelaxedProblem:
    """Eq. 5 with the dual weights found at these levels."""
    _, weight, inverse = dual_weights(evaluator, levels, seconds=seconds)
    places, tables = list[tuple[int, ...]](), list[FloatArray]()
    for number, (fields, _) in enumerate(evaluator.coded.tables):
        if not weight[:, number].any():
            continue
        mass = weight[inverse, number] * evaluator.coded.mass
        shape = tuple(evaluator.menu[field] for field in fields)
        table = np.zeros(shape)
        for chosen in product(*(range(size) for size in shape)):
            every = list(levels)
            for field, level in zip(fields, chosen, strict=True):
                every[field] = level
            table[chosen] = mass[evaluator.flags(number, tuple(every))].sum()
        places.append(fields)
        tables.append(table)
    return RelaxedProblem(places, tables, evaluator.costs)


@dataclass(frozen=True, kw_only=True)
class Lagrangean:
    """The best bound L found on (5), the best consistent recoding met on the way, and how many steps it took."""

    bound: float
    levels: Levels
    steps: int


def lagrangean(relaxed: RelaxedProblem, menu: tuple[int, ...], *, upper: float, steps: int = TUNING.subgradient_steps) -> Lagrangean:
    """S4 s.3.3: each table chooses its own levels; prices on disagreement are moved along the subgradient (Polyak's step)."""
    users = [[t for t, fields in enumerate(relaxed.places) if field in fields] for field in range(len(menu))]
    free = sum(float(costs.min()) for costs, tables in zip(relaxed.costs, users, strict=True) if not tables)
    prices = {(t, field): np.zeros(menu[field]) for t, fields in enumerate(relaxed.places) for field in fields}
    best, found, best_value, theta, idle = -math.inf, (0,) * len(menu), math.inf, 1.0, 0
    done = 0
    while done < steps:
        done += 1
        value, chosen = free, dict[tuple[int, int], int]()
        for t, (fields, table) in enumerate(zip(relaxed.places, relaxed.tables, strict=True)):
            priced = table
            for field in fields:
                share = relaxed.costs[field] / len(users[field]) + prices[t, field]
                priced = priced + _spread(share, (fields.index(field),), len(fields))
            place = np.unravel_index(int(np.argmin(priced)), priced.shape)
            value += float(priced[place])
            chosen.update({(t, field): int(level) for field, level in zip(fields, place, strict=True)})
        idle = 0 if value > best + 1e-9 else idle + 1
        best = max(best, value)
        votes = _votes(menu, users, chosen)
        agreed = tuple(
            int(np.argmax(vote)) if vote.any() else int(np.argmin(costs)) for vote, costs in zip(votes, relaxed.costs, strict=True)
        )
        if relaxed.price(agreed) < best_value:
            best_value, found = relaxed.price(agreed), agreed
        norm = _move(prices, users, votes, chosen, 0.0)
        if norm == 0 or best >= min(upper, best_value) - 1e-9:
            break
        if idle >= TUNING.halve_after:
            theta, idle = theta / 2, 0
        _move(prices, users, votes, chosen, theta * max(min(upper, best_value) - value, 1e-12) / norm)
    return Lagrangean(bound=min(best, best_value), levels=found, steps=done)


def _votes(menu: tuple[int, ...], users: list[list[int]], chosen: dict[tuple[int, int], int]) -> list[FloatArray]:
    votes = [np.zeros(size) for size in menu]
    for field, tables in enumerate(users):
        for t in tables:
            votes[field][chosen[t, field]] += 1
    return votes


def _move(
    prices: dict[tuple[int, int], FloatArray],
    users: list[list[int]],
    votes: list[FloatArray],
    chosen: dict[tuple[int, int], int],
    step: float,
) -> float:
    """Move the prices along the subgradient y^t - mean of y; its squared length."""
    norm = 0.0
    for field, tables in enumerate(users):
        for t in tables:
            gradient = -votes[field] / len(tables)
            gradient[chosen[t, field]] += 1
            norm += float((gradient**2).sum())
            if step:
                prices[t, field] += step * gradient
    return norm


@dataclass(frozen=True, kw_only=True)
class DualCuts:
    """Repeated dual weights (s.3.2) as cuts: the bound of each round, and the best recoding met."""

    bounds: tuple[float, ...]
    levels: Levels
    value: float


def dual_cuts(evaluator: Evaluator, *, seconds: float, stopped: Callable[[], bool], rounds: int = TUNING.most_cuts) -> DualCuts | None:
    """Solve (5), price the recoding it gives, take new weights there, and bound by the largest of all cuts so far (Benders).

    None where the recodings are too many to list.
    """
    levels: Levels = (0,) * len(evaluator.menu)
    highest: FloatArray | None = None
    best, value, bounds, tried = levels, evaluator.cost(levels), list[float](), set[Levels]()
    while len(bounds) < rounds and not stopped():
        cut = relaxed_problem(evaluator, levels, seconds=seconds).everywhere()
        if cut is None:
            return None
        highest = cut if highest is None else np.maximum(highest, cut)
        place = np.unravel_index(int(np.argmin(highest)), highest.shape)
        bounds.append(min(float(highest[place]), value))
        levels = tuple(int(level) for level in place)
        price = evaluator.cost(levels)
        if price < value:
            best, value = levels, price
        if levels in tried or bounds[-1] >= value - 1e-9:
            break
        tried.add(levels)
    return DualCuts(bounds=tuple(bounds), levels=best, value=value)
