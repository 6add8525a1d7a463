"""What cells and relations are called in messages: numbers, or the labels of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from statveil.protect.problem import ProtectionProblem
from statveil.tables.table import Table

MOST_NAMED = 8
"""Cells of a relation that are named; more are counted."""


class Names(Protocol):
    """How a message calls things."""

    def cell(self, cell: int) -> str: ...

    def relation(self, relation: int) -> str: ...

    def amount(self, units: int) -> str: ...


class Numbers:
    """For a system without labels. Amounts are in units of 10**-decimals."""

    def __init__(self, problem: ProtectionProblem, *, decimals: int = 0) -> None:
        self._problem, self._decimals = problem, decimals

    def cell(self, cell: int) -> str:
        return f"cell {cell}"

    def relation(self, relation: int) -> str:
        return f"relation {relation} ({_listed([self.cell(cell) for cell in _cells_of(self._problem, relation)])})"

    def amount(self, units: int) -> str:
        return _in_decimals(units, self._decimals)


class Labels:
    """For a problem built from a table: each cell by the labels of its first position, each relation by its total."""

    def __init__(self, problem: ProtectionProblem, table: Table) -> None:
        self._problem, self._table = problem, table

    def cell(self, cell: int) -> str:
        if cell >= self._table.shown:
            return next(union.words for union in self._table.unions if union.cell == cell)
        view, row = next((view, rows[0]) for view in self._table.views if (rows := np.flatnonzero(view.cell == cell)).size)
        codes = zip(view.dimensions, view.coordinates[row], strict=True)
        words = " x ".join(f"{dimension.name} {dimension.codes[code]}" for dimension, code in codes)
        return words if len(self._table.views) == 1 else f"{view.name}: {words}"

    def relation(self, relation: int) -> str:
        matrix = self._problem.relations
        signs = matrix.data[matrix.indptr[relation] : matrix.indptr[relation + 1]]
        cells = np.array(_cells_of(self._problem, relation))
        totals, parts = ([self.cell(int(cell)) for cell in cells[side]] for side in (signs < 0, signs > 0))
        return f"the total {_listed(totals)} over its parts ({_listed(parts)})"

    def amount(self, units: int) -> str:
        return _in_decimals(units, self._table.decimals)


def _cells_of(problem: ProtectionProblem, relation: int) -> list[int]:
    matrix = problem.relations
    return [int(cell) for cell in matrix.indices[matrix.indptr[relation] : matrix.indptr[relation + 1]]]


def _listed(names: Sequence[str]) -> str:
    """Names in a row; of many, the first few and a count."""
    rest = len(names) - MOST_NAMED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:MOST_NAMED])} and {rest} more"


def _in_decimals(units: int, decimals: int) -> str:
    if decimals <= 0:
        return f"{units * 10**-decimals:,}"
    whole, part = divmod(abs(units), 10**decimals)
    return f"{'-' if units < 0 else ''}{whole:,}.{part:0{decimals}}"
