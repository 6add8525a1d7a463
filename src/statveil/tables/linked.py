"""What links tables beyond shared cells: equations between responses, and sets of cells that are judged as one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.tables.positions import Grid, PositionSums, at_or_below, merge_equal
from statveil.tables.spec import TableSpec
from statveil.tables.table import EquationRows

Percent = int | float | str | Decimal | Fraction
_EQUATION = "Example: Equation(total='turnover', parts=['domestic', 'export'])."
_SET = "Example: CellSet(cells=[{'region': 'A', 'size': 'small'}, {'region': 'A', 'size': 'large'}])."
MOST_FIXED_PARTS = 3
"""The difference of a total and so many parts, each below 2**62, is below 2**64: zero only if it is."""


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One response is the sum of others in every record, and so in every cell: turnover = domestic + export.

    total: the measure that is the sum. parts: the measures that it is the sum of.

    >>> Equation(total="turnover", parts=["domestic", "export"]).words
    'turnover = domestic + export'
    """

    total: str
    parts: Sequence[str]

    def __post_init__(self) -> None:
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or not self.parts:
            raise InputError("The parts of an equation must be a list of measures.", hint=_EQUATION)
        names = [self.total, *self.parts]
        if any(not isinstance(name, str) or not name for name in names):
            raise InputError("An equation names measures by their columns.", hint=_EQUATION)
        if len(set(names)) < len(names):
            raise InputError(f"The equation {self.words} names a measure twice.", hint=_EQUATION)

    @property
    def words(self) -> str:
        return f"{self.total} = {' + '.join(map(str, self.parts))}"


@dataclass(frozen=True, kw_only=True)
class CellSet:
    """Cells of one table whose union is judged by the rules as if it were published, and protected if they find it unsafe.

    cells: {dimension: code} each; a dimension left out means its total. No record may lie in two of them.
    view: which of several linked tables is meant. level: declares the union sensitive whatever the rules say, and
    how far it must move, in percent of |value| (one number, or lower and upper).

    >>> pair = CellSet(cells=[{"region": "A", "size": "small"}, {"region": "A", "size": "large"}])
    >>> len(pair.cells)
    2
    """

    cells: Sequence[Mapping[str, str]]
    view: str | None = None
    level: Percent | tuple[Percent, Percent] | None = None

    def __post_init__(self) -> None:
        listed = isinstance(self.cells, Sequence) and not isinstance(self.cells, str)
        if not listed or not all(isinstance(labels, Mapping) for labels in self.cells):
            raise InputError("The cells of a set must be a list of {dimension: code}.", hint=_SET)
        if len(self.cells) < 2:
            raise InputError("A set of cells needs two cells or more.", hint="Name a single cell with Manual.")
        for percent in self.level if isinstance(self.level, tuple) else (self.level,):
            _check_percent(percent)
        if isinstance(self.level, tuple) and len(self.level) != 2:
            raise InputError("The level of a set of cells is one number of percent, or two: (lower, upper).")

    @property
    def words(self) -> str:
        cells = [", ".join(f"{name}={code}" for name, code in labels.items()) or "grand total" for labels in self.cells]
        return f"the set of {' and '.join(cells)}" if len(cells) <= 3 else f"the set of {len(cells)} cells from {cells[0]} to {cells[-1]}"


def _check_percent(percent: object) -> None:
    if percent is None:
        return
    try:
        if isinstance(percent, bool) or not 0 <= float(Fraction(str(percent))) < math.inf:
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError("The level of a set of cells must be a number of percent, zero or more.") from None


class Response(NamedTuple):
    """What a table adds up, and what the rules look at instead."""

    measure: str | None
    shadow: str | None


def responses_of(specs: Sequence[TableSpec]) -> list[Response]:
    """The distinct responses of linked tables, in order of appearance."""
    return list(dict.fromkeys(Response(spec.measure, spec.shadow) for spec in specs))


def check_responses(specs: Sequence[TableSpec]) -> None:
    """Refuse tables whose responses cannot stand in one problem: counts beside amounts, or two shadows of one measure."""
    first = specs[0]
    for other in specs[1:]:
        if (first.measure is None) != (other.measure is None):
            raise InputError(
                f"Linked tables differ in measure: {first.name!r} has {first.measure!r}, {other.name!r} has {other.measure!r}.",
                hint="A table of counts shares no cell with a table of amounts: protect them apart.",
            )
        if (first.shadow is None) != (other.shadow is None):
            raise InputError(f"Linked tables differ in shadow: only one of {first.name!r} and {other.name!r} has one.")
    shadows = dict[str | None, str | None]()
    for spec in specs:
        if shadows.setdefault(spec.measure, spec.shadow) != spec.shadow:
            raise InputError(f"Linked tables differ in shadow, and both are of {spec.measure!r}.", hint="Give a measure one shadow.")


def check_equations(equations: object, specs: Sequence[TableSpec]) -> list[Equation]:
    """The equations as a list; each of their responses must have a table."""
    if isinstance(equations, str) or not isinstance(equations, Sequence) or not all(isinstance(each, Equation) for each in equations):
        raise InputError("equations must be a list of Equation.", hint=_EQUATION)
    measures = {spec.measure for spec in specs}
    for equation in equations:
        unknown = [name for name in (equation.total, *equation.parts) if name not in measures]
        if unknown:
            raise InputError(f"The equation {equation.words} names {unknown[0]!r}, and no table has that measure.", hint="Add its table.")
    return list(equations)


