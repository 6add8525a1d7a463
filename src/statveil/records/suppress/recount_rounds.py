"""Rule `recount` in rounds: blanks are added, each time exactly what the last recount asks for, until a recount finds nothing.

Then blanks that later ones made needless are taken back, alone or as the records of one cell together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray
from statveil.records.frequencies import Words, distinct_patterns
from statveil.records.suppress.covers import cheapest_covers
from statveil.records.suppress.problem import SuppressionProblem, row_amount


class RecountRoundsTuning(NamedTuple):
    """By judgement."""

    most_taken_back: int = 20_000
    """Rows with blanks up to which it is tried to take some back."""
    densest: int = 1 << 20
    """Cells up to which they are numbered by looking them up in an array."""


TUNING = RecountRoundsTuning()


def add_rounds(
    problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray, unsafe: Words | None = None
) -> tuple[IntArray, list[int]]:
    """Add blanks until a recount is safe; the masks of units, and the blanked rows after each round. `unsafe`: what the first one says."""
    rounds: list[int] = []
    while True:
        masks = problem.fields_of(units)
        rounds.append(int((np.bitwise_count(masks) * records).sum()))
        again = unsafe is None or len(rounds) > 1
        amount, judge = row_amount(problem, key, records), problem.judge_of(key, records)
        patterns = problem.patterns(problem.blanked(key, masks), amount, judge) if again else unsafe
        assert patterns is not None
        bad = np.flatnonzero(patterns.any(axis=1))
        if not bad.size:
            return units, rounds
        distinct, inverse = distinct_patterns(patterns[bad])
        more, _ = cheapest_covers(distinct, problem.table_masks, problem.unit_cost)
        units = units.copy()
        units[bad] |= more[inverse]


class ReleasedCounts:
    """What each cell of each table holds of the released rows, kept up to date while blanks are taken back."""

    def __init__(self, problem: SuppressionProblem, key: IntArray, masks: IntArray, records: IntArray) -> None:
        self.problem, self.records, amount = problem, records, row_amount(problem, key, records)
        self.amount = amount
        self.cell: list[IntArray] = []
        self.total: list[IntArray] = []
        self.fields = [sum(1 << place for place in places) for places, _ in problem.coded.tables]
        codes = problem.coded.codes[:, key]
        for number, (places, _) in enumerate(problem.coded.tables):
            dense = numbered_cells(problem.cells(places, codes))
            total = np.zeros(dense.max() + 2, dtype=np.int64)
            shown = (masks & self.fields[number] == 0) & (dense >= 0)
            np.add.at(total, dense[shown], amount[shown])
            self.cell.append(dense)
            self.total.append(total)

    def opened(self, before: int, after: int) -> list[int]:
        """Tables that a row shows after, but not before."""
        return [number for number, fields in enumerate(self.fields) if fields & before and not fields & after]

    def allows(self, rows: IntArray, tables: list[int]) -> bool:
        """Whether these rows, all shown in these tables from now on, would be safe there."""
        for number in tables:
            cells = self.cell[number][rows]
            cells, amount = cells[cells >= 0], self.amount[rows][cells >= 0]
            distinct, inverse = np.unique(cells, return_inverse=True)
            more = np.bincount(inverse.ravel(), weights=amount, minlength=distinct.size)
            if (self.total[number][distinct] + more < self.problem.coded.tables[number][1]).any():
                return False
        return True

    def hide_one(self, row: int, mask: int) -> bool:
        """Hide these fields in one record of a row if every combination it leaves keeps enough records; whether it was done.

        The records of a row weigh the same: where some are to be hidden, keys are told apart by weight.
        """
        tables = [number for number, fields in enumerate(self.fields) if fields & mask and self.cell[number][row] >= 0]
        one = int(self.amount[row]) // int(self.records[row])
        if any(self.total[number][self.cell[number][row]] - one < self.problem.coded.tables[number][1] for number in tables):
            return False
        for number in tables:
            self.total[number][self.cell[number][row]] -= one
        return True

    def show(self, rows: IntArray, tables: list[int]) -> None:
        for number in tables:
            cells = self.cell[number][rows]
            np.add.at(self.total[number], cells[cells >= 0], self.amount[rows][cells >= 0])


def take_back(
    problem: SuppressionProblem, key: IntArray, units: IntArray, records: IntArray, *, stopped: Callable[[], bool] = lambda: False
) -> IntArray:
    """Take blanks back where that keeps a recount safe: dearest units first, whole groups of rows that share key parts and mask."""
    blanked = np.flatnonzero(units)
    if not blanked.size or blanked.size > TUNING.most_taken_back or stopped():
        return units
    units = units.copy()
    counts = ReleasedCounts(problem, key, problem.fields_of(units), records)
    order = [int(unit) for unit in np.argsort(-problem.unit_cost, kind="stable")]
    changed = True
    while changed:
        changed = False
        for unit in order:
            for rows in alike_rows(problem, key, units, unit):
                if stopped():
                    return units
                before = int(problem.fields_of(units[rows[:1]])[0])
                after = int(problem.fields_of(units[rows[:1]] & ~(1 << unit))[0])
                tables = counts.opened(before, after)
                if counts.allows(rows, tables):
                    counts.show(rows, tables)
                    units[rows] &= ~(1 << unit)
                    changed = True
    return units


def alike_rows(problem: SuppressionProblem, key: IntArray, units: IntArray, unit: int) -> list[IntArray]:
    """Rows with this unit blank: those with equal masks and equal open values together."""
    rows = np.flatnonzero((units >> unit) & 1)
    if not rows.size:
        return []
    shown = units[rows] & ~(1 << unit)
    codes = problem.blanked(key[rows], problem.fields_of(shown))
    for field, level in enumerate(problem.levels):
        codes[field] = np.where(codes[field] < 0, -1, problem.maps.code(field, level)[np.maximum(codes[field], 0)])
    _, inverse = np.unique(np.concatenate([codes, shown[None]]), axis=1, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    bounds = np.flatnonzero(np.diff(inverse.ravel()[order])) + 1
    return np.split(rows[order], bounds)


def numbered_cells(cells: IntArray) -> IntArray:
    """The cells that there are numbered from 0 on; -1 for none."""
    known, size = cells >= 0, int(cells.max(initial=-1)) + 1
    numbers = np.full(cells.size, -1, dtype=np.int64)
    if size <= TUNING.densest + 4 * cells.size:
        there = np.zeros(size, dtype=np.int64)
        there[cells[known]] = 1
        numbers[known] = (np.cumsum(there) - 1)[cells[known]]
    else:
        numbers[known] = np.unique(cells[known], return_inverse=True)[1].ravel()
    return numbers
