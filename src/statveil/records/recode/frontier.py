"""Recoding against blanks: every recoding that no other beats in both, by branch and bound over boxes with two objectives.

A box gives each field some of its levels; whatever is chosen in it loses at least the cheapest level of each field by recoding, and needs
at least the blanks of the common coarsening (as in `branch_and_bound`). A box whose two bounds are both met by a recoding known already
holds nothing better and is left out. When no box is left, the recodings found are the whole front. Before that, a recoding is proved to
be on it when no box that is left could hold one as good in both. Boxes know of risk models only what these imply (`Evaluator.floor`), and
under `recount` so do the proofs of single recodings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from statveil.records.recode.branch_and_bound import Box, RecodingBoxSearch
from statveil.records.recode.evaluate import Evaluator, Levels


class FrontRecoding(NamedTuple):
    """A recoding, what it loses, what the blanks that it leaves cost, and whether it is proved that no other beats it."""

    levels: Levels
    recoding: float
    blanks: float
    proved: bool


@dataclass(kw_only=True)
class RecodingFront:
    """The front so far; `open` are the boxes not looked into, with their bounds."""

    evaluator: Evaluator
    stopped: Callable[[], bool]
    on_point: Callable[[int], None] = lambda _number: None
    boxes: int = 0
    _found: dict[Levels, tuple[float, float, float]] = field(default_factory=dict)
    """By recoding: what it loses, the blanks under `original`, and what blanks cost at the least."""
    _open: list[tuple[float, int, float, float, Box]] = field(default_factory=list)

    def run(self) -> bool:
        """Search until nothing is open; False if stopped before."""
        joins = RecodingBoxSearch(
            evaluator=self.evaluator,
            leaf=lambda _: (0.0, 0.0),
            blanks=self.evaluator.floor.blanks,
            stopped=self.stopped,
            on_bound=lambda _: None,
        )
        self._enter(joins, joins.whole())
        while self._open:
            if self.stopped():
                return False
            _, _, recoding, blanks, box = heapq.heappop(self._open)
            if not self._beaten(recoding, blanks):
                for part in joins.split(box):
                    self._enter(joins, part)
        return True

    def front(self) -> list[FrontRecoding]:
        """From the least recoding to the fewest blanks."""
        best: list[FrontRecoding] = []
        for levels, (recoding, blanks, _) in sorted(self._found.items(), key=lambda each: (each[1], each[0])):
            if not best or blanks < best[-1].blanks - 1e-9:
                best.append(FrontRecoding(levels, recoding, blanks, self.proves(recoding, blanks)))
        return best

    def offer(self, levels: Levels) -> None:
        if levels not in self._found:
            blanks, least = self.evaluator.blanks(levels), self.evaluator.least.blanks(levels)
            self._found[levels] = self.evaluator.recoding(levels), blanks, least
            self.on_point(len(self._found))

    def _enter(self, joins: RecodingBoxSearch, box: Box) -> None:
        self.boxes += 1
        if all(len(levels) == 1 for levels in box):
            self.offer(tuple(levels[0] for levels in box))
            return
        recoding, blanks = joins.bounds(box)
        if not self._beaten(recoding, blanks):
            heapq.heappush(self._open, (recoding + blanks, self.boxes, recoding, blanks, box))

    def _beaten(self, recoding: float, blanks: float) -> bool:
        """Whether a recoding found already is as good as both."""
        return any(own <= recoding + 1e-9 and left <= blanks + 1e-9 for own, left, _ in self._found.values())

    def proves(self, recoding: float, blanks: float) -> bool:
        """Whether no recoding can lose less with no more blanks than these, and none in an open box no more with fewer."""
        found = any(own < recoding - 1e-9 and least <= blanks + 1e-9 for own, _, least in self._found.values())
        return not found and not any(
            least <= recoding + 1e-9 and fewest <= blanks + 1e-9 and (least < recoding - 1e-9 or fewest < blanks - 1e-9)
            for _, _, least, fewest, _ in self._open
        )
