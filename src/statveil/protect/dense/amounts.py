"""Amounts under fixed senses, without a matrix: restarted primal-dual steps over the inner cells of a full table.

    min  sum w |z| over inner cells and totals,  z of every total the sum of its inner cells,  low <= z <= high on inner cells.

Only inner cells are variables, so every point is additive and what it costs is what a table would cost. The duals are prices of
the totals, at most their weight in size; any such prices give a lower bound. Step sizes follow weights and numbers of terms, as Pock and
Chambolle show; the average since the last restart takes over where its gap is smaller, as in PDLP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from statveil.protect.dense.margins import folded, inner_part, with_margins
from statveil.solve.tensors import Tensor, Tensors


class AmountTuning(NamedTuple):
    """How the program is solved: by judgement."""

    radius: float = 1.0  # around the point, in cost: within it the bound is looked for that tells how far the point is from the best
    burst: int = 50  # steps between two looks at gap and clock
    enough: float = 0.2  # of the gap at the last restart: then there is another
    some: float = 0.8  # the same, where the gap begins to grow again
    damping: float = 0.5  # how far the weight between primal and dual moves at a restart


TUNING = AmountTuning()


class Bounded(NamedTuple):
    """What a point is worth: its cost, the bound that its prices prove within `reach`, and what is between them as a share."""

    cost: float
    bound: float

    @property
    def gap(self) -> float:
        return (self.cost - self.bound) / max(self.cost, 1e-12)


class AmountProgram:
    """The program, on the device; amounts are in units of `unit`, weights in units of the median one."""

    def __init__(self, on: Tensors, weight: Tensor, low: Tensor, high: Tensor) -> None:
        """weight: of all cells. low, high: of the inner cells; `begin` changes them."""
        self._on, self._weight, self._own = on, weight, inner_part(weight) + 0.0
        self._low, self._high = low + 0.0, high + 0.0
        shape = low.shape
        totals = weight + 0.0
        inner_part(totals)[...] = 0.0  # inner cells have no price: what they cost is in their own step
        self._sigma = totals / with_margins(on, 1.0 / self._own)
        self._tau = 1.0 / (self._own * folded(totals))
        self._ratio = on.put(np.ones(1), "float")  # weight between primal and dual
        self.x, self.y = on.zeros(shape), on.zeros(weight.shape)
        self._sum_x, self._sum_y = on.zeros(shape), on.zeros(weight.shape)
        self._start_x, self._start_y = on.zeros(shape), on.zeros(weight.shape)
        self._count = 0
        self._burst: Callable[[], None] | None = None

    def begin(self, low: Tensor, high: Tensor) -> None:
        """Start anew within these ranges."""
        self._low[...], self._high[...] = low, high
        self.x[...] = self._clipped(0 * self.x)
        self.y[...], self._ratio[...] = 0.0, 1.0

    def solve(self, *, gap: float, most: int, stop: Callable[[], bool]) -> Bounded:
        """Steps until the gap is this small, there were so many, or `stop`. The point is in `x`, the prices in `y`."""
        if self._burst is None:
            self._burst = self._on.recorded(self._steps)
        self._restart()
        at_restart = before = self.worth(self.x, self.y)
        for _ in range(max(1, most // TUNING.burst)):
            self._burst()
            self._count += TUNING.burst
            mean_x, mean_y = self._sum_x / self._count, self._sum_y / self._count
            now, mean = self.worth(self.x, self.y), self.worth(mean_x, mean_y)
            best = min(now, mean, key=lambda each: each.gap)
            fell = best.gap <= TUNING.enough * at_restart.gap or (best.gap <= TUNING.some * at_restart.gap and best.gap > before.gap)
            before = best
            done = best.gap <= gap or stop()
            if fell or done:
                if mean.gap < now.gap:
                    self.x[...], self.y[...] = mean_x, mean_y
                self._reweigh()
                self._restart()
                at_restart = best
            if done:
                break
        return self.worth(self.x, self.y)

    def worth(self, x: Tensor, y: Tensor) -> Bounded:
        lib, pull = self._on.lib, folded(y)
        cost = self._on.total(abs(with_margins(self._on, x)) * self._weight)
        around = TUNING.radius / self._own
        low, high = lib.maximum(self._low, x - around), lib.minimum(self._high, x + around)
        ends = lib.minimum(self._own * abs(low) + pull * low, self._own * abs(high) + pull * high)
        rest = lib.minimum(lib.maximum(0 * pull, low), high)
        return Bounded(cost, self._on.total(lib.minimum(ends, self._own * abs(rest) + pull * rest)))

    def _clipped(self, x: Tensor) -> Tensor:
        return self._on.lib.minimum(self._on.lib.maximum(x, self._low), self._high)

    def _steps(self) -> None:
        lib, tau, sigma = self._on.lib, self._tau / self._ratio, self._sigma * self._ratio
        for _ in range(TUNING.burst):
            ahead = self.x - tau * folded(self.y)
            size = lib.clip(abs(ahead) - tau * self._own, 0.0, None)
            x = self._clipped(lib.sign(ahead) * size)
            y = self.y + sigma * with_margins(self._on, 2 * x - self.x)
            self.y[...] = lib.minimum(lib.maximum(y, -self._weight), self._weight)
            self.x[...] = x
            self._sum_x += self.x
            self._sum_y += self.y

    def _restart(self) -> None:
        self._sum_x[...], self._sum_y[...], self._count = 0.0, 0.0, 0
        self._start_x[...], self._start_y[...] = self.x, self.y

    def _reweigh(self) -> None:
        """The ratio of steps follows how far primal and dual went since the last restart."""
        far_x = self._on.total((self._own * (self.x - self._start_x)) ** 2) ** 0.5
        far_y = self._on.total(((self.y - self._start_y) / self._weight) ** 2) ** 0.5
        if far_x > 1e-12 and far_y > 1e-12:
            old = float(self._ratio[0])
            self._ratio[...] = old ** (1 - TUNING.damping) * (far_y / far_x) ** TUNING.damping
