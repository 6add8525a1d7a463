"""T27: published sensitive values that stand out from their row, column and level by being small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from statveil.audit.attacks.attacker import TUNING, expanded
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import AnswerAxis, AnswerTable, parts_of_sums
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable
from statveil.core.arrays import BoolArray, IntArray
from statveil.tables.spec import Dimension

THREAT = Threat(
    id="T27",
    name="tiny cells",
    does="Compares every released number with its neighbours, the other parts of every sum that it is a part of, and says of one below "
    "half of what nine in ten of them reach that it is zero or tiny.",
    mark="0 sensitive cells said to be zero or tiny that are: at most a tenth of what nine in ten of their true neighbours reach",
)
FEWEST_NEIGHBOURS = 3
"""Of fewer the whole level is looked at."""
NO_NEIGHBOUR = 0


@dataclass(frozen=True, kw_only=True)
class Families:
    """Which cells stand beside which: cell `part[k]` is a part of sum number `row[k]`; `level[i]` numbers the level of cell i."""

    row: IntArray
    part: IntArray
    level: IntArray

    def sizes(self, cells: IntArray) -> IntArray:
        """How many parts all sums together have that each of these cells is a part of."""
        per_cell = np.bincount(self.part, weights=np.bincount(self.row)[self.row], minlength=self.level.size)
        return np.asarray(per_cell[cells], dtype=np.int64)


def attack(case: Case) -> Verdict:
    journal, rng = case.attacker.journal, case.attacker.rng("tiny")
    found = np.zeros(4, dtype=np.int64)
    for number in journal.cell_answers(case.measure):
        table, truth = journal.answers[number].table, case.truth_of(number)
        released = np.where(table.shown, table.values, 0).reshape(-1)
        sensitive = truth.sensitive & table.shown.reshape(-1)
        families = families_of_answer(table, case.attacker.register.dimensions)
        found += counted(released, truth.value, sensitive, families, rng)
    return tiny_verdict(*found.tolist())


def counted(released: IntArray, value: IntArray, sensitive: BoolArray, families: Families, rng: np.random.Generator) -> IntArray:
    """Sensitive cells; of those looked at: how many, how many are zero or tiny, and of how many of these that is told."""
    cells = sample_of(np.flatnonzero(sensitive), families, rng)
    tiny = is_tiny(value, families, cells)
    told = tiny & said_tiny(released, families, cells)
    return np.array([int(sensitive.sum()), cells.size, int(tiny.sum()), int(told.sum())])


def tiny_verdict(sensitive: int, looked: int, tiny: int, told: int) -> Verdict:
    if not sensitive:
        return not_applicable(THREAT, "No sensitive cell was released.")
    figures: dict[str, Number] = {"sensitive cells": sensitive, "cells looked at": looked, "zero or tiny": tiny, "told": told}
    return judged(THREAT, passed=told == 0, number=f"{told:,} of {tiny:,} zero or tiny sensitive cells told", figures=figures)


def said_tiny(released: IntArray, families: Families, cells: IntArray) -> BoolArray:
    """The attacker's word, from released numbers alone."""
    return np.asarray(np.abs(released[cells]) < (low_of_neighbours(released, families, cells) + 1) // 2)


def is_tiny(value: IntArray, families: Families, cells: IntArray) -> BoolArray:
    """The truth: zero, or small beside the true neighbours."""
    return np.asarray(np.abs(value[cells]) <= low_of_neighbours(value, families, cells) // 10)


def sample_of(cells: IntArray, families: Families, rng: np.random.Generator) -> IntArray:
    """All of these cells, or as many at random as the work allows."""
    mixed = cells if cells.size <= TUNING.most_tiny_cells else rng.choice(cells, size=TUNING.most_tiny_cells, replace=False)
    if families.sizes(mixed).sum() > TUNING.most_neighbours:
        mixed = rng.permutation(mixed)
        mixed = mixed[: max(1, int(np.searchsorted(np.cumsum(families.sizes(mixed)), TUNING.most_neighbours)))]
    return np.sort(mixed)


def low_of_neighbours(amounts: IntArray, families: Families, cells: IntArray) -> IntArray:
    """The 10% quantile (the lower of two neighbouring numbers) of the absolute non-zero amounts around each of the cells.

    Around a cell are the other parts of every sum that it is a part of, once for each such sum; where fewer than three of them are not
    zero, all cells of its level. A cell around which there is nothing but zeros gets zero.
    """
    size = np.abs(amounts)
    low = np.full(cells.size, NO_NEIGHBOUR, dtype=np.int64)
    few = np.ones(cells.size, dtype=np.bool_)
    for chosen, owner, neighbour in _neighbours(families, cells):
        around = size[neighbour] > 0
        count = np.bincount(owner[around], minlength=chosen.size)
        enough = count >= FEWEST_NEIGHBOURS
        low[chosen[enough]] = low_of_groups(owner[around], size[neighbour[around]], chosen.size)[enough]
        few[chosen[enough]] = False
    present = np.flatnonzero(size > 0)
    of_level = low_of_groups(families.level[present], size[present], int(families.level.max(initial=-1)) + 1)
    low[few] = of_level[families.level[cells[few]]]
    return low


def low_of_groups(group: IntArray, amounts: IntArray, groups: int) -> IntArray:
    """The 10% quantile of the amounts of each group, as numpy's method "lower" has it; zero of a group without any."""
    order = np.lexsort((amounts, group))
    count = np.bincount(group, minlength=groups)
    start = np.cumsum(count) - count
    found = np.full(groups, NO_NEIGHBOUR, dtype=np.int64)
    filled = count > 0
    found[filled] = amounts[order][(start + (count - 1) // 10)[filled]]
    return found


def _neighbours(families: Families, cells: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Some of the places in `cells` at a time, and pairs (number among these places, neighbour)."""
    by_row, by_part = np.argsort(families.row, kind="stable"), np.argsort(families.part, kind="stable")
    parts, row_size = families.part[by_row], np.bincount(families.row)
    row_start = np.cumsum(row_size) - row_size
    sorted_parts, rows_of = families.part[by_part], families.row[by_part]
    first, last = (np.searchsorted(sorted_parts, cells, side=side) for side in ("left", "right"))
    work = np.cumsum(families.sizes(cells)) // TUNING.neighbours_at_once
    for start, end in zip(*_runs(work), strict=True):
        chosen = np.arange(start, end)
        owner, at = expanded(first[chosen], (last - first)[chosen])
        row = rows_of[at]
        pair, place = expanded(row_start[row], row_size[row])
        owner, neighbour = owner[pair], parts[place]
        other = neighbour != cells[chosen[owner]]
        yield chosen, owner[other], neighbour[other]


def _runs(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Where runs of equal numbers begin and end."""
    edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1)) if numbers.size else np.zeros(1, dtype=np.int64)
    return edges[:-1], edges[1:]


def families_of_answer(table: AnswerTable, dimensions: Mapping[str, Dimension]) -> Families:
    """By the labels: the sums that they promise, and the depth on each axis."""
    row, part = parts_of_sums(table, dimensions)
    level = np.zeros(table.values.shape, dtype=np.int64)
    for place, axis in enumerate(table.axes):
        depth = depths(dimensions[axis.id], axis)
        shape = [-1 if each == place else 1 for each in range(level.ndim)]
        level = level * (int(depth.max(initial=0)) + 1) + depth.reshape(shape)
    return Families(row=row, part=part, level=level.reshape(-1))


def depths(dimension: Dimension, axis: AnswerAxis) -> IntArray:
    """How deep each code of the axis lies in the first tree that has it."""
    return np.array([next(tree.depth[code] for tree in dimension.trees if code in tree.depth) for code in axis.codes], dtype=np.int64)


def families_of_relations(relations: csr_matrix, level: IntArray | None = None) -> Families:
    """By the relations that are sums: one cell of one sign, the others of the other. Without levels totals are one, and parts another."""
    entries = relations.tocoo()
    positive, negative = (np.bincount(entries.row[sign], minlength=relations.shape[0]) for sign in (entries.data > 0, entries.data < 0))
    up, down = (negative == 1) & (positive > 1), (positive == 1) & (negative > 1)
    part = (up[entries.row] & (entries.data > 0)) | (down[entries.row] & (entries.data < 0))
    if level is None:
        level = np.zeros(relations.shape[1], dtype=np.int64)
        level[entries.col[~part & (up | down)[entries.row]]] = 1
    return Families(row=entries.row[part].astype(np.int64), part=entries.col[part].astype(np.int64), level=level)
