"""The search on a full table, as far as it needs nothing but tensors: senses, amounts, whole amounts, and the lower bound.

A table is there from the first moment (every sensitive cell up); then senses are balanced, amounts follow from prices, whole amounts from
those, and the bound has what is left of the time. Everything found here is a claim: the caller checks the table and the multipliers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.protect.dense.amounts import AmountProgram
from statveil.protect.dense.balance import SenseBalance
from statveil.protect.dense.covers import line_covers
from statveil.protect.dense.margins import with_margins
from statveil.protect.dense.multipliers import WholeMultipliers, scale_for, whole_multipliers
from statveil.protect.dense.polygon import PolygonBound
from statveil.protect.dense.whole import WholeAmounts
from statveil.solve.tensors import Tensor, Tensors


class SearchTuning(NamedTuple):
    """How the time is divided, in shares of all of it, and how far each part goes: by judgement."""

    tries: int = 8  # of senses
    sweeps: int = 800  # of each
    senses_until: float = 0.4
    amounts_until: float = 0.5
    whole_until: float = 0.6
    bound_until: float = 0.95  # multipliers are written as whole numbers in the rest
    rough_gap: float = 1e-3  # up to which amounts are worked out to compare senses
    amount_gap: float = 1e-4
    most_amount_steps: int = 20_000
    most_bound_steps: int = 20_000
    no_end: float = 1e9  # in units of the median level, where a range has no end


TUNING = SearchTuning()


@dataclass(frozen=True, kw_only=True)
class DenseTable:
    """A full table as tensors of its inner cells, but for the weights, which are of all cells. Amounts are whole deviations.

    low, high: what bounds allow. up, down: the least moves of sensitive cells, both zero or more; can_rise, can_fall: whether they may.
    exact: sensitive cells move by just that.
    """

    weight: FloatArray
    low: IntArray
    high: IntArray
    sensitive: BoolArray
    up: IntArray
    down: IntArray
    can_rise: BoolArray
    can_fall: BoolArray
    exact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.low.shape

    def ranges(self, senses: IntArray) -> tuple[IntArray, IntArray]:
        """From where to where each cell may move under these senses."""
        low, high = np.where(senses > 0, self.up, self.low), np.where(senses < 0, -self.down, self.high)
        if self.exact:
            low, high = np.where(senses < 0, -self.down, low), np.where(senses > 0, self.up, high)
        return low, high


class Stage(NamedTuple):
    """What a part of the search brought: seconds since it began, the cost of the best table, and what bounds it."""

    name: str
    seconds: float
    cost: float
    program: float
    bound: float


class DenseSearch:
    """The search, step by step; `found` holds the best whole deviations of the inner cells."""

    def __init__(self, on: Tensors, table: DenseTable, *, seconds: float, say: Callable[[Stage], None]) -> None:
        self._on, self._table, self._seconds, self._say = on, table, seconds, say
        self._began = time.monotonic()
        levels = np.maximum(table.up, table.down)[table.sensitive]
        self._unit = max(1.0, float(np.median(levels))) if levels.size else 1.0
        self._price = float(np.median(table.weight))
        self._weight = on.put(table.weight / self._price, "float")
        self.senses = np.where(table.sensitive, np.where(table.can_rise, 1, -1), 0)
        self._whole = WholeAmounts(on, on.put(table.weight, "double"))
        self.found: IntArray = np.where(self.senses > 0, table.up, np.where(self.senses < 0, -table.down, 0))
        self.cost = float((np.abs(np.asarray(with_margins(Tensors(0), self.found))) * table.weight).sum())
        self.program, self.bound = 0.0, float((self._least() * self._inner_weight()).sum())
        self.multipliers: WholeMultipliers | None = None

    def run(self, *, tries: int, sweeps: int) -> None:
        """All parts, one after the other, as far as the time goes."""
        self._tell("first table")
        self.senses_and_amounts(tries, sweeps)
        self.make_whole()
        self.raise_bound()

    def _tell(self, name: str) -> None:
        self._on.finish()
        self._say(Stage(name, time.monotonic() - self._began, self.cost, self.program, self.bound))

    def _after(self, share: float) -> Callable[[], bool]:
        end = self._began + share * self._seconds
        return lambda: time.monotonic() >= end

    def _inner_weight(self) -> FloatArray:
        return self._table.weight[tuple(slice(0, size) for size in self._table.shape)]

    def _least(self) -> IntArray:
        table = self._table
        up = np.where(table.can_rise, table.up, table.down)
        return np.where(table.sensitive, np.minimum(up, np.where(table.can_fall, table.down, up)), 0)

    def senses_and_amounts(self, tries: int, sweeps: int) -> None:
        """Senses that leave the lines balanced as far as possible, and the least amounts under them. Many are balanced alike and cost
        differently: several are tried, and the cheapest is worked out.
        """
        table, on = self._table, self._on
        free, units = table.can_rise & table.can_fall, (table.up / self._unit, table.down / self._unit)
        balance = SenseBalance(on, *units, free, self._line_prices())
        program: AmountProgram | None = None
        start, best = on.put(self.senses, "int"), math.inf
        for turn in range(tries):
            balance.begin(start)
            balance.anneal(sweeps, stop=self._after(TUNING.senses_until))
            senses = on.fetch(balance.senses(start))
            low, high = self._float_ranges(senses)
            program = AmountProgram(on, self._weight, low, high) if program is None else program
            program.begin(low, high)
            cost = program.solve(gap=TUNING.rough_gap, most=TUNING.most_amount_steps, stop=self._after(TUNING.senses_until)).cost
            if cost < best:
                best, self.senses, x, y = cost, senses, program.x + 0.0, program.y + 0.0
                self.program = cost * self._unit * self._price
            self._tell(f"senses {turn + 1}")
            if self._after(TUNING.senses_until)():
                break
        assert program is not None
        program.begin(*self._float_ranges(self.senses))
        program.x[...], program.y[...] = x, y
        self.program = (
            program.solve(gap=TUNING.amount_gap, most=TUNING.most_amount_steps, stop=self._after(TUNING.amounts_until)).cost
            * self._unit
            * self._price
        )
        self._amounts = program.x
        self._tell("amounts")

    def _line_prices(self) -> list[FloatArray]:
        """Of each inner line, what its cheapest cell costs, in shares of the median."""
        shape, weight = self._table.shape, self._table.weight
        prices = []
        for axis in range(len(shape)):
            lines = weight[tuple(slice(0, size + int(k == axis)) for k, size in enumerate(shape))]
            prices.append(lines.min(axis=axis))
        middle = float(np.median(np.concatenate([each.ravel() for each in prices])))
        return [each / middle for each in prices]

    def _float_ranges(self, senses: IntArray) -> tuple[Tensor, Tensor]:
        ends = [np.clip(each / self._unit, -TUNING.no_end, TUNING.no_end) for each in self._table.ranges(senses)]
        return self._on.put(ends[0], "float"), self._on.put(ends[1], "float")

    def make_whole(self) -> None:
        """The amounts as whole numbers."""
        low, high = self._table.ranges(self.senses)
        amounts = self._on.cast(self._amounts, "double") * self._unit
        self._whole.round_off(amounts, self._on.put(low, "int"), self._on.put(high, "int"))
        self._whole.improve(stop=self._after(TUNING.whole_until))
        if self._whole.cost < self.cost:
            self.cost, self.found = self._whole.cost, self._on.fetch(self._whole.x)
        self._tell("whole amounts")

    def raise_bound(self) -> None:
        """Polygons and covers, and their multipliers in whole numbers."""
        table, on = self._table, self._on
        up = np.where(table.can_rise, table.up, -table.down)
        down = np.where(table.can_fall, table.down, -table.up)
        covers = line_covers(on, up, down, table.sensitive)
        self._tell("covers")
        least = np.pad(self._least(), [(0, 1)] * len(table.shape))
        ends = [np.pad(each, [(0, int(k != axis)) for k in range(each.ndim)]) for axis, each in enumerate(covers)]
        program = PolygonBound(on, self._weight, on.put(least / self._unit, "float"), [on.put(each / self._unit, "float") for each in ends])
        program.raise_bound(most=TUNING.most_bound_steps, stop=self._after(TUNING.bound_until))
        sides, held = ([on.fetch(each).astype(np.float64) * self._price for each in kind] for kind in program.in_sides(program.best))
        self.multipliers = whole_multipliers(sides, held, table.weight, scale_for(float(table.weight.min())))
        self.bound = max(self.bound, program.bound * self._unit * self._price)
        self._tell("bound")
