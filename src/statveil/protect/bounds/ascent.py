"""How the multipliers of one node of the lifted relaxation climb: steps, and after some of them multipliers mended so that they fit.

What multipliers promise settles after some hundred steps; what they prove, once they are shrunk until no size pays, takes thousands to come
near. So they are mended where they do not fit, which costs as much as some fifty steps (`copy_steps.fit_pulls`).
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from statveil.protect.bounds.copy_model import CopyModel, Worth, kept
from statveil.protect.bounds.copy_steps import CopyNode


class AscentTuning(NamedTuple):
    """How long a node is worked on: measured by the time that trees of hier13 and hier13x13x7d take."""

    steps: int = 50  # between looks
    first: int = 6  # looks before it may count as settled
    most: int = 20
    moves: float = 0.1  # of what is lacking: what is promised must move by so much in a look, or it has settled
    early: tuple[int, int] = (3, 2)  # looks from which, and at every how manieth, a node that promises enough is mended


TUNING = AscentTuning()


class Ascent:
    """A node under way; the best multipliers so far, and the node that they belong to; what the last ones promise, and by how much that
    moved in the last look."""

    def __init__(self, model: CopyModel, node: CopyNode) -> None:
        self.model, self.node, self.held = model, node, node
        self.best = kept(model.worth(node, node.relations, node.cuts, node.triangles))
        self.last, self.moved, self.looks = self.best, math.inf, 0

    def climb(self, enough: float, end: float = math.inf) -> None:
        """Until the multipliers prove enough, or have settled, or the clock (`time.monotonic`) is at the end."""
        while self.best.bound < enough and self.looks < TUNING.most and time.monotonic() < end:
            self.look()
            settled = self.looks >= TUNING.first and self.moved < TUNING.moves * abs(enough - self.last.promised)
            first, every = TUNING.early
            promising = self.looks >= first and self.looks % every == 0 and self.last.promised > enough
            if settled or promising or self.looks == TUNING.most:
                self.fit()
            if settled:
                return

    def look(self) -> None:
        """Some steps, with the triangles that say something now."""
        self.node = self.model.with_triangles(self.node) if self.looks else self.node
        found = self.model.step(self.node, TUNING.steps)
        self.moved = abs(found.promised - self.last.promised)
        self.last = found
        self.looks += 1
        self._keep(found)

    def fit(self) -> None:
        """The last multipliers mended."""
        self._keep(self.model.fitted(self.node, self.last))

    def _keep(self, found: Worth) -> None:
        if found.bound > self.best.bound:
            self.best, self.held = kept(found), self.node

    def state(self) -> CopyNode:
        """The node of the best multipliers, with where the method stands now."""
        return self.held._replace(inside=self.node.inside, size=self.node.size, sign=self.node.sign)
