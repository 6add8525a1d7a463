"""Totals that are public elsewhere: the officer names them, and the cube holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.server.cube.lattice import Lattice
from statveil.tables.positions import Grid

FREE = np.int64(2**62)


class PublicTuning(NamedTuple):
    weight: float = 5000.0
    """What a relative error of a public total costs where directions are searched: half of the grand total's. By judgement."""


TUNING = PublicTuning()


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


def rows_held(held: Sequence[tuple[tuple[int, ...], int]], lattice: Lattice) -> list[tuple[int, int]]:
    """The rows of public totals, and their distances; a place without records is in no row."""
    order = np.argsort(lattice.position_key, kind="stable")
    keys, found = lattice.position_key[order], []
    for place, distance in held:
        key = int(np.dot(np.array(place, np.int64), lattice.grid.strides))
        at = int(np.searchsorted(keys, key))
        if at < keys.size and keys[at] == key:
            found.append((int(lattice.position_row[order[at]]), distance))
    return found


def most_off(held: Sequence[tuple[tuple[int, ...], int]], lattice: Lattice) -> IntArray:
    """By row: how far it may be off; no limit where it is not public. What cannot be held is refused here, before anything is solved."""
    most = np.full(lattice.rows, FREE, np.int64)
    for row, distance in rows_held(held, lattice):
        most[row] = min(int(most[row]), distance)
    if (lattice.sensitive & (most < np.maximum(lattice.up, lattice.down))).any():
        raise InputError(
            "A public total is sensitive itself: it cannot be protected and held at once.",
            hint="Leave it out, or declare its respondents' consent by other rules.",
        )
    implied = told_together(most, lattice)
    if implied:
        raise InputError(
            f"Public totals, added and subtracted, tell {implied} cells that must be protected: they cannot be held all at once.",
            hint="Leave one of them out, such as the largest part of a total that is held too, or give them a distance (within).",
        )
    return most


def weighed(lattice: Lattice, most: IntArray) -> Lattice:
    """The lattice with public totals as dear as they must be for directions to cancel in them."""
    if (most >= FREE).all():
        return lattice
    return replace(lattice, weight=np.where(most < FREE, np.maximum(lattice.weight, TUNING.weight), lattice.weight))


def told_together(most: IntArray, lattice: Lattice) -> int:
    """How many sensitive rows are sums and differences of public totals, so that they cannot move by their level."""
    public = np.flatnonzero(most < FREE)
    if public.size < 2:
        return 0
    group, sizes, within = _groups(public, lattice)
    start, item = lattice.leaves_of
    found = 0
    for row in np.flatnonzero(lattice.sensitive):
        own = np.bincount(group[item[start[row] : start[row + 1]]], minlength=sizes.size)
        if own[~within.any(axis=1)].any() or ((own > 0) & (own != sizes)).any():
            continue
        share, *_ = np.linalg.lstsq(within.astype(float), (own > 0).astype(float), rcond=None)
        reached = np.abs(within @ share - (own > 0)).max(initial=0.0) < 1e-6
        found += bool(reached and np.abs(share) @ most[public] < min(lattice.up[row], lattice.down[row]))
    return found


def _groups(public: IntArray, lattice: Lattice) -> tuple[IntArray, IntArray, BoolArray]:
    """Leaf cells by the public totals that they are in: of each its group; of each group its size and its public totals."""
    marks = np.zeros((lattice.leaves, public.size), np.bool_)
    start, item = lattice.leaves_of
    for place, row in enumerate(public):
        marks[item[start[row] : start[row + 1]], place] = True
    packed = np.packbits(marks, axis=1)
    _, first, number, sizes = np.unique(packed, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return number.reshape(-1).astype(np.int64), sizes.astype(np.int64), marks[first]
