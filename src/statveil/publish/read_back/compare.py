"""A file's rows beside the table that is audited: every position, every number, every label; what differs is told by its labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from statveil.audit.report import FINDINGS_SHOWN
from statveil.audit.tables import labels as in_words
from statveil.core.arrays import BoolArray, IntArray, frozen_array
from statveil.publish.read_back.shown import ShownTable
from statveil.tables.table import ProtectedTable, Table, View

WHOLE_UP_TO = 2_000_000
"""Positions of a table up to which a file lists every one; of a larger one it lists what is not zero."""
MOST_DIGITS = 18
ANOTHER = "another number than in the table audited"
ELSEWHERE = "another number than at its other place"


def table_shown(table: Table, shown: Sequence[ShownTable]) -> ProtectedTable:
    """The table that the files show, one for each view; a cell at several positions has the number of the first."""
    value = np.zeros(table.size, dtype=np.int64)
    known = np.zeros(table.size, dtype=np.bool_)
    for view, each in zip(table.views, shown, strict=True):
        rows = _Rows(view, each, table.decimals)
        at, hit = rows.own
        here = np.zeros(view.cell.size, dtype=np.int64)
        here[at[hit]] = rows.units[hit]
        fresh = ~known[view.cell]
        value[view.cell[fresh]] = here[fresh]
        known[view.cell] = True
    for union in table.unions:
        if union.cell >= table.shown:
            value[union.cell] = value[union.members].sum()
    return ProtectedTable(views=table.views, value=frozen_array(value), decimals=table.decimals)


class Findings:
    """Faults, all of them counted and the first few in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, words: Sequence[str]) -> None:
        self.add_places(range(len(words)), words.__getitem__)

    def include(self, where: str, others: Findings) -> None:
        self.count += others.count
        self.first += [f"{where}: {words}" for words in others.first[: FINDINGS_SHOWN - len(self.first)]]

    def add_places(self, places: Sequence[int], words: Callable[[int], str]) -> None:
        self.count += len(places)
        self.first += [words(place) for place in places[: FINDINGS_SHOWN - len(self.first)]]


def differences(
    view: View, shown: ShownTable, protected: ProtectedTable, *, release: str | None = None, other: str = ANOTHER, whole: int = WHOLE_UP_TO
) -> Findings:
    """What a file shows otherwise than the table: nothing where every cell is as it is audited. `release`: its hash."""
    rows = _Rows(view, shown, protected.decimals)
    at, hit = rows.own
    expected = np.zeros(rows.units.size, dtype=np.int64)
    expected[hit] = protected.value[view.cell[at[hit]]]
    impossible = np.isin(rows.keys, _flat(view, view.structural)) & rows.placed
    judged = rows.placed & ~impossible & ~rows.missing
    wrong = {
        "codes that the table lacks": ~rows.placed,
        "more than once": rows.placed & _repeated(rows.keys),
        "a number where none can be": impossible & ~rows.missing,
        "no number where the table has one": rows.placed & ~impossible & rows.missing,
        "not a number, or one with other decimals": judged & ~rows.whole,
        other: judged & rows.whole & (rows.units != expected),
    }
    found = Findings()
    found.add(shown.faults)
    if shown.release is not None and release is not None and not (shown.release and release.startswith(shown.release)):
        found.add(["it names another release"])
    for words, faulty in wrong.items():
        found.add_places(np.flatnonzero(faulty).tolist(), lambda row, words=words: f"{rows.labels(row)}: {words}")  # type: ignore[misc]
    absent = _left_out(view, shown, protected, rows.keys[rows.placed], whole)
    found.add_places(range(len(absent)), lambda place: f"{in_words(view, absent[place])}: left out")
    found.add(_called_otherwise(view, shown))
    return found


class _Rows:
    """The rows of a file as positions and units of the table."""

    def __init__(self, view: View, shown: ShownTable, decimals: int) -> None:
        self.view, self.shown = view, shown
        self.missing = shown.number.is_null().to_numpy(zero_copy_only=False)
        self.units, self.whole = _units(shown.number, decimals)
        self.keys, self.placed = _keys(view, shown)

    @property
    def own(self) -> tuple[IntArray, BoolArray]:
        """The view's position at each row, and whether the row is one of them with a number that counts."""
        own = _flat(self.view, self.view.coordinates)
        at = np.minimum(np.searchsorted(own, self.keys), max(own.size - 1, 0))
        found = own[at] == self.keys if own.size else np.zeros(self.keys.size, dtype=np.bool_)
        return at, self.placed & self.whole & ~self.missing & found

    def labels(self, row: int) -> str:
        codes = zip(self.view.dimensions, self.shown.codes, self.shown.index[row].tolist(), strict=True)
        return ", ".join(f"{dimension.name}={words[place]}" for dimension, words, place in codes)


