"""The columns of a published file: codes and labels, then numbers; and, in the internal edition, what happened to each cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.publish.audited import AuditedTable, Edition
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, Table, View

EMPTY = -1
STRUCTURAL = -2
LARGEST_GRID = 2_000_000


@dataclass(frozen=True, kw_only=True)
class GridPositions:
    """`cell[i]` is the cell at `coordinates[i]`, EMPTY where no record falls, STRUCTURAL where none can."""

    coordinates: IntArray
    cell: IntArray
    is_grid: bool
    """Every combination of codes is there, in lexicographic order."""

    @property
    def filled(self) -> BoolArray:
        return np.greater_equal(self.cell, 0)

    @property
    def structural(self) -> BoolArray:
        return np.equal(self.cell, STRUCTURAL)

    def pick(self, values: IntArray) -> IntArray:
        """The value of the cell at each position, zero where there is none."""
        picked = np.zeros(self.cell.size, dtype=np.int64)
        picked[self.filled] = values[self.cell[self.filled]]
        return picked


def shape_of(view: View) -> tuple[int, ...]:
    return tuple(len(dimension.codes) for dimension in view.dimensions)


def all_positions(view: View, *, largest_grid: int = LARGEST_GRID) -> GridPositions:
    """The whole grid if it is small enough, otherwise the positions that hold a record or are structural zeros."""
    return _grid(view) if math.prod(shape_of(view)) <= largest_grid else _listed(view)


def public_positions(view: View, released: IntArray, *, largest_grid: int = LARGEST_GRID) -> GridPositions:
    """As `all_positions`; of a table too large for that, what is not a released zero.

    An empty position and a released zero look alike, so the choice of positions tells no more than the released numbers do.
    """
    positions = all_positions(view, largest_grid=largest_grid)
    if positions.is_grid:
        return positions
    kept = positions.structural | (positions.pick(released) != 0)
    return GridPositions(coordinates=positions.coordinates[kept], cell=positions.cell[kept], is_grid=False)


def _grid(view: View) -> GridPositions:
    shape = shape_of(view)
    cell = np.full(math.prod(shape), EMPTY, dtype=np.int64)
    cell[_flat(structural_rows(view), shape)] = STRUCTURAL
    cell[_flat(view.coordinates, shape)] = view.cell
    coordinates = np.stack(np.unravel_index(np.arange(cell.size), shape), axis=1).astype(np.int64)
    return GridPositions(coordinates=coordinates, cell=cell, is_grid=True)


def _flat(coordinates: IntArray, shape: tuple[int, ...]) -> IntArray:
    columns = tuple(coordinates.reshape(-1, len(shape)).T)
    return np.asarray(np.ravel_multi_index(columns, shape), dtype=np.int64)


def _listed(view: View) -> GridPositions:
    structural = structural_rows(view)
    coordinates = np.concatenate([view.coordinates, structural])
    cell = np.concatenate([view.cell, np.full(len(structural), STRUCTURAL, dtype=np.int64)])
    order = np.lexsort(coordinates.T[::-1])
    return GridPositions(coordinates=coordinates[order], cell=cell[order], is_grid=False)


def structural_rows(view: View) -> IntArray:
    return view.structural.reshape(-1, len(view.dimensions))


STATUSES = ("sensitive", "frozen", "safe", "zero", "empty", "structural zero")
SENSITIVE, FROZEN, SAFE, ZERO, NONE, IMPOSSIBLE = range(6)


@dataclass(frozen=True, kw_only=True)
class TableWords:
    """What a public file says beside its numbers. `names`: dimensions in words. `withheld`: stands where a number is not told."""

    unit: str = ""
    notes: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    withheld: str = ""


NO_WORDS = TableWords()


@dataclass(frozen=True, kw_only=True)
class Text:
    """A column of words: `words[index[i]]` stands in row i."""

    name: str
    words: Sequence[str]
    index: IntArray


@dataclass(frozen=True, kw_only=True)
class Number:
    """A column of exact numbers, `units * 10**-decimals`; where one is missing stands `instead`."""

    name: str
    units: IntArray
    decimals: int
    missing: BoolArray
    instead: str = ""


Column = Text | Number


def frame(release: AuditedTable, view: View, edition: Edition, words: TableWords = NO_WORDS) -> list[Column]:
    """The columns of one view's file."""
    if edition == "external":
        return _distinct([*_public_columns(release, view, words)])
    if edition == "internal":
        return _distinct([*_internal_columns(release, view)])
    raise InputError(f"Unknown edition {edition!r}. Known: external, internal.")


