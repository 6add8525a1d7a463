"""Pairs of cells of one table of which one holds all records of the other and a few more, found by their places in the trees."""

from __future__ import annotations

from itertools import product

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.tables.levels import Grid, ancestor_levels
from statveil.tables.spec import Dimension
from statveil.tables.table import View


def nested_pairs(view: View, records: IntArray, wanted: BoolArray, *, reach: int) -> tuple[IntArray, IntArray]:
    """Smaller and larger cells, both wanted, that differ by up to `reach` records, each pair once; all nested pairs are among them.

    Where one cell holds the other, the codes of both share leaves on every axis. Where the larger cell's code lies inside the smaller
    one's, the smaller cell also stands at that code, for no record of it is elsewhere. So codes that do not lie inside are enough.
    """
    grid = Grid(dimensions=view.dimensions)
    cell_at = np.full(int(np.prod(grid.shape)), -1, dtype=np.int64)
    cell_at[grid.keys(view.coordinates)] = view.cell
    kept = wanted[view.cell]
    coordinates, cell = view.coordinates[kept], view.cell[kept]
    others = [list(_not_inside(dimension)[:, coordinates[:, axis]]) for axis, dimension in enumerate(view.dimensions)]
    found = [np.zeros((0, 2), dtype=np.int64)]
    for chosen in product(*others):
        there = np.logical_and.reduce([codes >= 0 for codes in chosen])
        keys = sum(
            (codes[there] * stride for codes, stride in zip(chosen, grid.strides, strict=True)), np.zeros(int(there.sum()), np.int64)
        )
        larger, smaller = cell_at[keys], cell[there]
        more = np.where(larger >= 0, records[larger] - records[smaller], 0)
        near = (more > 0) & (more <= reach) & wanted[larger]
        found.append(np.stack([smaller[near], larger[near]], axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _not_inside(dimension: Dimension) -> IntArray:
    """Column by code, the codes that share leaves with it and do not lie inside it, itself among them; -1 where there are no more."""
    size = len(dimension.codes)
    leaves = np.array([dimension.position[code] for code in dimension.trees[0].leaves], dtype=np.int64)
    levels = [level[leaves] for level in ancestor_levels(dimension)]
    shared: list[IntArray] = [(one * size + other)[(one >= 0) & (other >= 0)] for one, other in product(levels, levels)]
    pairs, count = np.unique(np.concatenate(shared), return_counts=True)
    code, other = pairs // size, pairs % size
    leaves_of = np.zeros(size, dtype=np.int64)
    leaves_of[code[code == other]] = count[code == other]
    kept = (count < leaves_of[other]) | (leaves_of[other] == leaves_of[code])
    code, other = code[kept], other[kept]
    rank = np.arange(code.size) - np.searchsorted(code, code)
    found = np.full((int(rank.max(initial=0)) + 1, size), -1, dtype=np.int64)
    found[rank, code] = other
    return found