def _units(number: Any, decimals: int) -> tuple[IntArray, BoolArray]:
    """The numbers in units of 10**-decimals, zero where one is not written exactly so, and where it is."""
    whole = r"(0|[1-9][0-9]*)"
    pattern = f"{whole}\\.[0-9]{{{decimals}}}" if decimals > 0 else whole if decimals == 0 else f"(0|[1-9][0-9]*0{{{-decimals}}})"
    right = pc.fill_null(pc.match_substring_regex(number, f"^-?{pattern}$"), False)
    digits = pc.replace_substring(number, ".", "") if decimals > 0 else number
    if decimals < 0:
        digits = pc.replace_substring_regex(number, f"^(-?[1-9][0-9]*)0{{{-decimals}}}$", r"\1")
    right = pc.and_(right, pc.fill_null(pc.less_equal(pc.binary_length(digits), MOST_DIGITS), False))
    units = pc.if_else(right, digits, pa.scalar("0", pa.large_string())).cast(pa.int64()).to_numpy(zero_copy_only=False)
    signed = pc.fill_null(pc.starts_with(number, "-"), False).to_numpy(zero_copy_only=False)
    right = right.to_numpy(zero_copy_only=False) & ~(signed & (units == 0))
    return units, right


def _keys(view: View, shown: ShownTable) -> tuple[IntArray, BoolArray]:
    """One number per row that stands for its position, and whether all its codes are the table's."""
    keys = np.zeros(len(shown.index), dtype=np.int64)
    placed = np.ones(len(shown.index), dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        known = np.array([dimension.position.get(code, -1) for code in shown.codes[axis]], dtype=np.int64)
        positions = known[shown.index[:, axis]]
        placed &= positions >= 0
        keys = keys * len(dimension.codes) + positions
    return np.where(placed, keys, -1), placed


def _flat(view: View, coordinates: IntArray) -> IntArray:
    """The same number for rows of coordinates; in ascending order where they are."""
    shape = [len(dimension.codes) for dimension in view.dimensions]
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)
    return np.asarray(coordinates.reshape(-1, len(shape)) @ strides)


def _repeated(keys: IntArray) -> BoolArray:
    _, first = np.unique(keys, return_index=True)
    repeated = np.ones(keys.size, dtype=np.bool_)
    repeated[first] = False
    return repeated


def _left_out(view: View, shown: ShownTable, protected: ProtectedTable, listed: IntArray, whole: int) -> IntArray:
    """Positions that the file does not list: none may be left out of a small table, no number and no gap of a large one."""
    codes = [
        _within(dimension.position, words) if shown.part else None for dimension, words in zip(view.dimensions, shown.codes, strict=True)
    ]
    sizes = [len(dimension.codes) if known is None else len(known) for dimension, known in zip(view.dimensions, codes, strict=True)]
    if math.prod(sizes) <= whole:
        grid = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int64)
        wanted = np.stack([grid[:, axis] if known is None else known[grid[:, axis]] for axis, known in enumerate(codes)], axis=1)
    else:
        wanted = np.concatenate([view.coordinates[protected.value[view.cell] != 0], view.structural.reshape(-1, len(sizes))])
    return np.asarray(wanted[~np.isin(_flat(view, wanted), listed)])


def _within(position: Any, words: Sequence[str]) -> IntArray:
    return np.array(sorted({position[word] for word in words if word in position}), dtype=np.int64)


def _called_otherwise(view: View, shown: ShownTable) -> list[str]:
    """Codes that the file calls by another label than the table does."""
    return [
        f"{dimension.name}={code}: another label"
        for dimension, pairs in zip(view.dimensions, shown.labels, strict=False)
        for code, label in sorted(pairs)
        if code in dimension.position and label != dimension.label(code)
    ]
