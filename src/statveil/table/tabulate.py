"""`tabulate`: from records to a table with everything that the rules ask about its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from statveil.arrays import IntArray, frozen_array
from statveil.data.engines import Session
from statveil.data.microdata import Microdata
from statveil.errors import InputError
from statveil.table.cells import Positions, join_positions, merge_equal
from statveil.table.coding import Units, find_dimensions, keep_coded, settle_units
from statveil.table.columns import CheckedColumns, check_columns
from statveil.table.levels import Grid
from statveil.table.rollup import read_contributions, read_leaf_cells, roll_up
from statveil.table.spec import TableSpec
from statveil.table.structural import check_structural, structural_positions
from statveil.table.table import Table, View

_SPECS = "Give one TableSpec, or a list of them for linked tables."
_SHARED_BY_LINKED = ("measure", "weight", "weight_policy", "holding", "shadow", "request", "waiver", "decimals", "weight_decimals")


def tabulate(data: Microdata, specs: TableSpec | Sequence[TableSpec], *, top: int = 3) -> Table:
    """The table, or several linked tables, that the records add up to.

    Linked tables share measure, weight, holding and the like; positions that aggregate the same records are one cell.
    `top` is the number of largest contributions kept per cell: as many as the strictest rule looks at.
    """
    specs = _linked(listed_specs(specs))
    if top < 1:
        raise InputError("top must be at least 1.")
    spec = specs[0]
    with data.engine.session() as session:
        columns = check_columns(session, data, specs)
        units = settle_units(spec, columns)
        grids = [Grid(dimensions=find_dimensions(session, data, each, columns.records)) for each in specs]
        keep_coded(session, data, spec, columns, units=units, grids=grids)
        tables = [
            _positions(session, index, each, grid, units=units, top=top)
            for index, (each, grid) in enumerate(zip(specs, grids, strict=True))
        ]
    return _assemble(specs, grids, tables, units, columns)


def listed_specs(specs: object) -> list[TableSpec]:
    """One spec or several as a list; anything else is refused."""
    if isinstance(specs, TableSpec):
        return [specs]
    if isinstance(specs, Mapping | str) or not isinstance(specs, Sequence):
        raise InputError(f"A table is asked for by a TableSpec, not by {type(specs).__name__}.", hint=_SPECS)
    strangers = [each for each in specs if not isinstance(each, TableSpec)]
    if strangers:
        raise InputError(f"Among the specs of linked tables is {type(strangers[0]).__name__}.", hint=_SPECS)
    return list(specs)


def _linked(specs: Sequence[TableSpec]) -> Sequence[TableSpec]:
    if not specs:
        raise InputError("There is no table to build.", hint="Give one TableSpec or several.")
    for other in specs[1:]:
        for name in _SHARED_BY_LINKED:
            mine, its = getattr(specs[0], name), getattr(other, name)
            if mine != its:
                raise InputError(
                    f"Linked tables differ in {name}: {specs[0].name!r} has {mine!r}, {other.name!r} has {its!r}.",
                    hint="Give them the same, or protect them apart if they share no cell.",
                )
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InputError("Two linked tables have the same name.", hint="Give each TableSpec a name of its own.")
    return specs


def _positions(session: Session, index: int, spec: TableSpec, grid: Grid, *, units: Units, top: int) -> Positions:
    leaves = read_leaf_cells(session, index)
    grid.check_size(leaves.key.size)
    check_structural(spec, grid, grid.coordinates(leaves.key), leaves.records)
    contributions = read_contributions(session, index, leaves, spec, units)
    return roll_up(grid, leaves, contributions, top=top, units=units)


def _assemble(
    specs: Sequence[TableSpec], grids: Sequence[Grid], tables: Sequence[Positions], units: Units, columns: CheckedColumns
) -> Table:
    everything = join_positions(tables)
    cell, firsts = merge_equal(everything)
    cells = everything.take(firsts)
    spec = specs[0]
    measure_decimals = columns.measure.decimals if columns.measure else 0
    return Table(
        views=tuple(_views(specs, grids, tables, cell)),
        value=frozen_array(cells.value),
        scale=units.scale,
        decimals=measure_decimals if spec.decimals is None else spec.decimals,
        records=frozen_array(cells.records),
        respondents=frozen_array(cells.respondents),
        frequency=frozen_array(cells.weight if units.repeats else cells.respondents),
        frequency_scale=units.weight_decimals if units.repeats else 0,
        magnitude=frozen_array(cells.magnitude),
        top=frozen_array(cells.top),
        largest_unwaived=frozen_array(cells.unwaived),
        largest_requested=frozen_array(cells.requested),
        rule_scale=units.rule_scale,
        has_shadow=spec.shadow is not None,
        input_hash=columns.input_hash,
    )


def _views(specs: Sequence[TableSpec], grids: Sequence[Grid], tables: Sequence[Positions], cell: IntArray) -> Iterator[View]:
    ends = np.cumsum([table.key.size for table in tables])
    for spec, grid, table, end in zip(specs, grids, tables, ends, strict=True):
        yield View(
            name=spec.name,
            dimensions=grid.dimensions,
            coordinates=frozen_array(grid.coordinates(table.key)),
            cell=frozen_array(cell[end - table.key.size : end]),
            structural=frozen_array(structural_positions(spec, grid)),
        )
