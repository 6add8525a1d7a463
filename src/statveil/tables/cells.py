"""Positions of all tables with what was added up there, and the cells they are once equal ones are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from statveil.core.arrays import AnyArray, IntArray

UNWAIVED, REQUESTED = 1, 2
"""Bits of a respondent's flags; a holding has the bits that any of its records has."""


@dataclass(frozen=True, kw_only=True)
class Positions:
    """Arrays side by side, one entry per position that holds a record.

    `low_print` and `high_print` are the fingerprint of the set of records: equal sets, equal prints.
    """

    key: IntArray
    records: IntArray
    low_print: AnyArray
    high_print: AnyArray
    value: IntArray
    weight: IntArray
    mass: IntArray
    respondents: IntArray
    magnitude: IntArray
    top: IntArray
    unwaived: IntArray
    requested: IntArray

    def take(self, order: IntArray) -> Positions:
        return Positions(**{field.name: getattr(self, field.name)[order] for field in fields(self)})


def join_positions(parts: Sequence[Positions]) -> Positions:
    return Positions(**{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Positions)})


def merge_equal(positions: Positions, response: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """(cell of each position, first position of each cell); cells are numbered by first appearance.

    Positions are one cell if they have the same records and, where it is given, the same response.
    """
    marks = (positions.low_print, positions.high_print, positions.records, *(() if response is None else (response,)))
    return merge_marks(marks)


def merge_marks(marks: Sequence[AnyArray]) -> tuple[IntArray, IntArray]:
    """The same for positions that are one cell where all their marks are equal."""
    if marks[0].size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort(marks)
    new = np.zeros(order.size, dtype=np.bool_)
    new[0] = True
    for mark in marks:
        new[1:] |= np.diff(mark[order]) != 0
    firsts = order[new]  # lexsort is stable, so the first of a group is its first appearance
    rank = np.empty(firsts.size, np.int64)
    rank[np.argsort(firsts)] = np.arange(firsts.size)
    cell = np.empty(order.size, np.int64)
    cell[order] = rank[np.cumsum(new) - 1]
    return cell, np.sort(firsts)