def _public_columns(release: AuditedTable, view: View, words: TableWords) -> list[Column]:
    positions = public_positions(view, release.protected.value)
    return [*dimension_columns(view, positions), replace(released_column(release, positions, "value"), instead=words.withheld)]


def released_column(release: AuditedTable, positions: GridPositions, name: str) -> Number:
    protected = release.protected
    return Number(name=name, units=positions.pick(protected.value), decimals=protected.decimals, missing=positions.structural)


def dimension_columns(view: View, positions: GridPositions, *, labels: bool = True) -> list[Column]:
    columns: list[Column] = []
    for axis, dimension in enumerate(view.dimensions):
        index = positions.coordinates[:, axis]
        columns.append(Text(name=dimension.name, words=dimension.codes, index=index))
        if labels and has_labels(dimension):
            columns.append(Text(name=f"{dimension.name}_label", words=labels_of(dimension), index=index))
    return columns


def has_labels(dimension: Dimension) -> bool:
    return labels_of(dimension) != list(dimension.codes)


def labels_of(dimension: Dimension) -> list[str]:
    return [dimension.label(code) for code in dimension.codes]


def _internal_columns(release: AuditedTable, view: View) -> list[Column]:
    positions, table, sensitivity = all_positions(view), release.table, release.sensitivity
    original, adjusted, decimals = common_units(release)
    absent, unlevelled = ~positions.filled, positions.pick(sensitivity.sensitive.astype(np.int64)) == 0

    def number(name: str, units: IntArray, places: int, missing: BoolArray) -> Number:
        return Number(name=name, units=positions.pick(units), decimals=places, missing=missing)

    return [
        *dimension_columns(view, positions),
        number("original", table.value, table.scale, absent),
        released_column(release, positions, "adjusted"),
        number("change", adjusted - original, decimals, absent),
        Text(name="status", words=STATUSES, index=status_at(positions, table, sensitivity)),
        _reasons_column(positions, sensitivity),
        number("lower_level", sensitivity.lower_level, table.scale, unlevelled),
        number("upper_level", sensitivity.upper_level, table.scale, unlevelled),
        Text(name="sense", words=("", "up", "down"), index=positions.pick(release.adjustment.senses) % 3),
    ]


class TableWithRelease(Protocol):
    """Whatever has true and released numbers of the same cells."""

    @property
    def table(self) -> Table: ...
    @property
    def protected(self) -> ProtectedTable: ...


def common_units(release: TableWithRelease) -> tuple[IntArray, IntArray, int]:
    """Original and released values of all cells in the finer of their two units, and its decimals."""
    table, protected = release.table, release.protected
    decimals = max(table.scale, protected.decimals)
    return table.value * 10 ** (decimals - table.scale), protected.value * 10 ** (decimals - protected.decimals), decimals


def status_at(positions: GridPositions, table: Table, sensitivity: Sensitivity) -> IntArray:
    """Index into STATUSES for each position."""
    of_cell = np.select(
        [sensitivity.sensitive, sensitivity.frozen, (table.value == 0) & (table.records == 0), table.value == 0],
        [SENSITIVE, FROZEN, NONE, ZERO],
        default=SAFE,
    ).astype(np.int64)
    return np.where(positions.filled, positions.pick(of_cell), np.where(positions.structural, IMPOSSIBLE, NONE))


def _reasons_column(positions: GridPositions, sensitivity: Sensitivity) -> Text:
    words, index = reasons_by_cell(sensitivity)
    return Text(name="reasons", words=words, index=positions.pick(index))


def reasons_by_cell(sensitivity: Sensitivity) -> tuple[list[str], IntArray]:
    """Distinct sets of reasons in words (the first is none), and which of them each cell has."""
    index = np.zeros(sensitivity.sensitive.size, dtype=np.int64)
    if not sensitivity.reasons:
        return [""], index
    found = np.stack(list(sensitivity.reasons.values()), axis=1)
    touched = np.flatnonzero(found.any(axis=1))
    sets, member = np.unique(found[touched], axis=0, return_inverse=True)
    index[touched] = member.reshape(-1) + 1
    rules = list(sensitivity.reasons)
    return ["", *("; ".join(rules[k] for k in np.flatnonzero(row)) for row in sets)], index


def _distinct(columns: list[Column]) -> list[Column]:
    names = distinct_names([column.name for column in columns])
    return [replace(column, name=name) for column, name in zip(columns, names, strict=True)]


def distinct_names(names: Sequence[str]) -> list[str]:
    """The same names with an underscore added to those that occurred before."""
    found: list[str] = []
    for name in names:
        while name in found:
            name += "_"  # noqa: PLW2901
        found.append(name)
    return found
