"""How deep tables go: the officer's dial between detail and accuracy.

Whether a table is within the depth depends on the request and on the configuration, never on the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.server.dataset.layout import DimensionLevel, Layout, ServedDimension
from statveil.tables.positions import ancestor_levels

LevelChoice = tuple[int, ...]
"""One level of each dimension, as numbers of `levels_of`; 0 is the total."""


@dataclass(frozen=True, kw_only=True)
class Depth:
    """At most so many `dimensions` in one table, filters counted (None: all). Levels that are not shown are cut off when data are read.

    >>> Depth(dimensions=2).dimensions
    2
    """

    dimensions: int | None = None

    def __post_init__(self) -> None:
        if self.dimensions is not None and (isinstance(self.dimensions, bool) or self.dimensions < 1):
            raise InputError("depth must be a whole number of dimensions, 1 or more.")

    def check(self, layout: Layout) -> None:
        """Refuse a table that goes deeper."""
        most = self.dimensions
        if most is not None and len(layout.dimensions) > most:
            raise InputError(
                f"The table has {len(layout.dimensions)} dimensions, filters counted; tables of this dataset have at most {most}.",
                hint="Leave out a dimension or a filter.",
            )

    def most(self, dimensions: Sequence[ServedDimension]) -> int:
        return len(dimensions) if self.dimensions is None else min(self.dimensions, len(dimensions))

    def choices(self, dimensions: Sequence[ServedDimension]) -> Iterator[LevelChoice]:
        """Every choice of one level for each dimension that is within the depth; each position lies on exactly one of them."""
        most = self.most(dimensions)
        yield from _within(tuple(len(levels_of(each.lowest)) for each in dimensions), most)


def _within(levels: tuple[int, ...], most: int) -> Iterator[LevelChoice]:
    """As a product, without walking through what is too deep."""
    if not levels:
        yield ()
        return
    for first in range(levels[0] if most else 1):
        for rest in _within(levels[1:], most - (first > 0)):
            yield (first, *rest)


def levels_of(base: DimensionLevel) -> list[IntArray]:
    """Per level, the place in `base.cut.codes` of each smallest code's ancestor there, -1 for none; the total comes first."""
    leaves = np.array([base.cut.position[code] for code in base.cut.trees[0].leaves], dtype=np.int64)
    lowest, total, *inner = (level[leaves] for level in ancestor_levels(base.cut))
    return [total, lowest, *inner]
