"""Tables made by hand from lists of respondents: one dimension, one cell per list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from statveil.data.hierarchy import Hierarchy
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.spec import Dimension
from statveil.tables.table import Table, View
from tests.reference.rules import Cell, Respondent, frequency, total


def firms(*amounts: int) -> list[Respondent]:
    return [Respondent(amount) for amount in amounts]


def one_view(size: int, name: str = "table") -> View:
    """Cells A0, A1, ... in a row; no total among them, so that the total's position is empty."""
    tree = Hierarchy(parent={f"A{i}": "Total" for i in range(size)})
    return View(
        name=name,
        dimensions=(Dimension(name="area", trees=(tree,)),),
        coordinates=np.arange(1, size + 1).reshape(-1, 1),
        cell=np.arange(size),
        structural=np.zeros((0, 1), np.int64),
    )


def table_of(cells: Sequence[Cell], *, top: int = 8, scale: int = 0, decimals: int = 0, frequency_scale: int = 2) -> Table:
    def whole(numbers: list[int]) -> np.ndarray:
        return np.array(numbers, dtype=np.int64)

    def largest(people: list[Respondent]) -> int:
        return max((each.contribution for each in people), default=-1)

    ranked = [sorted((each.contribution for each in cell), reverse=True) for cell in cells]
    return Table(
        views=(one_view(len(cells)),),
        value=whole([sum(each.amount for each in cell) for cell in cells]),
        scale=scale,
        decimals=decimals,
        records=whole([len(cell) for cell in cells]),
        respondents=whole([len(cell) for cell in cells]),
        frequency=whole([int(frequency(cell) * 10**frequency_scale) for cell in cells]),
        frequency_scale=frequency_scale,
        magnitude=whole([total(cell) for cell in cells]),
        top=whole([(row + [0] * top)[:top] for row in ranked]).reshape(len(cells), top),
        largest_unwaived=whole([largest([each for each in cell if not each.waived]) for cell in cells]),
        largest_requested=whole([largest([each for each in cell if each.requested]) for cell in cells]),
        rule_scale=scale,
        has_shadow=any(each.shadow is not None for cell in cells for each in cell),
        input_hash="by hand",
    )


def without_respondents(table: Table) -> Table:
    """The same values as a ready table: nothing is known about respondents."""
    return replace(table, records=np.full(table.size, -1))


def judged(table: Table, asked: Mapping[int, int | tuple[int, int]]) -> Sensitivity:
    """Sensitive cells with their level, or with (lower, upper)."""
    lower, upper = np.zeros(table.size, dtype=np.int64), np.zeros(table.size, dtype=np.int64)
    sensitive = np.zeros(table.size, dtype=np.bool_)
    for cell, level in asked.items():
        lower[cell], upper[cell] = level if isinstance(level, tuple) else (level, level)
        sensitive[cell] = True
    return Sensitivity(
        sensitive=sensitive,
        lower_level=lower,
        upper_level=upper,
        frozen=np.zeros(table.size, dtype=np.bool_),
        weight=np.full(table.size, np.nan),
        minimum=np.full(table.size, -UNBOUNDED),
        maximum=np.full(table.size, UNBOUNDED),
    )


def levels_of(found: Sensitivity, cell: int) -> tuple[int, int]:
    return int(found.lower_level[cell]), int(found.upper_level[cell])
