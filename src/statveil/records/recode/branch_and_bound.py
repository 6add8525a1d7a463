"""The proof: branch and bound over boxes of recodings.

A box gives each field some of its levels. Whatever is chosen in it costs at least the cheapest level of each field, plus the blanks
under the common coarsening of each field's levels: coarser values have higher counts, so less is unsafe. For nested levels the common
coarsening is the coarsest of them; levels that are not nested are joined (the finest partition that all of them refine).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from statveil.core.arrays import IntArray
from statveil.records.recode.evaluate import Evaluator, Levels

Box = tuple[tuple[int, ...], ...]


@dataclass(kw_only=True)
class RecodingBoxSearch:
    """Best-first search. `leaf` prices one recoding in full and bounds its cost; `blanks` bounds the blanks under a recoding."""

    evaluator: Evaluator
    leaf: Callable[[Levels], tuple[float, float]]
    blanks: Callable[[Levels], float]
    stopped: Callable[[], bool]
    on_bound: Callable[[float], None]
    gap: float = 0.0
    most_boxes: int | None = None
    best: Levels | None = None
    value: float = np.inf
    bound: float = 0.0
    boxes: int = 0
    _least_leaf: float = np.inf
    """The least bound of a recoding that was priced: where prices are not exact, the proof cannot go beyond it."""
    _offered: set[Levels] = field(default_factory=set)
    _joins: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def run(self) -> bool:
        """Search until the best recoding is proved; False if stopped before."""
        first = self.whole()
        waiting: list[tuple[float, int, Box]] = [(self._bound(first), 0, first)]
        while waiting:
            bound, _, box = heapq.heappop(waiting)
            self._raise(min(bound, self.value))
            if bound >= self.value or self.value - self.bound <= self.gap * self.bound:
                break
            if self.stopped() or (self.most_boxes is not None and self.boxes >= self.most_boxes):
                return False
            if all(len(levels) == 1 for levels in box):  # only the first box can be such: there is no menu
                self.offer(tuple(levels[0] for levels in box))
                self._raise(self.value)
                break
            for part in self.split(box):
                self._enter(part, bound, waiting)
        else:
            self._raise(self.value)
        return True

    def _enter(self, box: Box, above: float, waiting: list[tuple[float, int, Box]]) -> None:
        self.boxes += 1
        bound = max(above, self._bound(box))
        if bound >= self.value:
            return
        if all(len(levels) == 1 for levels in box):
            self.offer(tuple(levels[0] for levels in box))
        else:
            heapq.heappush(waiting, (bound, self.boxes, box))

    def offer(self, levels: Levels) -> None:
        if levels in self._offered:  # later, with less time, its bound would be lower
            return
        self._offered.add(levels)
        value, least = self.leaf(levels)
        self._least_leaf = min(self._least_leaf, least)
        if value < self.value:
            self.best, self.value = levels, value

    def _raise(self, bound: float) -> None:
        bound = min(bound, self._least_leaf)
        if bound > self.bound:
            self.bound = bound
            self.on_bound(bound)

    def _ordered(self, place: int) -> tuple[int, ...]:
        """A field's levels from fine to coarse."""
        sizes = [self.evaluator.maps.size(place, level) for level in range(self.evaluator.menu[place])]
        return tuple(sorted(range(len(sizes)), key=lambda level: (-sizes[level], level)))

    def whole(self) -> Box:
        """All levels of all fields."""
        return tuple(self._ordered(place) for place in range(len(self.evaluator.menu)))

    def _bound(self, box: Box) -> float:
        return sum(self.bounds(box))

    def bounds(self, box: Box) -> tuple[float, float]:
        """What recoding and what blanks cost at the least, whatever is chosen in a box."""
        cheapest = sum(min(costs[level] for level in levels) for costs, levels in zip(self.evaluator.costs, box, strict=True))
        return float(cheapest), float(self.blanks(tuple(self._join(place, levels) for place, levels in enumerate(box))))

    def split(self, box: Box) -> tuple[Box, Box]:
        """Cut the field in which recoding costs differ most: the finer half and the coarser half of its levels."""
        spread = [
            max(costs[level] for level in levels) - min(costs[level] for level in levels) if len(levels) > 1 else -1.0
            for costs, levels in zip(self.evaluator.costs, box, strict=True)
        ]
        place = int(np.argmax(spread))
        middle = (len(box[place]) + 1) // 2
        halves = (box[place][:middle], box[place][middle:])
        return tuple((*box[:place], half, *box[place + 1 :]) for half in halves)  # type: ignore[return-value]

    def _join(self, place: int, levels: tuple[int, ...]) -> int:
        """The level that is the common coarsening of these; added to the maps where none of them is."""
        if len(levels) == 1:
            return levels[0]
        wanted = (place, tuple(sorted(levels)))
        if wanted not in self._joins:
            self._joins[wanted] = self._found(place, levels)
        return self._joins[wanted]

    def _found(self, place: int, levels: tuple[int, ...]) -> int:
        maps = self.evaluator.maps
        joined = common_coarsening([maps.code(place, level) for level in levels])
        for level in levels:
            if maps.size(place, level) == joined.max() + 1:
                return level
        return maps.add(place, joined)


def common_coarsening(codes: list[IntArray]) -> IntArray:
    """The finest partition that each of these partitions refines: groups that share a value are merged."""
    group = np.asarray(codes[0], dtype=np.int64)
    for code in codes[1:]:
        while True:
            lowest = np.full(int(code.max(initial=0)) + 1, group.size, dtype=np.int64)
            np.minimum.at(lowest, code, group)
            merged = lowest[code]
            within = np.full(int(group.max(initial=0)) + 1, group.size, dtype=np.int64)
            np.minimum.at(within, group, merged)
            new = within[group]
            if (new == group).all() and (merged == group).all():
                break
            group = np.minimum(new, merged)
    return np.unique(group, return_inverse=True)[1].ravel().astype(np.int32)
