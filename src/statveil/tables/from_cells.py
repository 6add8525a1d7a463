"""A table from ready cells, when there are no records: for linear examples and tables made elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import HierarchyError, InputError, TableNotAdditive
from statveil.data.hierarchy import Hierarchy
from statveil.data.queries.tabulation import LARGEST_SUM
from statveil.tables.coding import TableUnits
from statveil.tables.positions import Grid, PositionSums, merge_equal
from statveil.tables.rollup import LeafCells, Level, Ranking, joined_levels, levels_above, random_prints
from statveil.tables.spec import Dimension
from statveil.tables.table import Table, View

Number = int | str | Decimal
UNKNOWN = -1


def table_from_cells(
    dimensions: Mapping[str, Hierarchy | Sequence[Hierarchy]],
    cells: Mapping[tuple[str, ...], Number],
    *,
    decimals: int = 0,
    name: str = "table",
    non_additive: bool = False,
) -> Table:
    """A table from its inner cells, with or without its margins; margins that are given must be exact sums.

    dimensions: the tree of each. decimals, name: of the table.
    `non_additive` takes margins as they are given: what the table lacks is then brought by its adjustment (A z = b - A a).

    `cells` maps codes, in the order of the dimensions, to numbers as printed: 12, "12.5" or a Decimal, never a float. Cells left out are
    empty. Nothing is known of respondents: `records`, `respondents` and `frequency` are -1, and rules that ask for them must refuse.

    >>> cells = {("A",): 12, ("B",): 30}
    >>> table_from_cells({"region": Hierarchy.flat(["A", "B"])}, cells).value.tolist()
    [42, 12, 30]
    """
    grid = Grid(dimensions=tuple(_dimension(axis, trees) for axis, trees in dimensions.items()))
    given = {_key(grid, codes): _units(codes, number, decimals) for codes, number in cells.items()}
    leaves = _leaf_cells(grid, given)
    units = TableUnits(measure_decimals=decimals, rule_decimals=decimals, weight_decimals=0, repeats=False)
    nobody = Ranking(table=0, response=0, top=3, units=units, holdings=False, flags=False)
    positions = joined_levels(levels_above(grid, Level.of_leaves(leaves, nobody), nobody), nobody)
    if non_additive:
        positions = replace(positions, value=_as_given(grid, given, positions))
    else:
        _check_sums(grid, given, positions)
    cell, firsts = merge_equal(positions, positions.value)
    view = View(
        name=name,
        dimensions=grid.dimensions,
        coordinates=frozen_array(grid.coordinates(positions.key)),
        cell=frozen_array(cell),
        structural=frozen_array(np.zeros((0, len(grid.shape)), np.int64)),
    )
    return _without_respondents(view, positions.value[firsts], decimals, _hash(cells, decimals))


def _without_respondents(view: View, value: IntArray, decimals: int, input_hash: str) -> Table:
    unknown = frozen_array(np.full(value.size, UNKNOWN, np.int64))
    return Table(
        views=(view,),
        value=frozen_array(value),
        scale=decimals,
        decimals=decimals,
        records=unknown,
        respondents=unknown,
        frequency=unknown,
        frequency_scale=0,
        magnitude=frozen_array(np.abs(value)),
        top=frozen_array(np.zeros((value.size, 3), np.int64)),
        largest_unwaived=frozen_array(np.zeros(value.size, np.int64)),
        largest_requested=unknown,
        rule_scale=decimals,
        has_shadow=False,
        input_hash=input_hash,
    )


def _dimension(name: str, trees: Hierarchy | Sequence[Hierarchy]) -> Dimension:
    return Dimension(name=name, trees=(trees,) if isinstance(trees, Hierarchy) else tuple(trees))


def _key(grid: Grid, codes: tuple[str, ...]) -> int:
    if len(codes) != len(grid.dimensions):
        raise InputError(f"Cell {codes!r} has {len(codes)} codes, but the table has {len(grid.dimensions)} dimensions.")
    for dimension, code in zip(grid.dimensions, codes, strict=True):
        if code not in dimension.position:
            raise HierarchyError(f"Cell {codes!r}: dimension {dimension.name!r} has no code {code!r}.", hint="Codes are compared as text.")
    places = [dimension.position[code] for dimension, code in zip(grid.dimensions, codes, strict=True)]
    return int(np.dot(places, grid.strides))


def _units(codes: tuple[str, ...], number: Number, decimals: int) -> int:
    if isinstance(number, float):
        raise InputError(f"Cell {codes!r} is a float, which cannot be exact.", hint="Give an int, a Decimal or text.")
    try:
        units = Decimal(number).scaleb(decimals)
        whole = int(units)
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise InputError(f"Cell {codes!r} is not a number.") from None
    if whole != units:
        raise InputError(
            f"Cell {codes!r} has more than {decimals} decimals.", hint="Raise decimals, or round the cells so that they still add up."
        )
    return whole


def _leaf_cells(grid: Grid, given: Mapping[int, int]) -> LeafCells:
    keys = np.array(sorted(given), dtype=np.int64)
    coordinates = grid.coordinates(keys)
    inner = [np.isin(coordinates[:, axis], _leaf_positions(dimension)) for axis, dimension in enumerate(grid.dimensions)]
    key = keys[np.logical_and.reduce(inner)]
    value = [given[each] for each in key.tolist()]
    if sum(abs(each) for each in value) >= LARGEST_SUM:
        raise InputError("The cells are too large to be added up exactly.", hint="Use fewer decimals or larger units.")
    nothing, one = np.zeros(key.size, np.int64), np.ones(key.size, np.int64)
    return LeafCells(key=key, records=one, value=np.array(value, np.int64), weight=nothing, mass=nothing, **random_prints(key.size))


def _leaf_positions(dimension: Dimension) -> list[int]:
    return [dimension.position[code] for code in dimension.trees[0].leaves]


def _as_given(grid: Grid, given: Mapping[int, int], positions: PositionSums) -> IntArray:
    """The numbers given; a total that is not given is the sum of its inner cells."""
    lost = sorted({key for key, value in given.items() if value} - set(positions.key.tolist()))
    if lost:
        raise TableNotAdditive(
            f"Cell {tuple(_codes(grid, lost)[0])!r} has a value, but no inner cell; so have {len(lost)} in all.",
            hint="Give the inner cells as well.",
        )
    return np.array([given.get(key, value) for key, value in zip(positions.key.tolist(), positions.value.tolist(), strict=True)], np.int64)


def _codes(grid: Grid, keys: Sequence[int]) -> list[list[str]]:
    return [
        [dimension.codes[place] for dimension, place in zip(grid.dimensions, places, strict=True)]
        for places in grid.coordinates(np.array(keys, dtype=np.int64)).tolist()
    ]


def _check_sums(grid: Grid, given: Mapping[int, int], positions: PositionSums) -> None:
    """Name the lowest total that is not the sum of its parts: all the parts below it are right."""
    summed = dict(zip(positions.key.tolist(), zip(positions.value.tolist(), positions.records.tolist(), strict=True), strict=True))
    off = {key: (value - summed.get(key, (0, 0))[0], summed.get(key, (0, 0))[1]) for key, value in given.items()}
    broken = sorted(key for key, (difference, _) in off.items() if difference)
    if not broken:
        return
    codes = _codes(grid, broken)
    lowest = max(codes, key=lambda each: sum(_depth(dimension, code) for dimension, code in zip(grid.dimensions, each, strict=True)))
    axis = next(dimension.name for dimension, code in zip(grid.dimensions, lowest, strict=True) if code not in dimension.trees[0].leaves)
    raise TableNotAdditive(
        f"Cell {tuple(lowest)!r} is not the sum of its parts along {axis!r}; {len(broken)} totals do not add up.",
        hint=f"{_by_rounding([off[key] for key in broken])} Mend the cells, or give the inner cells only and let the totals be added up.",
    )


def _by_rounding(off: Sequence[tuple[int, int]]) -> str:
    """Whether rounding explains differences: half a unit for the total and for each inner cell below it."""
    real = sum(2 * abs(difference) > inner + 1 for difference, inner in off)
    if not real:
        return "All differences are small enough to come from rounding."
    return f"Rounding does not explain {real} of them."


def _depth(dimension: Dimension, code: str) -> int:
    return next(tree.depth[code] for tree in dimension.trees if code in tree.depth)


def _hash(cells: Mapping[tuple[str, ...], Number], decimals: int) -> str:
    listed = sorted([*codes, str(number)] for codes, number in cells.items())
    return hashlib.sha256(json.dumps([decimals, listed]).encode()).hexdigest()
