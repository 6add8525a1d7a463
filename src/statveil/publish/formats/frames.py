"""The columns of a published file: codes and labels, then numbers; and, in the internal edition, what happened to each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.publish.audited import AuditedTable, Edition
from statveil.risk.sensitivity import Sensitivity
from statveil.tables.shown.frames import has_labels, labels_of
from statveil.tables.shown.positions import GridPositions, all_positions, public_positions
from statveil.tables.table import ProtectedTable, Table, View

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
