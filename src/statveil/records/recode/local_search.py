"""S4's search methods (s.3.4): a step changes one field to an adjacent level of its menu.

They work on any price of a recoding: the true cost, or the relaxed one of eq. 5. Parameters that S4 leaves open are the user's. All
randomness comes from one seeded generator, and work is limited by numbers of steps; the clock only cuts short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from statveil.core.errors import InputError
from statveil.core.limits import is_finite, known
from statveil.records.recode.evaluate import Levels

OBJECTIVES = ("true", "relaxed")


@dataclass(frozen=True, kw_only=True)
class RecodingSearchOptions:
    """What a search goes by. With the usual parameters all methods but the first meet the optimum from 10 of 10 starts
    (benchmarks/RESULTS.md, `adult`).

    objective: the `true` cost or the `relaxed` one of eq. 5. start: where it begins (by default: at random).
    restarts: starts of repeated improvement. tenure: steps for which tabu search does not undo a change (by default half the fields, two
    at least). patience: steps without a better recoding after which it ends (by default twice the size of the neighbourhood, ten at
    least). steps: of annealing, for each adjacent pair of levels. hottest, coldest: its first and last temperature, in typical
    worsenings of a step.

    >>> RecodingSearchOptions(start={"age": "width 10"}, tenure=4).objective
    'true'
    """

    objective: str = "true"
    start: Mapping[str, str] | None = None
    restarts: int = 20
    tenure: int | None = None
    patience: int | None = None
    steps: int = 160
    hottest: float = 1.0
    coldest: float = 1e-3

    def __post_init__(self) -> None:
        known("objective", self.objective, OBJECTIVES)
        for name in ("restarts", "tenure", "patience", "steps"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise InputError(f"{name} must be a whole number, one or more.")
        if not (is_finite(self.hottest) and is_finite(self.coldest) and 0 < self.coldest <= self.hottest):
            raise InputError("The temperatures must be positive, the hottest no lower than the coldest.")


@dataclass(kw_only=True)
class RecodingSpace:
    """The recodings to search: how many levels each field has, what one costs, and when to stop."""

    menu: tuple[int, ...]
    price: Callable[[Levels], float]
    rng: np.random.Generator
    stopped: Callable[[], bool] = lambda: False
    options: RecodingSearchOptions = field(default_factory=RecodingSearchOptions)
    best: Levels | None = None
    value: float = math.inf
    looks: int = 0
    on_better: Callable[[Levels, float], None] = field(default=lambda _levels, _value: None)

    def look(self, levels: Levels) -> float:
        """Price a recoding and remember the best."""
        self.looks += 1
        value = self.price(levels)
        if value < self.value:
            self.best, self.value = levels, value
            self.on_better(levels, value)
        return value

    def random(self) -> Levels:
        return tuple(int(self.rng.integers(size)) for size in self.menu)

    def neighbours(self, levels: Levels) -> Iterator[tuple[int, Levels]]:
        """(field, recoding) for every step to an adjacent level."""
        for place, size in enumerate(self.menu):
            for step in (-1, 1):
                if 0 <= levels[place] + step < size:
                    yield place, (*levels[:place], levels[place] + step, *levels[place + 1 :])

    @property
    def steps(self) -> int:
        """Adjacent pairs of levels over all fields: the size of the neighbourhood."""
        return sum(size - 1 for size in self.menu)


def iterative_improvement(space: RecodingSpace, start: Levels | None = None) -> Levels:
    """To the best of the better neighbours until there is none."""
    current = space.random() if start is None else start
    value = space.look(current)
    while not space.stopped():
        price, other = min(((space.look(other), other) for _, other in space.neighbours(current)), default=(math.inf, current))
        if price >= value:
            break
        current, value = other, price
    return current


def repeated_improvement(space: RecodingSpace, start: Levels | None = None) -> Levels:
    """Iterative improvement from many random recodings."""
    for attempt in range(space.options.restarts):
        if space.stopped():
            break
        iterative_improvement(space, start if attempt == 0 else None)
    return space.best or space.random()


def tabu(space: RecodingSpace, start: Levels | None = None) -> Levels:
    """Always to the best neighbour; a field that was just changed may not be changed back for a while."""
    current = space.random() if start is None else start
    space.look(current)
    tenure = space.options.tenure or max(2, len(space.menu) // 2)
    patience, idle = space.options.patience or max(10, 2 * space.steps), 0
    barred: dict[tuple[int, int], int] = {}
    step = 0
    while idle < patience and not space.stopped():
        step += 1
        before = space.value
        options = [(space.look(other), other, place) for place, other in space.neighbours(current)]
        free = [each for each in options if barred.get((each[2], each[1][each[2]]), -1) < step or each[0] < before]
        if not free:
            break
        _, chosen, place = min(free)
        barred[place, current[place]] = step + tenure
        current = chosen
        idle = 0 if space.value < before else idle + 1
    return space.best or current


def annealing(space: RecodingSpace, start: Levels | None = None) -> Levels:
    """A random neighbour; a worse one is taken with a probability that falls as the run cools."""
    current = space.random() if start is None else start
    value = space.look(current)
    moves = list(space.neighbours(current))
    if not moves:
        return current
    worsenings = [abs(space.look(other) - value) for _, other in moves]
    typical = float(np.mean([each for each in worsenings if math.isfinite(each)] or [0.0])) or 1.0  # caps may make some impossible
    length = space.options.steps * space.steps
    cooling = (space.options.coldest / space.options.hottest) ** (1.0 / length)
    temperature = space.options.hottest * typical
    for _ in range(length):
        if space.stopped():
            break
        moves = list(space.neighbours(current))
        _, other = moves[int(space.rng.integers(len(moves)))]
        price = space.look(other)
        if price <= value or space.rng.random() < math.exp((value - price) / temperature):
            current, value = other, price
        temperature *= cooling
    return space.best or current


SEARCHES: dict[str, Callable[[RecodingSpace, Levels | None], Levels]] = {
    "iterative-improvement": iterative_improvement,
    "repeated-improvement": repeated_improvement,
    "tabu": tabu,
    "annealing": annealing,
}
