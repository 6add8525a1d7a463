"""Method `optimal`: branch and bound over classes; every leaf is closed by a bound in whole numbers, so that the proof needs no solver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray
from statveil.core.errors import NoTableFound
from statveil.suppress.cells.auto import PatternNews, repaired
from statveil.suppress.cells.classes import ClassSystem
from statveil.suppress.cells.heuristic import Cover, construct, improve
from statveil.suppress.cells.lower_bound import CutLoop, bound_of

Node = tuple[BoolArray, BoolArray, int]
"""Classes suppressed for sure, classes published for sure, and the bound of the node above."""


def run_optimal(system: ClassSystem, seconds: float, send: Callable[[Any], None]) -> None:
    """Patterns as they are found, then what is proved."""
    deadline = time.monotonic() + seconds
    cover = construct(system, deadline)
    _tell(cover, send, "cheapest deviations")
    improve(cover, system.needs)
    search = _Tree(system, cover, deadline)
    bound = search.run()
    _tell(search.best, send, "branch and bound", bound)


def _tell(cover: Cover, send: Callable[[Any], None], stage: str, bound: int = 0) -> None:
    """What was found, with what single respondents make necessary: of a copy, because the search goes on without it."""
    copy = Cover(cover.system, cover.deadline, dict(cover.proofs))
    copy.suppressed = cover.suppressed.copy()
    repaired(copy, cover.system.needs)
    send(PatternNews(stage, copy.suppressed, copy.proofs, bound))


def best_cover(system: ClassSystem, deadline: float) -> Cover:
    """The cheapest pattern found by then, single respondents left out."""
    cover = construct(system, deadline)
    improve(cover, system.needs)
    search = _Tree(system, cover, deadline)
    search.run()
    return search.best


class _Tree:
    def __init__(self, system: ClassSystem, cover: Cover, deadline: float) -> None:
        self.system, self.best, self.deadline = system, cover, deadline
        self.loop = CutLoop(system, deadline)

    def run(self) -> int:
        """What is proved: the best cost, or the least bound of what is left open when the time is up."""
        none = np.zeros(self.system.size, dtype=np.bool_)
        open_nodes: list[Node] = [(self.system.free.copy(), none, 0)]
        while open_nodes and time.monotonic() < self.deadline:
            node = open_nodes.pop()
            if node[2] < self.best.cost:
                open_nodes += self._children(node)
        return min([self.best.cost, *(node[2] for node in open_nodes)])

    def _children(self, node: Node) -> list[Node]:
        """Nothing where the node is closed by its bound; else the two cases of its most undecided class."""
        suppressed, published, bound = node
        lower, upper = suppressed.astype(np.float64), 1.0 - published.astype(np.float64)
        while True:
            found = None if self.loop.late else self.loop.solve(lower, upper)
            if found is None:
                return [(suppressed, published, bound)]
            bound = max(bound, self._bound(suppressed, published, found[1]))
            if bound >= self.best.cost:
                return []
            new = self.loop.separate(found[0])
            if not new:
                return self._settled(found[0], (suppressed, published, bound))
            self.loop.add(new)

    def _settled(self, x: FloatArray, node: Node) -> list[Node]:
        """No cut is left: a whole point is a pattern to try, any other is branched on; so is a whole one that did not close the node."""
        suppressed, published, bound = node
        if np.abs(x - np.rint(x)).max(initial=0.0) < 1e-6:
            self._try(x > 0.5)
            if bound >= self.best.cost:
                return []
        undecided = np.flatnonzero(~suppressed & ~published)
        if not undecided.size:
            return []
        chosen = undecided[np.argmin(np.abs(x[undecided] - 0.5))]
        one, zero = suppressed.copy(), published.copy()
        one[chosen] = zero[chosen] = True
        return [(suppressed, zero, bound), (one, published, bound)]

    def _bound(self, suppressed: BoolArray, published: BoolArray, multipliers: FloatArray) -> int:
        """Of this node: classes that are suppressed for sure count whatever they cost; published ones not at all."""
        return bound_of(self.system, self.loop.cuts, multipliers, suppressed=suppressed, published=published)

    def _try(self, pattern: BoolArray) -> None:
        """Take the pattern if all needs have witnesses within it, and it is cheaper."""
        closed = np.where(pattern | self.system.free, self.system.cost, np.int64(2**52))
        cover = Cover(replace(self.system, cost=closed, free=pattern | self.system.free), self.deadline)
        try:
            cover.meet_all(self.system.needs)
        except NoTableFound:
            return
        trial = Cover(self.system, self.deadline, cover.proofs)
        trial.drop_unused()
        if trial.cost < self.best.cost:
            self.best = trial
