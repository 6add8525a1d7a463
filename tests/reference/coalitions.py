"""Respondents who subtract what they gave, by brute force: every coalition, every target, in fractions. Slow, and easy to believe."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations


def is_told(amounts: Sequence[int | Fraction], fall: int, near: Fraction, coalition: int) -> bool:
    """Whether some coalition, from the cell released `fall` lower (a rise: below zero), finds another nearer than that share of it."""
    released = sum(amounts) - fall
    for size in range(1, coalition + 1):
        for members in combinations(range(len(amounts)), size):
            left = released - sum(amounts[i] for i in members)
            if any(abs(left - x) < near * abs(x) for i, x in enumerate(amounts) if i not in members):
                return True
    return False
