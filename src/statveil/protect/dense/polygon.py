"""Lower bound of a full table by polygons and covers in every line, without a matrix (docs/science.md, section 5).

    min  sum w u,  u >= least sizes;  in each line  u_i <= v,  2 v <= sum of u,  and  sum of u >= cover

with one dual tensor an axis for the sides and one number a line for each of the others. Solved by restarted primal-dual steps; then the
duals are shrunk, line by line, until they are feasible: the multipliers that a certificate holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from statveil.solve.tensors import Tensor, Tensors


class PolygonTuning(NamedTuple):
    """How the bound is raised: by judgement."""

    burst: int = 50  # steps between two looks at the clock
    look: int = 5  # bursts between two feasible bounds
    shrinking: int = 12  # rounds of shrinking lines, before everything shrinks that still must
    long_side: float = 0.5  # sides begin as candidates for the longest from this share of the line's longest least size
    settled: float = 2e-5  # relative rise of the bound between two looks
    patience: int = 3  # looks that bring less than that and are the last
    damping: float = 0.5


TUNING = PolygonTuning()


class LineMultipliers(NamedTuple):
    """Of every axis: multipliers of each cell as its line's longest side, and of each line's cover."""

    sides: list[Tensor]
    covers: list[Tensor]


class PolygonBound:
    """The program and its duals, on the device; sizes are in a unit of the caller's, weights in units of the median one."""

    def __init__(self, on: Tensors, weight: Tensor, least: Tensor, covers: list[Tensor]) -> None:
        """least: of all cells. covers: of the lines of each axis, with that axis of size 1: what their sizes add up to at the least."""
        self._on, self._weight, self._least, self._covers = on, weight, least, covers
        axes = range(least.ndim)
        self._axes = axes
        self.u = least + 0.0
        self._v = [self.u.sum(axis=k, keepdims=True) / 2 for k in axes]
        self._open = [(least > 0) & (least >= TUNING.long_side * on.most(least, k)) for k in axes]
        cheapest = [-on.most(-weight, k) for k in axes]
        self._cheapest, reach = cheapest, [(1.0 / weight).sum(axis=k, keepdims=True) for k in axes]
        self._side_steps = [each / (1.0 / weight + 1.0 / each) for each in cheapest]
        self._side_step, self._v_step = [0.0 * each for each in self._side_steps], [0.0 * each for each in cheapest]
        self._set_steps()
        self._line_step = [each / (2.0 / each + far) for each, far in zip(cheapest, reach, strict=True)]
        self._cover_step = [each / far for each, far in zip(cheapest, reach, strict=True)]
        self._tau = 1.0 / (3 * weight * sum(cheapest))
        self._ratio = on.put(np.ones(1), "float")
        zeros = [0.0 * each for each in self._v]
        self._y, self._t, self._c = [0.0 * least for _ in axes], [each + 0.0 for each in zeros], [each + 0.0 for each in zeros]
        self._state = [self.u, *self._v, *self._y, *self._t, *self._c]
        self._primal = 1 + len(axes)
        self._sums, self._begin = [0.0 * each for each in self._state], [each + 0.0 for each in self._state]
        self._count = 0
        self._burst: Callable[[], None] | None = None
        self.best, self.bound = LineMultipliers([0.0 * each for each in self._y], zeros), on.total(weight * least)

    def raise_bound(self, *, most: int, stop: Callable[[], bool]) -> float:
        """Steps until the bound settles, there were so many, or `stop`. The best multipliers are in `best`."""
        if self._burst is None:
            self._burst = self._on.recorded(self._steps)
        self._restart()
        idle, looks = 0, max(1, most // (TUNING.burst * TUNING.look))
        for _ in range(looks):
            before = self.bound
            for _ in range(TUNING.look):
                self._burst()
                self._count += TUNING.burst
                if stop():
                    break
            mean = [each / self._count for each in self._sums]
            ahead = self._try(mean)
            now = self._try(self._state)
            if ahead > now:
                for own, other in zip(self._state, mean, strict=True):
                    own[...] = other
            self._reweigh()
            self._restart()
            self._open_longest()
            idle = 0 if self.bound - before > TUNING.settled * before else idle + 1
            if idle >= TUNING.patience or stop():
                break
        return self.bound

    def _steps(self) -> None:
        lib, tau, sigma = self._on.lib, self._tau / self._ratio, self._ratio
        for _ in range(TUNING.burst):
            cost = self._weight + 0.0
            for k in self._axes:
                cost = cost + self._y[k] - (self._t[k] + self._c[k])
            u = lib.maximum(self.u - tau * cost, self._least)
            beyond = 2 * u - self.u
            self.u[...] = u
            for k in self._axes:
                v = self._v[k] - self._v_step[k] / self._ratio * (2 * self._t[k] - self._y[k].sum(axis=k, keepdims=True))
                ahead, length = 2 * v - self._v[k], beyond.sum(axis=k, keepdims=True)
                self._v[k][...] = v
                self._y[k][...] = lib.clip(self._y[k] + sigma * self._side_step[k] * (beyond - ahead), 0.0, None)
                self._t[k][...] = lib.clip(self._t[k] + sigma * self._line_step[k] * (2 * ahead - length), 0.0, None)
                self._c[k][...] = lib.clip(self._c[k] + sigma * self._cover_step[k] * (self._covers[k] - length), 0.0, None)
            for total, own in zip(self._sums, self._state, strict=True):
                total[...] = total + own

    def _try(self, state: list[Tensor]) -> float:
        """The bound of a state's duals made feasible; kept if it is the best."""
        count = self.u.ndim
        sides = [each / 2 for each in state[self._primal : self._primal + count]]
        found = self.feasible(LineMultipliers(sides, list(state[-count:])))
        bound = self.worth(found)
        if bound > self.bound:
            self.best, self.bound = LineMultipliers([each + 0.0 for each in found.sides], [each + 0.0 for each in found.covers]), bound
        return bound

    def in_sides(self, held: LineMultipliers) -> LineMultipliers:
        """Covers that say no more than that the longest side is matched, as such sides: they prove as much, and are checked at once."""
        lib = self._on.lib
        sides, covers = [], []
        for k, (f, c) in enumerate(zip(*held, strict=True)):
            length, longest = self._least.sum(axis=k, keepdims=True), self._on.most(self._least, k)
            plain = self._covers[k] <= lib.maximum(2 * longest, length) * (1 + 1e-6)
            first = (self._least == longest) & (self._least > 0)
            share = self._on.cast(first, "float") / lib.clip(first.sum(axis=k, keepdims=True), 1, None)
            alone = plain & (2 * longest > length)
            sides.append(f + lib.where(alone, c, 0 * c) * share)
            covers.append(lib.where(plain, 0 * c, c))
        return LineMultipliers(sides, covers)

    def worth(self, held: LineMultipliers) -> float:
        left = self._weight - sum(self._pulls(held))
        return self._on.total(left * self._least) + sum(self._on.total(c * d) for c, d in zip(held.covers, self._covers, strict=True))

    def _pulls(self, held: LineMultipliers) -> list[Tensor]:
        """What the lines of each axis take from every cell's weight."""
        return [f.sum(axis=k, keepdims=True) + c - 2 * f for k, (f, c) in enumerate(zip(*held, strict=True))]

    def feasible(self, held: LineMultipliers) -> LineMultipliers:
        """Lines shrunk where together they take more than a cell's weight; in the end all of them, by what is still too much."""
        lib = self._on.lib
        for turn in range(TUNING.shrinking + 1):
            pulls = self._pulls(held)
            share = self._weight / lib.maximum(sum(pulls), self._weight)
            if turn == TUNING.shrinking:
                factors = [float(share.min()) for _ in pulls]
            else:
                factors = [-self._on.most(-lib.where(pull > 0, share, 0 * share + 1.0), k) for k, pull in enumerate(pulls)]
            held = LineMultipliers(
                [f * by for f, by in zip(held.sides, factors, strict=True)], [c * by for c, by in zip(held.covers, factors, strict=True)]
            )
        return held

    def _open_longest(self) -> None:
        """Sides that are longer than their line's bound on sides become candidates."""
        for k in self._axes:
            self._open[k] = self._open[k] | (self.u > self._v[k] * (1 + 1e-3))
        self._set_steps()

    def _set_steps(self) -> None:
        """Only candidates have a multiplier that moves."""
        for k in self._axes:
            self._side_step[k][...] = self._side_steps[k] * self._on.cast(self._open[k], "float")
            self._v_step[k][...] = 1.0 / (self._cheapest[k] ** 2 * (self._open[k].sum(axis=k, keepdims=True) + 2.0))

    def _restart(self) -> None:
        for total, begin, own in zip(self._sums, self._begin, self._state, strict=True):
            total[...], begin[...] = 0.0, own
        self._count = 0

    def _reweigh(self) -> None:
        scales = [self._weight, *self._cheapest, *(1.0 / each for each in self._cheapest * 3)]
        far = [self._on.total((scale * (own - begin)) ** 2) for scale, own, begin in zip(scales, self._state, self._begin, strict=True)]
        primal, dual = sum(far[: self._primal]) ** 0.5, sum(far[self._primal :]) ** 0.5
        if primal > 1e-12 and dual > 1e-12:
            old = float(self._ratio[0])
            self._ratio[...] = old ** (1 - TUNING.damping) * (dual / primal) ** TUNING.damping
