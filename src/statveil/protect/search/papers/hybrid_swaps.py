"""Method `hybrid-swaps`: Hybrid-With-Swaps, the end of S0 section 3.

Two cells of one group that share a total push it the same way. A group's score is the number of totals in common, summed
over its pairs of cells. Cells are swapped between groups while that lowers the sum of all scores; then the MILP of `hybrid`.

Totals in common are read off the relations: both cells stand on the same side of one. (A part and its own total stand on
opposite sides and make up for each other; S0 has no sensitive totals.) Cells that move as one (`hybrid`) stay in their group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack

from statveil.core.arrays import BoolArray, IntArray
from statveil.protect.problem import ProtectionProblem
from statveil.protect.search.papers.hybrid import begin, deal, group_counts, moved_as_one, solve_grouped
from statveil.protect.search_state import Search


class SwapsTuning(NamedTuple):
    """How long cells are swapped."""

    swaps_share: float = 0.3  # of a run's time, so that huge tables are left time for the MILP; by judgement


TUNING = SwapsTuning()


def run(search: Search, *, groups: int = 16, runs: int = 8) -> None:
    """Like `hybrid`, with swaps before each MILP."""
    begin(search)
    for count, seconds in group_counts(search, groups, runs):
        search.enter(f"swapping cells of {count} groups")
        until = search.seconds_left - seconds
        group = swapped_groups(search, count, seconds=TUNING.swaps_share * seconds)
        search.enter(f"hybrid with {count} swapped groups")
        solve_grouped(search, group, seconds=search.seconds_left - until)


def swapped_groups(search: Search, groups: int, *, seconds: float) -> IntArray:
    """Groups that no swap of two cells improves, if time allows; else as far as it got."""
    bundle = moved_as_one(search.problem)
    swaps = Swaps(sides(search.problem), deal(search.problem, groups), loose=np.bincount(bundle)[bundle] == 1)
    until = search.seconds_left - seconds
    moved = True
    while moved:
        moved = False
        for cell in np.flatnonzero(swaps.loose).tolist():
            if search.seconds_left <= until:
                return swaps.group
            moved |= swaps.improve(cell)
    return swaps.group


def sides(problem: ProtectionProblem) -> csr_matrix:
    """Which cell with a choice stands on which side of which relation: two columns a relation, ones and zeros."""
    choice = problem.choices
    columns = problem.relations[:, choice]
    return csr_matrix(hstack([(columns > 0).T, (columns < 0).T], format="csr"), dtype=np.int64)


class Swaps:
    """Groups under way. `conflicts[c, g]` is how many totals cell c has in common with the other cells of group g, summed.

    Only `loose` cells are swapped; all of them where nothing is said.
    """

    def __init__(self, sides: csr_matrix, group: IntArray, loose: BoolArray | None = None) -> None:
        self.loose = np.ones(group.size, dtype=np.bool_) if loose is None else loose
        self._sides, self._members = sides, csr_matrix(sides.T)
        self.group = group.copy()
        cells, groups = group.size, int(group.max(initial=-1)) + 1
        membership = csr_matrix((np.ones(cells, dtype=np.int64), (np.arange(cells), group)), shape=(cells, groups))
        self.conflicts = np.asarray((sides @ (self._members @ membership)).toarray())
        self.conflicts[np.arange(cells), group] -= np.diff(sides.indptr)  # a cell does not conflict with itself

    @property
    def score(self) -> int:
        """The grand total of all group scores; each pair is seen from both ends."""
        return int(self.conflicts[np.arange(self.group.size), self.group].sum()) // 2

    def improve(self, cell: int) -> bool:
        """Swap the cell with the partner that lowers the score most, if one lowers it at all."""
        own, each = self.group[cell], np.arange(self.group.size)
        common = self._in_common(cell)
        here = self.conflicts[each, self.group]
        change = self.conflicts[cell, self.group] - here[cell] + self.conflicts[:, own] - here - 2 * common
        change[(self.group == own) | ~self.loose] = 0
        partner = int(np.argmin(change)) if change.size else cell
        if change.size == 0 or change[partner] >= 0:
            return False
        self._move(cell, int(self.group[partner]), common)
        self._move(partner, int(own), self._in_common(partner))
        return True

    def _move(self, cell: int, to: int, common: IntArray) -> None:
        self.conflicts[:, self.group[cell]] -= common
        self.conflicts[:, to] += common
        self.group[cell] = to

    def _in_common(self, cell: int) -> IntArray:
        """Totals in common with each other cell."""
        common = np.asarray((self._sides @ self._members[:, [cell]]).toarray()).ravel()
        common[cell] = 0
        return common
