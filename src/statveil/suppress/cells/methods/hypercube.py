"""Method `hypercube`, what tau-ARGUS calls GH: every suppressed cell is a corner of a cube of suppressed cells in each simple table.

Corners go up and down by turns, or together where one of two is the sum of the other's family, so that a cube moves by what its tightest
corner allows, and no linear program is asked. The width wanted is a share of the value, of secondary cells as of sensitive ones; where no
cube is so wide, the share is lowered until one is (docs/suppression.md). Safe in each simple table is not safe in the whole: what is left
open is mended afterwards.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from statveil.suppress.cells.methods.shape import GridShape, SimpleTable, simple_tables, tables_with
from statveil.suppress.cells.options import HypercubeOptions
from statveil.suppress.cells.problem import SuppressionProblem


class HypercubeTuning(NamedTuple):
    """By judgement."""

    relaxed: tuple[float, ...] = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7, 1 / 8, 1 / 9, 1 / 10, 1e-10, 0.0)
    """What the width is multiplied by, one after the other, where no cube is as wide as wanted."""
    rim: float = 1000.0
    """What suppressing a sum costs, in other cells: any cube inside is preferred."""
    small: float = 1e-4
    """What a unit of the logarithm of a value weighs beside a cell: it decides between cubes with as many new cells."""


TUNING = HypercubeTuning()


class Cubes(NamedTuple):
    """The pattern by its own rules, how many cells had to do with a narrower cube than wanted, and how many found none."""

    suppressed: BoolArray
    narrowed: int
    without: int


def hypercube_pattern(problem: SuppressionProblem, shapes: tuple[GridShape, ...], options: HypercubeOptions) -> Cubes:
    """Simple table by simple table from the top, those with newly suppressed cells again, until nothing changes."""
    return _Cutter(problem, shapes, options).run()


@dataclass
class _CubeScores:
    """How good each cube is, by its opposite corner: its price (endless where a corner cannot be suppressed) and its width."""

    price: FloatArray
    width: FloatArray


class _Cutter:
    def __init__(self, problem: SuppressionProblem, shapes: tuple[GridShape, ...], options: HypercubeOptions) -> None:
        self.problem, self.options = problem, options
        self.tables = simple_tables(shapes)
        self.within = tables_with(self.tables, problem.size)
        self.suppressed: BoolArray = problem.primary | problem.hidden
        value = np.abs(problem.value).astype(np.float64)
        known = value * options.known_percent / 100
        self.down = np.minimum((problem.value - problem.lower).astype(np.float64), known)
        self.up = np.minimum((problem.upper - problem.value).astype(np.float64), known)
        self.usable: BoolArray = (problem.candidate | self.suppressed) & (problem.value != 0)
        self.wanted = value * self._ratio()
        self.small = TUNING.small * np.log1p(value)
        self.narrowed: set[int] = set()
        self.without: set[int] = set()
        self.served: list[set[tuple[int, ...]]] = [set() for _ in self.tables]
        """The places in each simple table that have their cube: what is suppressed stays so."""

    def _ratio(self) -> float:
        """The width that every suppressed cell should have, as a share of its value."""
        if self.options.ratio is not None:
            return self.options.ratio
        problem = self.problem
        primary = problem.primary & (problem.value != 0)
        wide = (problem.lower_level + problem.upper_level)[primary] / np.abs(problem.value[primary])
        return float(np.median(wide)) if wide.size else 0.0

    def run(self) -> Cubes:
        waiting = deque(range(len(self.tables)))
        queued = np.ones(len(self.tables), dtype=np.bool_)
        while waiting:
            number = waiting.popleft()
            queued[number] = False
            for cell in self._table(self.tables[number], self.served[number]):
                for other in self.within[cell]:
                    if other != number and not queued[other]:
                        queued[other] = True
                        waiting.append(other)
        return Cubes(self.suppressed & ~self.problem.hidden, len(self.narrowed), len(self.without))

    def _table(self, table: SimpleTable, done: set[tuple[int, ...]]) -> list[int]:
        """Give every suppressed cell of a simple table its cube, once; the cells that were suppressed for it."""
        new: list[int] = []
        while True:
            there = (table.cells >= 0) & self.suppressed[table.cells] & self.usable[table.cells]
            places = [place for place in map(tuple, np.argwhere(there).tolist()) if place not in done]
            if not places:
                return new
            for place in places:
                done.add(place)
                new += self._protect(table.cells, place)

    def _protect(self, cells: IntArray, place: tuple[int, ...]) -> list[int]:
        """The best cube with this corner; for a single respondent a second one, with another corner opposite."""
        cell = int(cells[place])
        score = self._scores(cells, place)
        best = self._best(score, cell)
        if best is None:
            self.without.add(cell)
            return []
        new = self._suppress(cells, place, best)
        if self.options.singleton and self.problem.single[cell]:
            again = self._scores(cells, place)
            again.price[best] = np.inf
            second = self._best(again, cell)
            new += [] if second is None else self._suppress(cells, place, second)
        return new

    def _best(self, score: _CubeScores, cell: int) -> tuple[int, ...] | None:
        """The cheapest cube that is wide enough, for the widest demand that any meets."""
        for part in TUNING.relaxed:
            price = np.where(score.width >= part * self.wanted[cell], score.price, np.inf)
            place = np.unravel_index(int(np.argmin(price)), price.shape) if price.size else None
            if place is not None and np.isfinite(price[place]):
                if part < 1.0:
                    self.narrowed.add(cell)
                return tuple(int(each) for each in place)
        return None

    def _scores(self, cells: IntArray, place: tuple[int, ...]) -> _CubeScores:
        """All cubes at once, by broadcasting over the places of the opposite corner; this corner's own lines are no opposite."""
        price, rising, falling = np.zeros(cells.shape), np.full(cells.shape, np.inf), np.full(cells.shape, np.inf)
        for turned in product((False, True), repeat=cells.ndim):
            corner = cells[tuple(slice(None) if far else slice(at, at + 1) for far, at in zip(turned, place, strict=True))]
            up, down = self._rooms(corner, _signs(cells.shape, place, turned))
            rising, falling = np.minimum(rising, up), np.minimum(falling, down)
            price = price + self._prices(corner, turned, place)
        for axis, at in enumerate(place):
            price[(slice(None),) * axis + (at,)] = np.inf
        return _CubeScores(price, rising + falling)

    def _rooms(self, corner: IntArray, sign: AnyArray) -> tuple[FloatArray, FloatArray]:
        """How far this corner lets the first one rise and fall."""
        up, down = self.up[corner], self.down[corner]
        return np.where(sign > 0, up, down), np.where(sign > 0, down, up)

    def _prices(self, corner: IntArray, turned: tuple[bool, ...], place: tuple[int, ...]) -> FloatArray:
        rim = np.zeros(corner.shape, dtype=np.bool_)
        for axis, (far, at) in enumerate(zip(turned, place, strict=True)):
            if far:
                rim[(slice(None),) * axis + (slice(0, 1),)] = True
            elif at == 0:
                rim[...] = True
        new = np.where(self.suppressed[corner], 0.0, np.where(rim, TUNING.rim, 1.0) + self.small[corner])
        return np.where((corner >= 0) & self.usable[corner], new, np.inf)

    def _suppress(self, cells: IntArray, place: tuple[int, ...], opposite: tuple[int, ...]) -> list[int]:
        corners = {int(cells[each]) for each in product(*zip(place, opposite, strict=True))}
        new = sorted(corner for corner in corners if not self.suppressed[corner])
        self.suppressed[new] = True
        return new


def _signs(shape: tuple[int, ...], place: tuple[int, ...], turned: tuple[bool, ...]) -> AnyArray:
    """Which corners go with the first one, and which against it: two parts of a family go against each other, a part with its sum."""
    sign: AnyArray = np.ones([1] * len(shape), dtype=np.int64)
    for axis, (far, at) in enumerate(zip(turned, place, strict=True)):
        if far:
            along = np.where((np.arange(shape[axis]) == 0) | (at == 0), 1, -1)
            sign = sign * along.reshape([-1 if axis == other else 1 for other in range(len(shape))])
    return sign
