"""Senses by annealing on the imbalance they leave in the lines of a full table, whole colour classes at once.

Cells whose places add up to the same number modulo the longest axis share no line: flipping one leaves the price of flipping another
as it was. So all cells of such a class are looked at together, as if one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.solve.tensors import Tensor, Tensors


class BalanceTuning(NamedTuple):
    """How senses are annealed: by judgement."""

    hottest: float = 1.0  # first temperature, in shares of the mean price of a flip in one line
    coolest: float = 0.01
    greedy: int = 3  # sweeps at the end that only improve


TUNING = BalanceTuning()


class SenseBalance:
    """Senses of the cells that have a choice, and the imbalance of every line with inner cells, on the device."""

    def __init__(self, on: Tensors, up: FloatArray, down: FloatArray, free: BoolArray, prices: list[FloatArray]) -> None:
        """up, down: how far each inner cell rises and falls at the least. free: those that may do either. prices: of a unit in each inner
        line, axis by axis.
        """
        self._on, self._shape = on, free.shape
        where = np.argwhere(free)
        colour = where.sum(axis=1) % max(self._shape)
        order = np.argsort(colour, kind="stable")
        where, starts = where[order], np.searchsorted(colour[order], np.arange(max(self._shape) + 1))
        cells = np.ravel_multi_index(tuple(where.T), self._shape)
        lines = _lines_of(where, self._shape)
        price = np.concatenate([each.ravel() for each in prices])
        self._typical = float((up.ravel()[cells] * price[lines].mean(axis=0)).mean()) if cells.size else 1.0
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        self._lines = [on.put(lines[:, part], "int") for part in self._parts]
        self._prices = [on.put(price[lines[:, part]], "float") for part in self._parts]
        self._cells, self._step = on.put(np.asarray(cells), "int"), on.put((up + down).ravel()[cells], "float")
        self._up, self._down = on.put(up, "float"), on.put(down, "float")
        self._ups, self._heat, self._sums = on.zeros((cells.size,), "bool"), on.zeros((1,)), on.zeros((price.size,))
        self._sweep: Callable[[], None] | None = None

    def begin(self, senses: Tensor) -> None:
        """Take these senses of the inner cells (+1, -1, 0)."""
        moves = self._on.lib.where(senses > 0, self._up, self._on.lib.where(senses < 0, -self._down, 0 * self._up))
        self._sums[...] = self._on.join([moves.sum(axis=axis).reshape(-1) for axis in range(moves.ndim)], 0)
        self._ups[...] = senses.reshape(-1)[self._cells] > 0

    def senses(self, before: Tensor) -> Tensor:
        """The senses now; those of cells without a choice as they were `before`."""
        found = before.reshape(-1) + 0
        found[self._cells] = 2 * self._on.cast(self._ups, "int") - 1
        return found.reshape(before.shape)

    @property
    def imbalance(self) -> float:
        return self._on.total(abs(self._sums))

    def anneal(self, sweeps: int, *, stop: Callable[[], bool]) -> None:
        """So many visits of every cell, ever cooler; until `stop`."""
        if self._cells.shape[0] == 0:
            return
        if self._sweep is None:
            self._sweep = self._on.recorded(self._visit_all)
        ratio = (TUNING.coolest / TUNING.hottest) ** (1 / max(1, sweeps - 1))
        for turn in range(sweeps):
            self._heat[...] = self._typical * TUNING.hottest * ratio**turn
            self._sweep()
            if stop():
                break
        self._heat[...] = 0.0
        for _ in range(TUNING.greedy):
            self._sweep()

    def _visit_all(self) -> None:
        lib = self._on.lib
        luck = -lib.log(self._on.random(self._step.shape) + 1e-30) * self._heat
        for part, lines, prices in zip(self._parts, self._lines, self._prices, strict=True):
            ups, sums = self._ups[part], self._sums[lines]
            moved = sums + lib.where(ups, -self._step[part], self._step[part])
            taken = ((abs(moved) - abs(sums)) * prices).sum(axis=0) < luck[part]
            self._sums[lines] = lib.where(taken, moved, sums)
            self._ups[part] = ups ^ taken


def _lines_of(where: IntArray, shape: tuple[int, ...]) -> IntArray:
    """For each axis the number of the line along it that each cell is in; the lines of all axes are numbered through."""
    rows, first = [], 0
    for axis in range(len(shape)):
        others = shape[:axis] + shape[axis + 1 :]
        rows.append(first + np.ravel_multi_index(tuple(np.delete(where, axis, axis=1).T), others))
        first += math.prod(others)
    return np.array(rows, dtype=np.int64).reshape(len(shape), len(where))
