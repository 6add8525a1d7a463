"""Tables like the public ones of CSPLIB (hier13, hier16, ninenew): three or four dimensions, small values, equal costs.

The finest cells that are not empty are uniform on 1 to 2,000, so that many of them are small beside what their lines add up to. A share of
all cells up to that size is sensitive, totals too, with a level of a twentieth or a tenth. Empty cells stay empty; nothing else has a
bound. Codes are hierarchies of `generators.office`'s kind, or plain lists with a total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.formats.system import LinearSystem
from statveil_lab.generators.office import draw_tree, office_relations, system_of_cells

MOST_CELLS = 5_000_000
LARGEST = 2_000
"""Of the finest cells, and of the sensitive ones: of 858 on ninenew the largest has 1,970."""


@dataclass(frozen=True, kw_only=True)
class PublicShape:
    """Codes of each dimension, how many of them are sums of others (1: the total alone), levels below the total, and shares in percent.

    sensitive: of all cells, as far as there are so many small ones. empty: of the finest cells. level: of the value, rounded up.
    """

    codes: tuple[int, ...] = (9, 9, 9, 9)
    inner: tuple[int, ...] = (1, 1, 1, 1)
    depth: int = 3
    sensitive: float = 10.0
    empty: float = 30.0
    level: int = 5

    def __post_init__(self) -> None:
        if not 2 <= len(self.codes) <= 5 or len(self.inner) != len(self.codes):
            raise InputError("A public table needs codes and inner codes of two to five dimensions.")
        if any(not 1 <= inner < codes - inner for codes, inner in zip(self.codes, self.inner, strict=True)):
            raise InputError("Each dimension needs an inner code, and more than two codes for each.")
        if self.depth < 1 or (self.depth == 1 and max(self.inner) > 1):
            raise InputError("Depth 1 has one inner code in each dimension: the total.")
        if math.prod(self.codes) > MOST_CELLS:
            raise InputError(f"A table of more than {MOST_CELLS:,} cells is too large to be made.", hint="Give fewer codes.")
        if not (0 < self.sensitive <= 50 and 0 <= self.empty <= 90 and 0 < self.level <= 100):
            raise InputError("Shares in percent: sensitive above 0 up to 50, empty 0 to 90, level 1 to 100.")


def public_system(shape: PublicShape, *, seed: int) -> LinearSystem:
    """A table of that shape; the same seed gives the same table. Cells are numbered with the last dimension running fastest."""
    rng = np.random.Generator(np.random.PCG64(seed))
    trees = [draw_tree(codes, inner, shape.depth, rng) for codes, inner in zip(shape.codes, shape.inner, strict=True)]
    sizes = [codes - inner for codes, inner in zip(shape.codes, shape.inner, strict=True)]
    finest = rng.integers(1, LARGEST + 1, size=sizes) * (rng.random(sizes) >= shape.empty / 100)
    value = _added_up(finest, trees, shape.inner).ravel()
    small = np.flatnonzero((value > 0) & (value <= LARGEST))
    sensitive = np.zeros(value.size, dtype=np.bool_)
    sensitive[rng.choice(small, size=min(small.size, max(1, round(shape.sensitive / 100 * value.size))), replace=False)] = True
    return system_of_cells(office_relations(trees, shape.inner), value, np.ones_like(value), sensitive, shape.level)


def _added_up(finest: IntArray, trees: list[IntArray], inner: tuple[int, ...]) -> IntArray:
    """The finest cells with their sums over all trees."""
    table = finest
    for axis, (tree, count) in enumerate(zip(trees, inner, strict=True)):
        moved = np.moveaxis(table, axis, 0)
        full = np.concatenate([np.zeros((count, *moved.shape[1:]), dtype=np.int64), moved])
        for code in range(tree.size - 1, 0, -1):  # every code before its parent
            full[tree[code]] += full[code]
        table = np.moveaxis(full, 0, axis)
    return table