def equation_rows(equation: Equation, cells: PositionSums, response: IntArray, responses: Sequence[Response]) -> EquationRows:
    """The equation for each set of records of which all its responses are shown; `cells` are distinct, `response` theirs."""
    number = {each.measure: place for place, each in enumerate(responses)}
    records, _ = merge_equal(cells)
    cell_of = np.full((len(responses), int(records.max(initial=-1)) + 1), -1, dtype=np.int64)
    cell_of[response, records] = np.arange(records.size)
    terms = cell_of[[number[name] for name in (equation.total, *equation.parts)]].T
    shown = (terms >= 0).sum(axis=1)
    _refuse_given_away(equation, terms, shown)
    rows = terms[shown == terms.shape[1]]
    if not len(rows):
        raise InputError(f"The equation {equation.words} links no cells: its tables have no cell in common.", hint="Add a shared margin.")
    _refuse_broken(equation, rows, cells.value)
    order = np.argsort(rows[:, 0])
    return EquationRows(words=equation.words, total=frozen_array(rows[order, 0]), parts=frozen_array(rows[order, 1:]))


def _refuse_given_away(equation: Equation, terms: IntArray, shown: IntArray) -> None:
    """All responses but one are shown: anybody can work out the last one, which nobody has judged."""
    given_away = terms[shown == terms.shape[1] - 1]
    if len(given_away):
        names = (equation.total, *equation.parts)
        missing = names[int(np.flatnonzero(given_away[0] < 0)[0])]
        raise InputError(
            f"The equation {equation.words} gives away {len(given_away):,} cells that no table has, the first of them of {missing!r}.",
            hint=f"Tabulate {missing!r} with the same dimensions as the others.",
        )


def _refuse_broken(equation: Equation, rows: IntArray, value: IntArray) -> None:
    parts = rows[:, 1:]
    amounts = value if parts.shape[1] <= MOST_FIXED_PARTS else value.astype(object)
    broken = int(np.count_nonzero(amounts[rows[:, 0]] - amounts[parts].sum(axis=1)))
    if broken:
        raise InputError(
            f"The equation {equation.words} does not hold in {broken:,} of {len(rows):,} cells.",
            hint="Mend the records so that it holds in each, or leave the equation out.",
        )


def check_sets(sets: object, specs: Sequence[TableSpec]) -> list[list[CellSet]]:
    """The sets of each table."""
    if isinstance(sets, str) or not isinstance(sets, Sequence) or not all(isinstance(each, CellSet) for each in sets):
        raise InputError("sets must be a list of CellSet.", hint=_SET)
    names = [spec.name for spec in specs]
    found: list[list[CellSet]] = [[] for _ in specs]
    for each in sets:
        if each.view is None and len(names) > 1:
            raise InputError("Several tables are linked, and a set of cells does not say which is meant.", hint=f"Known: {names}.")
        if each.view is not None and each.view not in names:
            raise InputError(f"A set of cells names a table {each.view!r}.", hint=f"Known: {', '.join(names)}.")
        found[0 if each.view is None else names.index(each.view)].append(each)
    return found


def member_keys(grid: Grid, asked: CellSet) -> IntArray:
    """The key of each cell of the set."""
    known = {dimension.name: dimension for dimension in grid.dimensions}
    for labels in asked.cells:
        for name, code in labels.items():
            if name not in known:
                raise InputError(f"A set of cells names {name!r}, which is not a dimension.", hint=f"Known: {', '.join(known)}.")
            if code not in known[name].position:
                raise InputError(f"A set of cells names code {code!r}, which dimension {name!r} lacks.", hint="Codes are compared as text.")
    places = [[axis.position[labels.get(axis.name, axis.total)] for axis in grid.dimensions] for labels in asked.cells]
    return grid.keys(np.array(places, dtype=np.int64))


def leaves_inside(grid: Grid, asked: CellSet, leaf_coordinates: IntArray) -> BoolArray:
    """Which leaf cells lie in the set; its cells must hold records, and none of them twice."""
    inside = np.array(list(_inside_each(grid, asked, leaf_coordinates)))
    if not inside.any(axis=1).all():
        raise InputError(f"A cell of {asked.words} is empty.", hint="Take it off the list.")
    if (inside.sum(axis=0) > 1).any():
        raise InputError(f"Cells of {asked.words} overlap.", hint="No record may lie in two cells of a set.")
    return np.asarray(inside.any(axis=0))


def _inside_each(grid: Grid, asked: CellSet, leaf_coordinates: IntArray) -> Iterator[BoolArray]:
    for place in grid.coordinates(member_keys(grid, asked)):
        below = [at_or_below(dimension, dimension.codes[code]) for dimension, code in zip(grid.dimensions, place, strict=True)]
        yield np.logical_and.reduce([np.isin(leaf_coordinates[:, axis], codes) for axis, codes in enumerate(below)])
