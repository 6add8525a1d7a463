"""Method `random`: Best-Among-Random-Assignment of S0 section 3. Nothing is learnt from one draw to the next."""

from __future__ import annotations

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.protect.search_state import Search


def run(search: Search, *, repetitions: int = 100) -> None:
    """Draw every sense by a fair coin, price the draw by one program, keep the cheapest table (S0 used 100 and 1000 draws).

    A start given counts as the first draw. Draws without a table are passed over; if all are, the method ends with none.
    """
    if repetitions < 1:
        raise InputError("Method 'random' needs repetitions of 1 or more.")
    search.enter("random senses")
    for turn in range(repetitions):
        if search.done:
            return
        search.try_senses(search.start if turn == 0 and search.start is not None else draw_senses(search))


def draw_senses(search: Search) -> IntArray:
    """A fair coin per sensitive cell; a cell with one open sense takes it."""
    problem = search.problem
    heads = search.rng.random(problem.size) < 0.5
    up = np.where(problem.can_go_up & problem.can_go_down, heads, problem.can_go_up)
    return np.where(problem.sensitive, np.where(up, 1, -1), 0).astype(np.int64)
