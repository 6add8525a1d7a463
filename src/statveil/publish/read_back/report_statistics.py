"""The statistics that the public report prints, worked out again from the released numbers in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.publish.read_back.report_page import Printed
from statveil.publish.read_back.shown import in_decimals
from statveil.tables.spec import Dimension
from statveil.tables.table import ProtectedTable, View

SHARES = ("0.1", "0.25", "0.5", "0.75", "0.9")
TOP = 10
_HEAD = ("Numbers of", "Numbers", "Mean", "Standard deviation", *(f"{Decimal(share):.0%}" for share in SHARES))


class _Near(NamedTuple):
    """What a printed figure may be: near one of these, but for the digits that it does not print and a double's own."""

    values: tuple[Fraction, ...]
    slack: Fraction

    def is_met(self, words: str) -> bool:
        try:
            shown = Decimal(words.replace(",", ""))
            digits = shown.as_tuple().exponent
        except InvalidOperation:
            return False
        if not isinstance(digits, int):
            return False
        half = Fraction(1, 2) * Fraction(10) ** digits
        return any(abs(Fraction(shown) - value) <= half + self.slack for value in self.values)


def statistics_faults(protected: ProtectedTable, printed: Sequence[Printed]) -> list[str]:
    """What the printed tables say otherwise than the released numbers do."""
    left = list(printed)
    faults = [fault for view in protected.views for fault in _of_view(protected, view, left)]
    return [*faults, *(["it prints statistics of something else"] if left else [])]


def _of_view(protected: ProtectedTable, view: View, left: list[Printed]) -> Iterator[str]:
    shown = np.flatnonzero(protected.value[view.cell])
    units, coordinates = protected.value[view.cell[shown]], view.coordinates[shown]
    rows = left.pop(0) if left else ()
    yield from _level_faults(view, units, coordinates, protected.decimals, rows)
    largest = _largest(view, units, coordinates, protected.decimals)
    if largest:
        rows = left.pop(0) if left else ()
        head = (*(dimension.name.strip() for dimension in view.dimensions), "Released")
        if rows != (head, *largest):
            yield f"{view.name}: the largest numbers are not those of the table"


def _level_faults(view: View, units: IntArray, coordinates: IntArray, decimals: int, rows: Printed) -> Iterator[str]:
    expected = list(_levels(view, coordinates))
    if rows[:1] != (_HEAD,) or [row[0] for row in rows[1:]] != [name.strip() for name, _ in expected]:
        yield f"{view.name}: the statistics are not of the table's levels"
        return
    for row, (name, members) in zip(rows[1:], expected, strict=True):
        own = units[members].tolist()
        figures = _figures(own, decimals)
        if row[1:2] != (f"{len(own):,}",) or len(row) != len(_HEAD) or not all(map(_Near.is_met, figures, row[2:])):
            yield f"{view.name}, {name}: another statistic than the released numbers have"


def _levels(view: View, coordinates: IntArray) -> Iterator[tuple[str, BoolArray]]:
    """All numbers, then those of each level of each dimension that has some."""
    if len(coordinates):
        yield "all numbers", np.ones(len(coordinates), dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        depth = np.array(_depths(dimension), dtype=np.int64)
        for level in range(int(depth.max()) + 1):
            members = depth[coordinates[:, axis]] == level
            words = "its total" if level == 0 else f"level {level} (finest)" if level == depth.max() else f"level {level}"
            if members.any():
                yield f"{dimension.name}: {words}", members


def _depths(dimension: Dimension) -> list[int]:
    """Steps from each code up to the total, in the first tree that has it."""
    found = []
    for code in dimension.codes:
        parent = next((tree.parent for tree in dimension.trees if code in tree.parent), {})
        steps = 0
        while code in parent:
            code, steps = parent[code], steps + 1  # noqa: PLW2901
        found.append(steps)
    return found


def _figures(units: Sequence[int], decimals: int) -> list[_Near]:
    """Mean, standard deviation and quantiles."""
    count, unit = len(units), Fraction(10) ** -decimals
    total, squares = sum(units), sum(each * each for each in units)
    mean = Fraction(total, count) * unit
    doubles = abs(mean) / 10**12 + max(map(abs, units)) * unit / 10**14
    ordered = sorted(units)
    middle = [_Near(tuple(ordered[place] * unit for place in _places(share, count)), abs(ordered[-1]) * unit / 10**14) for share in SHARES]
    return [_Near((mean,), doubles), _Near((_root(Fraction(count * squares - total * total, count * count)) * unit,), doubles), *middle]


def _places(share: str, count: int) -> set[int]:
    """Where a quantile stands; a double's product may fall one place behind."""
    return {max(math.ceil(Fraction(share) * count) - 1, 0), min(max(math.ceil(float(share) * count) - 1, 0), count - 1)}


def _root(square: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 40
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def _largest(view: View, units: IntArray, coordinates: IntArray, decimals: int) -> list[tuple[str, ...]]:
    """The largest numbers of the finest level: labels and number; of equal ones the earlier position first."""
    finest = np.ones(len(units), dtype=np.bool_)
    for axis, dimension in enumerate(view.dimensions):
        tree = dimension.trees[0]
        above = set(tree.parent.values()) | {tree.total}
        leaf = np.array([code in tree.parent and code not in above for code in dimension.codes])
        finest &= leaf[coordinates[:, axis]]
    rows = sorted(np.flatnonzero(finest).tolist(), key=lambda row: (-int(units[row]), row))[:TOP]
    return [
        (
            *(dimension.label(dimension.codes[place]).strip() for dimension, place in zip(view.dimensions, coordinates[row], strict=True)),
            _grouped(int(units[row]), decimals),
        )
        for row in rows
    ]


def _grouped(units: int, decimals: int) -> str:
    whole, point, fraction = in_decimals(units, decimals).partition(".")
    return f"{int(whole):,}{point}{fraction}" if whole != "-0" else f"-0{point}{fraction}"
