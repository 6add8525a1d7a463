"""The state that every sense method works on: the problem, the clock, the best table and the best bound so far.

It lives in the isolated child. Whatever improves is sent to the parent at once, so that nothing is lost when the child is killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from statveil.arrays import FloatArray, IntArray
from statveil.protect.continuous import FixedSenses, adjust_with_senses
from statveil.protect.options import Limits
from statveil.protect.problem import ProtectionProblem


class Found(NamedTuple):
    """News from a search: a better table (`deviation`), a better `bound`, proof that there is none, or only a new `stage`."""

    stage: str
    bound: float
    deviation: IntArray | None = None
    infeasible: bool = False


class BoundProof(NamedTuple):
    """What the lower bound rests on: inequalities matrix |z| >= rhs, and what a unit more of each |z| costs beyond the bound."""

    matrix: csr_matrix
    rhs: FloatArray
    reduced: FloatArray
    bound: float


class Search:
    """What a method needs and may do. `offer` believes nothing: a deviation counts only if the problem accepts it."""

    def __init__(self, problem: ProtectionProblem, limits: Limits, seed: int, send: Callable[[Found], None]) -> None:
        self.problem = problem
        self.limits = limits
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.stage = "start"
        self.start: IntArray | None = None
        self.cuts: BoundProof | None = None
        self.best: IntArray | None = None
        self.objective = float("inf")
        self.bound = 0.0
        self._send = send
        self._began = time.monotonic()

    @cached_property
    def program(self) -> FixedSenses:
        return FixedSenses(self.problem)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.limits.seconds - (time.monotonic() - self._began))

    @property
    def done(self) -> bool:
        """Out of time, or as good as asked."""
        return self.seconds_left <= 0 or self.objective - self.bound <= max(self.limits.gap, 1e-9) * self.bound

    def enter(self, stage: str) -> None:
        self.stage = stage
        self._send(Found(stage, self.bound))

    def offer(self, deviation: IntArray | None) -> bool:
        """Keep a table if it is safe and better than the best; tell whether it was."""
        if deviation is None or not self.problem.accepts(deviation):
            return False
        objective = self.problem.cost(deviation)
        if objective >= self.objective:
            return False
        self.best, self.objective = deviation, objective
        self._send(Found(self.stage, self.bound, deviation))
        return True

    def offer_bound(self, bound: float) -> None:
        """Raise the lower bound. It never passes the incumbent: that would only show rounding in the last digits."""
        bound = min(bound, self.objective)
        if bound > self.bound:
            self.bound = bound
            self._send(Found(self.stage, bound))

    def try_senses(self, senses: IntArray) -> bool:
        """Price senses exactly: continuous program, made whole, offered."""
        return self.offer(adjust_with_senses(self.program, senses, seconds=max(self.seconds_left, 0.1), worth=self.objective))

    def prove_infeasible(self) -> None:
        self._send(Found(self.stage, self.bound, infeasible=True))
