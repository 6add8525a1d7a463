"""The part of the utility section that readers get: statistics of the released numbers, which anyone can work out from the table.

Nothing here sees a true value, a status or a count of changed cells: everything is a function of the released numbers at their positions.
Positions that show zero are left out, whether a respondent stands behind them or not, for the public table does not tell these apart;
and a number counts at each position where it stands, for which positions share one cell would tell which records they have in common.
Statistics of true values stay inside, even rounded ones over all cells: see docs/report.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from statveil.core.arrays import AnyArray, IntArray
from statveil.core.statistics import QUANTILES, largest_of, mean_of, quantiles_of, variance_of
from statveil.publish.formats.frames import labels_of
from statveil.publish.formats.numbers import grouped
from statveil.publish.formats.positions import public_positions
from statveil.publish.report.changes import depths
from statveil.publish.report.utility_tables import amount
from statveil.tables.table import ProtectedTable, View


def released_statistics(protected: ProtectedTable) -> list[dict[str, Any]]:
    """For each view: rows of statistics by level, and the ten largest numbers of the finest level."""
    return [_of_view(protected, view) for view in protected.views]


def _of_view(protected: ProtectedTable, view: View) -> dict[str, Any]:
    positions = public_positions(view, protected.value)
    value = positions.pick(protected.value)
    shown = np.flatnonzero(value)
    value, coordinates = value[shown], positions.coordinates[shown]
    depth = [depths(dimension)[coordinates[:, axis]] for axis, dimension in enumerate(view.dimensions)]
    return {
        "name": view.name,
        "shares": [f"{share:.0%}" for share in QUANTILES],
        "rows": [_row(name, value[members], protected.decimals) for name, members in _levels(view, depth, shown.size)],
        "columns": [dimension.name for dimension in view.dimensions],
        "top": _top(view, coordinates, value, protected.decimals),
    }


def _levels(view: View, depth: list[IntArray], size: int) -> list[tuple[str, AnyArray]]:
    """All positions, then each level of each dimension, totals of the dimension first."""
    found: list[tuple[str, AnyArray]] = [("all numbers", np.ones(size, dtype=np.bool_))]
    for dimension, steps in zip(view.dimensions, depth, strict=True):
        deepest = int(depths(dimension).max())
        for level in range(deepest + 1):
            words = "its total" if level == 0 else f"level {level}{' (finest)' if level == deepest else ''}"
            found.append((f"{dimension.name}: {words}", steps == level))
    return [(name, members) for name, members in found if members.any()]


def _row(name: str, units: IntArray, decimals: int) -> list[str]:
    value = units / 10.0**decimals
    spread = variance_of(value) ** 0.5 if (units != units[0]).any() else 0.0
    return [
        name,
        f"{units.size:,}",
        *(amount(each) for each in (mean_of(value), spread, *quantiles_of(value))),
    ]


def _top(view: View, coordinates: IntArray, value: IntArray, decimals: int) -> list[list[str]]:
    """The ten largest released numbers at the finest level of every dimension."""
    finest = np.flatnonzero(np.logical_and.reduce([_is_leaf(view, axis, coordinates) for axis in range(len(view.dimensions))]))
    order = finest[largest_of(value[finest])]
    words = [labels_of(dimension) for dimension in view.dimensions]
    return [
        [*(words[axis][place] for axis, place in enumerate(coordinates[row])), grouped(int(value[row]), decimals)] for row in order.tolist()
    ]


def _is_leaf(view: View, axis: int, coordinates: IntArray) -> AnyArray:
    dimension = view.dimensions[axis]
    leaves = set(dimension.trees[0].leaves)
    return np.array([code in leaves for code in dimension.codes])[coordinates[:, axis]]
