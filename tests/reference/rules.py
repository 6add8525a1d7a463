"""The sensitivity rules by brute force: every target, every coalition, in fractions. Slow, and easy to believe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations


@dataclass(frozen=True)
class Respondent:
    """A respondent of one cell. `shadow` is what the rules look at, `amount` what is published; `weight` counts in the frequency."""

    amount: int
    shadow: int | None = None
    weight: Fraction = Fraction(1)
    waived: bool = False
    requested: bool = False

    @property
    def contribution(self) -> int:
        return abs(self.amount if self.shadow is None else self.shadow)


Cell = Sequence[Respondent]


def total(cell: Cell) -> int:
    return sum(respondent.contribution for respondent in cell)


def value(cell: Cell) -> int:
    return abs(sum(respondent.amount for respondent in cell))


def frequency(cell: Cell) -> Fraction:
    return sum((respondent.weight for respondent in cell), Fraction(0))


def attacks(cell: Cell, coalition: int) -> Iterator[tuple[int, int]]:
    """Every target with what is left over when each possible coalition of others has taken out its own contributions."""
    for i, target in enumerate(cell):
        if target.waived:
            continue
        others = [respondent for j, respondent in enumerate(cell) if j != i]
        for size in range(min(coalition, len(others)) + 1):
            for attackers in combinations(others, size):
                yield target.contribution, total(cell) - target.contribution - total(attackers)


def prior_posterior(cell: Cell, p: Fraction, q: Fraction, coalition: int) -> Fraction | None:
    """The largest shortfall p/q x target - rest over all attacks, if any is positive."""
    shortfalls = [p / q * target - rest for target, rest in attacks(cell, coalition)]
    worst = max(shortfalls, default=Fraction(0))
    return worst if worst > 0 else None


def dominance(cell: Cell, n: int, k: Fraction) -> Fraction | None:
    """Every choice of n respondents who are together the largest, with one among them who has not waived."""
    choices = list(combinations(cell, min(n, len(cell))))
    largest = max(total(choice) for choice in choices)
    exposed = any(total(choice) == largest and not all(respondent.waived for respondent in choice) for choice in choices)
    return 100 / k * largest - total(cell) if exposed and largest > k / 100 * total(cell) else None


def minimum_frequency(cell: Cell, n: int) -> bool:
    return 0 < frequency(cell) < n and not all(respondent.waived for respondent in cell)


def request(cell: Cell, percent: Fraction, minimum: int) -> bool:
    asked = [respondent.contribution for respondent in cell if respondent.requested]
    return any(x > percent / 100 * total(cell) for x in asked) or (bool(asked) and frequency(cell) < minimum)


def zero(cell: Cell) -> bool:
    return value(cell) == 0 and any(not respondent.waived for respondent in cell)


def level(cell: Cell, shortfall: Fraction, factor: Fraction = Fraction(1)) -> int:
    """A shortfall as a level of the published value; with a shadow variable, as the same share of it."""
    exact = factor * shortfall
    if any(respondent.shadow is not None for respondent in cell):
        exact = exact * value(cell) / total(cell)
    return math.ceil(exact)


def percent_level(cell: Cell, percent: Fraction) -> int:
    return math.ceil(percent / 100 * value(cell))
