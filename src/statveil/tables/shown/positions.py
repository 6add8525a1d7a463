"""The positions of a view as its reader sees them: every combination of codes, empty ones too, or those that may be listed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.tables.table import View

EMPTY = -1
STRUCTURAL = -2
LARGEST_GRID = 2_000_000


@dataclass(frozen=True, kw_only=True)
class GridPositions:
    """`cell[i]` is the cell at `coordinates[i]`, EMPTY where no record falls, STRUCTURAL where none can."""

    coordinates: IntArray
    cell: IntArray
    is_grid: bool
    """Every combination of codes is there, in lexicographic order."""

    @property
    def filled(self) -> BoolArray:
        return np.greater_equal(self.cell, 0)

    @property
    def structural(self) -> BoolArray:
        return np.equal(self.cell, STRUCTURAL)

    def pick(self, values: IntArray) -> IntArray:
        """The value of the cell at each position, zero where there is none."""
        picked = np.zeros(self.cell.size, dtype=np.int64)
        picked[self.filled] = values[self.cell[self.filled]]
        return picked


def shape_of(view: View) -> tuple[int, ...]:
    return tuple(len(dimension.codes) for dimension in view.dimensions)


def all_positions(view: View, *, largest_grid: int = LARGEST_GRID) -> GridPositions:
    """The whole grid if it is small enough, otherwise the positions that hold a record or are structural zeros."""
    return _grid(view) if math.prod(shape_of(view)) <= largest_grid else _listed(view)


def public_positions(view: View, released: IntArray, *, largest_grid: int = LARGEST_GRID) -> GridPositions:
    """As `all_positions`; of a table too large for that, what is not a released zero.

    An empty position and a released zero look alike, so the choice of positions tells no more than the released numbers do.
    """
    positions = all_positions(view, largest_grid=largest_grid)
    if positions.is_grid:
        return positions
    kept = positions.structural | (positions.pick(released) != 0)
    return GridPositions(coordinates=positions.coordinates[kept], cell=positions.cell[kept], is_grid=False)


def _grid(view: View) -> GridPositions:
    shape = shape_of(view)
    cell = np.full(math.prod(shape), EMPTY, dtype=np.int64)
    cell[_flat(structural_rows(view), shape)] = STRUCTURAL
    cell[_flat(view.coordinates, shape)] = view.cell
    coordinates = np.stack(np.unravel_index(np.arange(cell.size), shape), axis=1).astype(np.int64)
    return GridPositions(coordinates=coordinates, cell=cell, is_grid=True)


def _flat(coordinates: IntArray, shape: tuple[int, ...]) -> IntArray:
    columns = tuple(coordinates.reshape(-1, len(shape)).T)
    return np.asarray(np.ravel_multi_index(columns, shape), dtype=np.int64)


def _listed(view: View) -> GridPositions:
    structural = structural_rows(view)
    coordinates = np.concatenate([view.coordinates, structural])
    cell = np.concatenate([view.cell, np.full(len(structural), STRUCTURAL, dtype=np.int64)])
    order = np.lexsort(coordinates.T[::-1])
    return GridPositions(coordinates=coordinates[order], cell=cell[order], is_grid=False)


def structural_rows(view: View) -> IntArray:
    return view.structural.reshape(-1, len(view.dimensions))
