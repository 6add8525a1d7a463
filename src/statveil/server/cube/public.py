"""Totals that are public elsewhere: the officer names them, and the cube holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import IntArray
from statveil.core.errors import InputError
from statveil.server.cube.lattice import Lattice
from statveil.tables.positions import Grid

FREE = np.int64(2**62)


@dataclass(frozen=True, kw_only=True)
class PublicTotal:
    """A position by the codes that are not totals, and how far it may be off, in units of the last decimal (0: exact).

    >>> PublicTotal(measure="turnover", codes={"region": "N"}).within
    0
    """

    measure: str
    codes: Mapping[str, str]
    within: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.within, bool) or not isinstance(self.within, int) or self.within < 0:
            raise InputError("A public total is held exactly (within = 0) or within a whole number of units.")


def places_of(public: Sequence[PublicTotal], measure: str, grid: Grid, most: int) -> list[tuple[tuple[int, ...], int]]:
    """Where the public totals of a measure stand: the place of a code in each dimension, and the distance."""
    found = []
    for total in public:
        if total.measure != measure:
            continue
        unknown = set(total.codes) - {dimension.name for dimension in grid.dimensions}
        if unknown:
            raise InputError(f"A public total names {min(unknown)!r}, which is not a dimension.")
        for dimension in grid.dimensions:
            if total.codes.get(dimension.name, dimension.total) not in dimension.position:
                raise InputError(
                    f"A public total names {total.codes[dimension.name]!r}, which dimension {dimension.name!r} does not show.",
                    hint="Name a code within the depth.",
                )
        place = tuple(dimension.position[total.codes.get(dimension.name, dimension.total)] for dimension in grid.dimensions)
        if sum(code != dimension.position[dimension.total] for code, dimension in zip(place, grid.dimensions, strict=True)) > most:
            raise InputError("A public total lies below the depth of the dataset.", hint="Name fewer dimensions.")
        found.append((place, total.within))
    return found


def most_off(held: Sequence[tuple[tuple[int, ...], int]], lattice: Lattice) -> IntArray:
    """By row: how far it may be off; no limit where it is not public."""
    most = np.full(lattice.rows, FREE, np.int64)
    order = np.argsort(lattice.position_key, kind="stable")
    keys = lattice.position_key[order]
    for place, distance in held:
        key = int(np.dot(np.array(place, np.int64), lattice.grid.strides))
        at = int(np.searchsorted(keys, key))
        if at < keys.size and keys[at] == key:
            row = lattice.position_row[order[at]]
            most[row] = min(int(most[row]), distance)
    if (lattice.sensitive & (most < np.maximum(lattice.up, lattice.down))).any():
        raise InputError(
            "A public total is sensitive itself: it cannot be protected and held at once.",
            hint="Leave it out, or declare its respondents' consent by other rules.",
        )
    return most
