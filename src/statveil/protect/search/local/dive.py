"""Dives: fix senses little by little, each time as the rest of the table already leans (docs/science.md, section 4, "fixing the largest
|z|/p first").

At first only one sensitive cell must move; the cheapest way to let it drags others along. Those are fixed the way they were
dragged, the program is solved again, and so on: the senses fit one another, so that even tight tables stay feasible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.limits import Ending
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.exact import some_choices
from statveil.protect.search_state import Search


class DiveTuning(NamedTuple):
    """How much is forgotten before a dive from the best senses."""

    shares_reopened: tuple[float, ...] = (0.1, 0.2, 0.4)  # in turn; by judgement


TUNING = DiveTuning()


def run(search: Search, *, dives: int = 6, share: float = 0.05, patience: int = 60) -> None:
    """Method `dive`: dives from different first cells, then parts of the best senses opened and dived into again.

    `share` of the open cells is fixed at each step at least; `patience` tries in a row without gain end the search.
    """
    search.enter("diving")
    for number in range(dives):
        if search.done:
            return
        try_dive(search, share=share, noise=0.0 if number == 0 else 0.5)
    search.enter("diving again")
    reopen(search, share=share, patience=patience)


def try_dive(search: Search, *, share: float, noise: float, start: IntArray | None = None) -> bool:
    senses = dive(search, share=share, noise=noise, start=start)
    return senses is not None and search.try_senses(senses)


def reopen(search: Search, *, share: float = 0.05, patience: int = 60) -> None:
    """Large neighbourhoods by dives: forget a random part of the best senses, or those around one cell, and dive from there."""
    choices = search.problem.choices.size
    idle = turn = 0
    while search.best is not None and choices and idle < patience and not search.done:
        senses = search.problem.senses_of(search.best)
        part = TUNING.shares_reopened[turn % len(TUNING.shares_reopened)]
        senses[some_choices(search, max(2, int(part * choices)), around=turn % 2 == 0)] = 0
        better = try_dive(search, share=share, noise=0.3, start=senses)
        idle, turn = 0 if better else idle + 1, turn + 1


def dive(search: Search, *, share: float, noise: float, start: IntArray | None = None) -> IntArray | None:
    """One dive, from the senses already fixed in `start`; None when it runs aground or out of time.

    A step that leaves no table is taken back by halves; a single cell that cannot go one way goes the other.
    """
    problem, program = search.problem, search.program
    senses = forced_senses(problem) if start is None else start.copy()
    heavy = problem.weight * np.maximum(problem.lower_level, problem.upper_level) * np.exp(noise * search.rng.standard_normal(problem.size))
    last, turned = np.zeros(0, dtype=np.int64), False
    while search.seconds_left > 0:
        solution = program.solve(senses, seconds=search.seconds_left, worth=search.objective)
        if solution.x is None:
            if solution.ending is not Ending.INFEASIBLE or last.size == 0 or turned:
                return None
            turned = last.size == 1
            last = _take_back(senses, last)
            continue
        open_cells = np.flatnonzero(problem.sensitive & (senses == 0))
        if open_cells.size == 0:
            return senses
        last, turned = _leaning(problem, program.deviation(solution.x), open_cells, heavy, max(1, int(share * open_cells.size))), False
        senses[last] = np.where(program.deviation(solution.x)[last] >= 0, 1, -1)
    return None


def _take_back(senses: IntArray, last: IntArray) -> IntArray:
    """Undo a step that left no table: keep its first half only, or turn the cell if it was a single one."""
    if last.size == 1:
        senses[last] = -senses[last]
        return last
    senses[last[last.size // 2 :]] = 0
    return last[: last.size // 2]


def forced_senses(problem: ProtectionProblem) -> IntArray:
    """Senses of the cells that have no choice; the others are open (0)."""
    up_only, down_only = problem.can_go_up & ~problem.can_go_down, problem.can_go_down & ~problem.can_go_up
    return np.where(up_only, 1, np.where(down_only, -1, 0)).astype(np.int64)


def _leaning(problem: ProtectionProblem, z: FloatArray, open_cells: IntArray, heavy: FloatArray, least: int) -> IntArray:
    """Cells to fix next: all that are at their level already, else those that lean furthest towards it, else the heaviest."""
    lean = np.where(z > 0, z / np.maximum(problem.upper_level, 1), -z / np.maximum(problem.lower_level, 1))[open_cells]
    order = np.argsort(-lean, kind="stable")
    reached = int((lean >= 1 - 1e-9).sum())
    leaning = int((lean > 1e-9).sum())
    if leaning == 0:
        return open_cells[[int(np.argmax(heavy[open_cells]))]]
    return open_cells[order[: reached or min(least, leaning)]]
