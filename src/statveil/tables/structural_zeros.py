"""Structural zeros: positions that no record can ever hold, as opposed to positions that happen to be empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import HierarchyError, InputError
from statveil.tables.levels import Grid
from statveil.tables.spec import Dimension, TableSpec

LARGEST_LIST = 1_000_000


def structural_positions(spec: TableSpec, grid: Grid) -> IntArray:
    """Coordinates of all positions that the patterns rule out, in ascending order, each once."""
    ruled_out = [_axes(grid, pattern) for pattern in spec.structural_zeros]
    if sum(prod(codes.size for codes in axes) for axes in ruled_out) > LARGEST_LIST:
        raise InputError(
            f"structural_zeros of {spec.name!r} rules out more than {LARGEST_LIST:,} positions.", hint="Give narrower patterns."
        )
    keys = [grid.keys(_crossed(axes)) for axes in ruled_out]
    return grid.coordinates(np.unique(np.concatenate([np.zeros(0, np.int64), *keys])))


def check_structural(spec: TableSpec, grid: Grid, leaf_coordinates: IntArray, records: IntArray) -> None:
    """Refuse data that hold a record where none can be."""
    for pattern in spec.structural_zeros:
        inside = [np.isin(leaf_coordinates[:, axis], codes) for axis, codes in enumerate(_axes(grid, pattern))]
        count = int(records[np.logical_and.reduce(inside)].sum())
        if count:
            raise InputError(
                f"{count} records lie where structural_zeros of {spec.name!r} rules them out: {dict(pattern)}.",
                hint="Mend the data or the pattern.",
            )


def _axes(grid: Grid, pattern: Mapping[str, str]) -> list[IntArray]:
    return [
        at_or_below(dimension, pattern[dimension.name]) if dimension.name in pattern else np.arange(len(dimension.codes))
        for dimension in grid.dimensions
    ]


def at_or_below(dimension: Dimension, code: str) -> IntArray:
    """What holds nothing holds nothing below it."""
    if code not in dimension.position:
        raise HierarchyError(
            f"structural_zeros names code {code!r}, which dimension {dimension.name!r} lacks.", hint="Codes are compared as text."
        )
    found = {code}
    for tree in dimension.trees:
        waiting = [code]
        while waiting:
            below = tree.children.get(waiting.pop(), ())
            found.update(below)
            waiting.extend(below)
    return np.array(sorted(dimension.position[each] for each in found), dtype=np.int64)


def _crossed(axes: Sequence[IntArray]) -> IntArray:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
