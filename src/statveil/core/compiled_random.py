"""Chance for compiled loops: far quicker than a generator's draws, and the same for the same seed."""

from __future__ import annotations

import numpy as np
from numba import njit

STEP = np.uint64(0x9E3779B97F4A7C15)
"""What a counter of words goes on by."""
CHANCES = 8192
EXPONENTIAL = -np.log((np.arange(CHANCES) + 0.5) / CHANCES)
"""-ln of evenly spread chances: Metropolis accepts a move if its cost is at most the temperature times one of these."""


@njit(cache=True, inline="always")
def mixed(word):  # type: ignore[no-untyped-def]
    """Splitmix64: a well mixed word from a counter."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, inline="always")
def below(bits, size):  # type: ignore[no-untyped-def]
    """A number from 0 to size - 1 from 32 bits of chance."""
    return np.int64((bits * np.uint64(size)) >> np.uint64(32))
