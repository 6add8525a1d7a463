"""From a table and its sensitivity to the problem in published units: rounding, levels, bounds, weights; what its cells are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix

from statveil.core.arrays import LARGEST_EXACT, AnyArray, BoolArray, FloatArray, IntArray
from statveil.core.errors import InputError
from statveil.protect.options import NO_LIMIT, Options
from statveil.protect.problem import ProtectionProblem
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.relations import relations
from statveil.tables.table import Table

NEXT_TO_NOTHING = 0.001
"""Positions that a cell counts for which is published at none."""
MOST_NAMED = 8
"""Cells of a relation that are named in a message; more are counted."""


def build_problem(table: Table, sensitivity: Sensitivity, options: Options) -> ProtectionProblem:
    """The problem whose solutions are the safe tables that may be published.

    table, sensitivity: the cells, and what the rules say of them. options: variant, norm, weights, bounds and cap.

    A table with more decimals than are published (weighted totals) is rounded first; the deviations then also restore the
    sums. Levels are measured from the exact value, so a cell is safe after rounding, not before it.

    >>> import statveil as sv
    >>> table = sv.table_from_cells({"shop": sv.Hierarchy.flat(["A", "B"])}, {("A",): 12, ("B",): 30})
    >>> word = sv.rules.ManualCell(cell={"shop": "A"}, status="sensitive", level=25)
    >>> problem = build_problem(table, sv.rules.assess(table, [sv.rules.Manual([word])]), Options())
    >>> problem.lower_level.tolist(), problem.variant
    ([0, 3, 0], 'at-least')
    """
    unit = _published_unit(table)
    value = nearest(table.value, unit)
    if (np.abs(value) >= LARGEST_EXACT).any():
        raise InputError(
            "A cell is too large to be computed exactly (2^53 published units or more).",
            hint="Publish with fewer decimals, or in thousands (decimals = -3).",
        )
    down_to = (table.value - sensitivity.lower_level) // unit
    up_to = -((-(table.value + sensitivity.upper_level)) // unit)
    matrix = relations(table)
    lower, upper = _bounds(table, sensitivity, options, value, down_to, up_to)
    still = (table.value == 0) & ~_over_sensitive_zeros(table, sensitivity, matrix)
    held = ~sensitivity.sensitive & (sensitivity.frozen | still)
    lower, upper = np.where(held, value, lower), np.where(held, value, upper)
    unseen = np.arange(table.size) >= table.shown  # nobody reads the sum of a set of cells: it need only be safe
    lower, upper = np.where(unseen, -NO_LIMIT, lower), np.where(unseen, NO_LIMIT, upper)
    lower, upper = _own_bounds(table, sensitivity, lower, upper)
    return ProtectionProblem(
        relations=matrix,
        rhs=np.zeros(matrix.shape[0], dtype=np.int64),
        value=value,
        weight=_weights(table, sensitivity, options, value),
        lower=lower,
        upper=upper,
        sensitive=np.asarray(sensitivity.sensitive),
        lower_level=np.where(sensitivity.sensitive, value - down_to, 0),
        upper_level=np.where(sensitivity.sensitive, up_to - value, 0),
        variant=options.variant,
        norm=options.norm,
    )


def _published_unit(table: Table) -> int:
    """How many table units make one published unit. (A table never has fewer decimals than it publishes.)"""
    return int(10 ** (table.scale - table.decimals))


def nearest(amount: IntArray, unit: int) -> IntArray:
    """Amounts as whole numbers of units, halves to the even one."""
    below = amount // unit
    twice = (amount - below * unit) * 2
    return np.asarray(below + ((twice > unit) | ((twice == unit) & (below % 2 == 1))), dtype=np.int64)


def _bounds(
    table: Table, sensitivity: Sensitivity, options: Options, value: IntArray, down_to: IntArray, up_to: IntArray
) -> tuple[IntArray, IntArray]:
    """Published bounds: the user's, widened so that a sensitive cell can reach its level, then cap and sign."""
    unit = _published_unit(table)
    low, high = _asked_range(table, options, value)
    sensitive = sensitivity.sensitive
    low, high = np.where(sensitive, np.minimum(low, down_to), low), np.where(sensitive, np.maximum(high, up_to), high)
    if options.cap is not None:
        most_down = -(-(table.value - _multiple(sensitivity.lower_level, options.cap)) // unit)
        most_up = (table.value + _multiple(sensitivity.upper_level, options.cap)) // unit
        low = np.where(sensitive, np.maximum(low, np.minimum(most_down, down_to)), low)
        high = np.where(sensitive, np.minimum(high, np.maximum(most_up, up_to)), high)
    return _keep_signs(table, value, low, high)


def _own_bounds(table: Table, sensitivity: Sensitivity, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """The bounds that the user gave for single cells, on top of all others."""
    unit = _published_unit(table)
    minimum = np.where(sensitivity.minimum > -NO_LIMIT, -((-sensitivity.minimum) // unit), -NO_LIMIT)
    maximum = np.where(sensitivity.maximum < NO_LIMIT, sensitivity.maximum // unit, NO_LIMIT)
    return np.maximum(low, minimum), np.minimum(high, maximum)


def _over_sensitive_zeros(table: Table, sensitivity: Sensitivity, matrix: csr_matrix) -> BoolArray:
    """Zeros that are totals of zeros that must rise: they cannot stay zero, any other zero can and does."""
    zero = table.value == 0
    part, total = matrix > 0, (matrix < 0).T
    over = zero & sensitivity.sensitive
    while True:
        grown = over | (zero & (total @ (part @ over)))
        if (grown == over).all():
            return np.asarray(over)
        over = grown


def _asked_range(table: Table, options: Options, value: IntArray) -> tuple[IntArray, IntArray]:
    """The range asked for all cells, rounded inwards, never excluding the rounded value itself."""
    bounds, unit = options.bounds, _published_unit(table)
    low, high = np.full(value.size, -NO_LIMIT), np.full(value.size, NO_LIMIT)
    size = np.abs(table.value)
    if bounds.percent_down is not None:
        low = -((-(table.value - _multiple(size, bounds.percent_down, per=100))) // unit)
    if bounds.percent_up is not None:
        high = (table.value + _multiple(size, bounds.percent_up, per=100)) // unit
    if bounds.minimum is not None:
        low = np.maximum(low, _limited(math.ceil(_in_published_units(table, bounds.minimum))))
    if bounds.maximum is not None:
        high = np.minimum(high, _limited(math.floor(_in_published_units(table, bounds.maximum))))
    return np.minimum(low, value), np.maximum(high, value)


def _in_published_units(table: Table, amount: float) -> Fraction:
    """The amount as it is written, not as a double holds it: 0.29 is 29 hundredths."""
    return Fraction(str(amount)) * Fraction(10) ** table.decimals


def _limited(units: int) -> int:
    return max(-NO_LIMIT, min(units, NO_LIMIT))


def _multiple(size: IntArray, factor: float, *, per: int = 1) -> IntArray:
    """factor / per times each amount, rounded down exactly."""
    share = Fraction(str(factor)) / per
    wide: AnyArray = size.astype(object) * share.numerator // share.denominator
    return np.minimum(wide, NO_LIMIT).astype(np.int64)


def _keep_signs(table: Table, value: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Positive stays positive, negative negative; what rounds to zero may stay zero. A released zero would tell (T18)."""
    low = np.where(table.value > 0, np.maximum(low, np.minimum(value, 1)), low)
    high = np.where(table.value < 0, np.minimum(high, np.maximum(value, -1)), high)
    low = np.where(table.value == 0, np.maximum(low, 0), low)
    return low, high


def _weights(table: Table, sensitivity: Sensitivity, options: Options, value: IntArray) -> FloatArray:
    """Cost per published unit of change, times the number of positions at which the cell is published.

    The sum of a set of cells is published nowhere; the solvers ask a positive cost of every cell, so it has next to none.
    """
    places = np.zeros(value.size)
    for view in table.views:
        places += np.bincount(view.cell, minlength=value.size)
    places[table.shown :] = NEXT_TO_NOTHING
    unit = 10.0**-table.decimals
    least = -(-sensitivity.upper_level // _published_unit(table))  # a cell that must look larger than it is counts as that large
    size = np.maximum(np.abs(value), np.maximum(least, 1)) * unit
    cost = {"unit": np.ones(value.size), "inverse": 1.0 / size, "inverse-sqrt": 1.0 / np.sqrt(size)}[options.weights]
    cost = np.where(np.isnan(sensitivity.weight), cost, sensitivity.weight)
    return np.asarray(cost * places * (unit if options.norm == "l1" else unit * unit))


class CellNames(Protocol):
    """How a message calls things."""

    def cell(self, cell: int) -> str: ...

    def relation(self, relation: int) -> str: ...

    def amount(self, units: int) -> str: ...


class CellNumbers:
    """For a system without labels. Amounts are in units of 10**-decimals."""

    def __init__(self, problem: ProtectionProblem, *, decimals: int = 0) -> None:
        self._problem, self._decimals = problem, decimals

    def cell(self, cell: int) -> str:
        return f"cell {cell}"

    def relation(self, relation: int) -> str:
        return f"relation {relation} ({_listed([self.cell(cell) for cell in _cells_of(self._problem, relation)])})"

    def amount(self, units: int) -> str:
        return _in_decimals(units, self._decimals)


class CellLabels:
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
