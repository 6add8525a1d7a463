"""What the adjustment did to the cells, measured: confidential, for the internal report only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from statveil.core.arrays import BoolArray, FloatArray, IntArray
from statveil.publish.formats.frames import common_units
from statveil.tables.spec import Dimension
from statveil.tables.table import View

if TYPE_CHECKING:
    from statveil.publish.release import Release

MOST_LEVEL_GROUPS = 6


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Per cell, in units of 10**-decimals. `relative` is |change| / |original|, NaN where the original is zero.

    A cell is `changed` when it moved by a published unit or more; less than that is rounding.
    """

    original: IntArray
    change: IntArray
    decimals: int
    relative: FloatArray
    changed: BoolArray
    sensitive: BoolArray
    level: IntArray
    """Steps below the grand total, over all dimensions."""


def measure(release: Release) -> Changes:
    original, released, decimals = common_units(release)
    original, released = original[: release.table.shown], released[: release.table.shown]  # sums of sets of cells are not published
    change = released - original
    size = np.abs(original).astype(np.float64)
    relative = np.divide(np.abs(change), size, out=np.full(size.size, np.nan), where=size > 0)
    unit = 10 ** (decimals - release.protected.decimals)
    return Changes(
        original=original,
        change=change,
        decimals=decimals,
        relative=relative,
        changed=np.greater_equal(np.abs(change), unit),
        sensitive=release.sensitivity.sensitive[: release.table.shown],
        level=_levels(release.table.views, original.size),
    )


def depths(dimension: Dimension) -> IntArray:
    """Depth of each code below the total, in the first tree that has it."""
    found = [next(tree.depth[code] for tree in dimension.trees if code in tree.depth) for code in dimension.codes]
    return np.array(found, dtype=np.int64)


def _levels(views: tuple[View, ...], size: int) -> IntArray:
    level = np.full(size, np.iinfo(np.int64).max)
    for view in views:
        steps = sum((depths(dimension)[view.coordinates[:, axis]] for axis, dimension in enumerate(view.dimensions)), start=np.int64(0))
        np.minimum.at(level, view.cell, steps)
    return level


def level_groups(changes: Changes) -> list[tuple[str, BoolArray]]:
    """At most six groups of neighbouring levels with their names, from the grand total down."""
    present = np.unique(changes.level)
    groups = np.array_split(present, min(MOST_LEVEL_GROUPS, max(present.size, 1)))
    return [(_level_name(group, present), np.isin(changes.level, group)) for group in groups if group.size]


def _level_name(group: IntArray, present: IntArray) -> str:
    first, last = int(group[0]), int(group[-1])
    words = f"level {first}" if first == last else f"levels {first} to {last}"
    if last == 0:
        return f"{words} (grand total)"
    return f"{words} (finest)" if last == present[-1] else words


def ecdf(relative: FloatArray, *, points: int, floor: float) -> list[tuple[float, float]]:
    """At most so many (x, share of cells at or below x), x in percent and not below the floor."""
    ordered = np.maximum(np.sort(relative[np.isfinite(relative)]) * 100, floor)
    if not ordered.size:
        return []
    ranks = np.unique(np.linspace(0, ordered.size - 1, min(points, ordered.size)).round().astype(np.int64))
    xs = np.unique(ordered[ranks])
    return [(float(x), float(share)) for x, share in zip(xs, np.searchsorted(ordered, xs, side="right") / ordered.size, strict=True)]
