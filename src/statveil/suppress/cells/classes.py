"""A smaller problem with the same answers: cells that cannot move are left out, and cells that can only move together are one class.

A published cell has deviation zero. A sum with one cell left shows it; a sum with two left ties them, so that both are suppressed or none
is. Where the sums of a table are followed to the end, few cells remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InfeasibleProblem
from statveil.suppress.cells.problem import ENDLESS, SuppressionProblem


class Need(NamedTuple):
    """A class must be able to move by `amount` in this `sense`, even for one who knows the classes `known`."""

    target: int
    sense: int
    amount: int
    known: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClassSystem:
    """The reduced problem: relations between classes, how far each can go down and up, what suppressing it costs.

    `free` classes hold a primary or hidden cell: they are suppressed anyway. `single`: somebody knows the class.
    of_cell, sign: the class of each cell (-1: it cannot move) and which way it moves with it.
    """

    relations: csr_matrix
    down: IntArray
    up: IntArray
    cost: IntArray
    free: BoolArray
    sensitive: BoolArray
    single: BoolArray
    needs: tuple[Need, ...]
    of_cell: IntArray
    sign: IntArray

    @property
    def size(self) -> int:
        return int(self.cost.size)

    @cached_property
    def columns(self) -> csc_matrix:
        """The relations, class by class."""
        return csc_matrix(self.relations)

    def cells(self, classes: BoolArray) -> BoolArray:
        """The cells of these classes."""
        inside = self.of_cell >= 0
        return np.asarray(inside & classes[np.where(inside, self.of_cell, 0)])


def classes_of(problem: SuppressionProblem) -> ClassSystem:
    """Reduce a problem; refused where a primary cell is shown by published cells whatever is suppressed."""
    group, sign = _tied(problem)
    movable = group >= 0
    lost = np.flatnonzero(problem.primary & ~movable)
    if lost.size:
        raise InfeasibleProblem(
            f"Cell {lost[0]} cannot be protected: cells that must be published show it ({lost.size} such cells).",
            hint="Free frozen cells near it, or allow more cells to be suppressed.",
        )
    numbers, of_cell = np.unique(np.where(movable, group, -1), return_inverse=True)
    of_cell = of_cell.astype(np.int64) - int(numbers.size > 0 and numbers[0] == -1)
    return _collected(problem, of_cell, sign, int(of_cell.max(initial=-1)) + 1)


def _tied(problem: SuppressionProblem) -> tuple[IntArray, IntArray]:
    """The group of each cell (-1: none) and its sign in it, by following sums with one or two groups left until nothing changes."""
    group = np.where(problem.candidate | problem.primary | problem.hidden, np.arange(problem.size), -1)
    group[(problem.lower == problem.value) & (problem.upper == problem.value)] = -1
    sign = np.ones(problem.size, dtype=np.int64)
    while True:
        matrix = _grouped(problem.relations, group, sign)
        count = np.diff(matrix.indptr)
        lone = np.unique(matrix.indices[matrix.indptr[:-1][count == 1]])
        if lone.size:
            group[np.isin(group, lone)] = -1
            continue
        if not _merge_pairs(matrix, np.flatnonzero(count == 2), group, sign):
            return group, sign


def _grouped(relations: csr_matrix, group: IntArray, sign: IntArray) -> csr_matrix:
    """Relations between groups."""
    inside = np.flatnonzero(group >= 0)
    members = csr_matrix((sign[inside], (inside, group[inside])), shape=(group.size, group.size))
    matrix = csr_matrix(relations @ members)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _merge_pairs(matrix: csr_matrix, rows: IntArray, group: IntArray, sign: IntArray) -> bool:
    """Make one group of the two in each such row, where they move by the same amount; whether anything changed."""
    root: dict[int, tuple[int, int]] = {}
    still: set[int] = set()
    for row in rows.tolist():
        first, second = matrix.indptr[row], matrix.indptr[row] + 1
        if abs(int(matrix.data[first])) != abs(int(matrix.data[second])):
            continue
        (one, its), (other, others) = (_root(root, int(matrix.indices[place])) for place in (first, second))
        turn = -int(np.sign(matrix.data[first]) * np.sign(matrix.data[second])) * its * others
        if one != other:
            root[max(one, other)] = (min(one, other), turn)
        elif turn < 0:  # a cell that is its own negative stays where it is
            still.add(one)
    if not root and not still:
        return False
    target, turned = np.arange(-1, group.size), np.ones(group.size + 1, dtype=np.int64)
    for number in [*root, *still]:
        end, turn = _root(root, number)
        target[number + 1], turned[number + 1] = (-1 if end in still else end), turn
    sign *= turned[group + 1]
    group[:] = target[group + 1]
    return True


def _root(root: dict[int, tuple[int, int]], number: int) -> tuple[int, int]:
    turn = 1
    while number in root:
        number, step = root[number]
        turn *= step
    return number, turn


def _collected(problem: SuppressionProblem, of_cell: IntArray, sign: IntArray, size: int) -> ClassSystem:
    """What the cells of each class say together."""
    inside = np.flatnonzero(of_cell >= 0)
    group, turn = of_cell[inside], sign[inside]
    below, above = (problem.value - problem.lower)[inside], (problem.upper - problem.value)[inside]
    below, above = np.where(problem.lower[inside] <= -ENDLESS, ENDLESS, below), np.where(problem.upper[inside] >= ENDLESS, ENDLESS, above)
    down, up = np.full(size, ENDLESS), np.full(size, ENDLESS)
    np.minimum.at(down, group, np.where(turn > 0, below, above))
    np.minimum.at(up, group, np.where(turn > 0, above, below))
    cost = np.zeros(size, dtype=np.int64)
    np.add.at(cost, group, np.where((problem.primary | problem.hidden)[inside], 0, problem.cost[inside]))
    flags = {name: np.zeros(size, dtype=np.bool_) for name in ("primary", "hidden", "single")}
    for name, flag in flags.items():
        np.logical_or.at(flag, group, getattr(problem, name)[inside])
    matrix = csr_matrix(problem.relations @ csr_matrix((turn, (inside, group)), shape=(problem.size, size)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return ClassSystem(
        relations=csr_matrix(matrix[np.diff(matrix.indptr) > 0]),
        down=down,
        up=up,
        cost=cost,
        free=flags["primary"] | flags["hidden"],
        sensitive=flags["primary"],
        single=flags["single"],
        needs=_needs(problem, of_cell, sign, size),
        of_cell=of_cell,
        sign=sign,
    )


def _needs(problem: SuppressionProblem, of_cell: IntArray, sign: IntArray, size: int) -> tuple[Need, ...]:
    """The largest level of each class and sense, largest first; a cell without a level must not be shown exactly."""
    amount = np.zeros((2, size), dtype=np.int64)
    for cell in np.flatnonzero(problem.primary).tolist():
        group, turned = of_cell[cell], int(sign[cell] < 0)
        low, high = int(problem.lower_level[cell]), int(problem.upper_level[cell])
        if low == high == 0:
            high = int(problem.upper[cell] > problem.value[cell])
            low = 1 - high
        amount[turned, group] = max(amount[turned, group], high)
        amount[1 - turned, group] = max(amount[1 - turned, group], low)
    found = [Need(int(group), 1 - 2 * int(row), int(amount[row, group])) for row, group in zip(*np.nonzero(amount), strict=True)]
    return tuple(sorted(found, key=lambda need: (-need.amount, need.target, -need.sense)))
