"""Whole amounts: inner cells rounded, totals worked out anew, so that every sum holds; then single steps of one unit while they pay.

A step of a cell is priced on itself and on all totals it is in. All cells of a colour class are looked at together (they share no
line); those that would all mend the same total of several lines are thinned out by chance. A round that does not pay is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from statveil.protect.dense.margins import folded, inner_part, with_margins
from statveil.solve.tensors import Tensor, Tensors


class WholeTuning(NamedTuple):
    """How steps are chosen: by judgement."""

    settled: float = 1e-5  # share of the cost that a round over all classes must bring, or it is the last


TUNING = WholeTuning()


class WholeAmounts:
    """Whole deviations of the inner cells within their ranges, on the device, and what they cost with their totals."""

    def __init__(self, on: Tensors, weight: Tensor) -> None:
        self._on, self._weight = on, weight
        shape = tuple(size - 1 for size in weight.shape)
        colour = np.indices(shape).sum(axis=0) % max(shape) if shape else np.zeros(())
        self._colour, self._colours = on.put(colour, "int"), max(shape)
        self.x = on.zeros(shape, "int")
        self._low, self._high = on.zeros(shape, "int"), on.zeros(shape, "int")
        self._class = on.zeros((1,), "int")
        self._cost = on.zeros((1,), "double")
        self._step: Callable[[], None] | None = None

    def round_off(self, amounts: Tensor, low: Tensor, high: Tensor) -> None:
        """Start from these amounts (in units), within whole ranges."""
        lib = self._on.lib
        self._low[...], self._high[...] = low, high
        nearest = self._on.cast(lib.round(amounts), "int")
        self.x[...] = lib.minimum(lib.maximum(nearest, self._low), self._high)
        self._cost[...] = self.cost

    @property
    def cost(self) -> float:
        return self._on.total(abs(with_margins(self._on, self.x)) * self._weight)

    def improve(self, *, stop: Callable[[], bool]) -> float:
        """Rounds over all classes until one brings next to nothing, or `stop`."""
        if self._step is None:
            self._step = self._on.recorded(self._move_class)
            self._cost[...] = self.cost
        before = self.cost
        while True:
            for colour in range(self._colours):
                self._class[...] = colour
                self._step()
            now = self.cost
            if before - now <= TUNING.settled * before or stop():
                return now
            before = now

    def _move_class(self) -> None:
        lib = self._on.lib
        now = with_margins(self._on, self.x)
        size = abs(now)
        up = folded((abs(now + 1) - size) * self._weight)
        down = folded((abs(now - 1) - size) * self._weight)
        own = self._colour == self._class
        rises = own & (self.x < self._high) & (up < 0) & (up <= down)
        falls = own & (self.x > self._low) & (down < 0) & (down < up)
        move = self._on.cast(rises, "int") - self._on.cast(falls, "int")
        wanted = with_margins(self._on, move)
        share = size / lib.clip(abs(wanted), 1, None)
        share = lib.where((wanted * now < 0) & (abs(wanted) > 0), share, 1.0 + 0 * share)
        inner_part(share)[...] = 1.0
        taken = self._on.random(self.x.shape) < _least_of_totals(self._on, share)
        x = self.x + move * self._on.cast(taken, "int")
        cost = (abs(with_margins(self._on, x)) * self._weight).sum()
        better = cost < self._cost
        self.x[...] = lib.where(better, x, self.x)
        self._cost[...] = lib.minimum(self._cost, cost)


def _least_of_totals(on: Tensors, full: Tensor) -> Tensor:
    """For every inner cell the least over itself and all totals it is in."""
    for axis in range(full.ndim):
        size = full.shape[axis] - 1
        ahead = (slice(None),) * axis
        full = on.lib.minimum(full[(*ahead, slice(0, size))], full[(*ahead, slice(size, size + 1))])
    return full
