"""`tabulate`: from records to a table with everything that the rules ask about its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import InputError
from statveil.data.engines import Session
from statveil.data.microdata import Microdata
from statveil.data.queries.tabulation import refuse_large_sums
from statveil.tables.coding import CodedLayout, TableUnits, find_dimensions, finest_measure, keep_coded, settle_units
from statveil.tables.columns import CheckedColumns, check_columns
from statveil.tables.linked import (
    CellSet,
    Equation,
    Response,
    check_equations,
    check_responses,
    check_sets,
    equation_rows,
    leaves_inside,
    member_keys,
    responses_of,
)
from statveil.tables.positions import Grid, PositionSums, check_structural, join_positions, merge_equal, structural_positions
from statveil.tables.rollup import (
    Level,
    Ranking,
    are_listed,
    contribution_parts,
    find_leaders,
    joined_levels,
    levels_above,
    rank_parts,
    read_leaves,
)
from statveil.tables.spec import TableSpec
from statveil.tables.table import Table, UnionCell, View

_SPECS = "Give one TableSpec, or a list of them for linked tables."
_SHARED_BY_LINKED = ("weight", "weight_policy", "holding", "request", "waiver", "decimals", "weight_decimals")


def tabulate(
    data: Microdata,
    specs: TableSpec | Sequence[TableSpec],
    *,
    top: int = 3,
    equations: Sequence[Equation] = (),
    sets: Sequence[CellSet] = (),
    leaders: bool = False,
) -> Table:
    """The table, or several linked tables, that the records add up to.

    data: the records. specs: one or several; linked tables share weight, holding and the like, and positions that aggregate the same
        records of the same measure are one cell.
    top: the number of largest contributions kept per cell: as many as the strictest rule looks at. leaders: keep which holdings give
        the largest.
    equations: hold between measures. sets: of cells become cells of their own, shown nowhere, or the cell that has the same records.

    >>> import pyarrow as pa, statveil as sv
    >>> firms = sv.read_microdata(pa.table({"region": ["A", "B", "B"], "turnover": [12, 10, 20]}))
    >>> tabulate(firms, TableSpec(dimensions={"region": None}, measure="turnover")).value.tolist()
    [42, 12, 30]
    """
    specs = _linked(listed_specs(specs))
    responses = responses_of(specs)
    equations, sets_of = check_equations(equations, specs), check_sets(sets, specs)
    if top < 1:
        raise InputError("top must be at least 1.")
    if leaders and specs[0].holding is None:
        raise InputError("leaders are holdings, and no holding is given.", hint="Give the tables a holding column.")
    spec = specs[0]
    with data.engine.session() as session:
        columns = check_columns(session, data, specs)
        units = settle_units(spec, responses, columns)
        grids = [Grid(dimensions=find_dimensions(session, data, each, columns.records)) for each in specs]
        listed = all(are_listed(session, grid) for grid in grids)
        layout = CodedLayout(grids=grids, responses=responses, units=units)
        keep_coded(session, data, spec, columns, layout=layout, read_once=listed and len(specs) == 1 and spec.holding is None)
        if not listed:
            refuse_large_sums(session, len(responses))
        tables = [
            _tabulated(
                session,
                _TableResponse(index, responses.index(Response(each.measure, each.shadow)), len(specs)),
                each,
                grid,
                sets_of[index],
                units=units,
                top=top,
                leaders=leaders,
            )
            for index, (each, grid) in enumerate(zip(specs, grids, strict=True))
        ]
    return _assemble(specs, grids, tables, units, columns, equations)


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
    check_responses(specs)
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise InputError("Two linked tables have the same name.", hint="Give each TableSpec a name of its own.")
    return specs


class _TableResponse(NamedTuple):
    """Numbers of a table and of its response, and how many tables there are."""

    table: int
    response: int
    tables: int


@dataclass(frozen=True, kw_only=True)
class _Tabulated:
    """One table: its positions, its sets of cells with the position that each makes, and its leaders by key."""

    positions: PositionSums
    sets: Sequence[CellSet]
    unions: Sequence[PositionSums]
    leaders: IntArray | None
    response: int


def _tabulated(
    session: Session,
    place: _TableResponse,
    spec: TableSpec,
    grid: Grid,
    sets: Sequence[CellSet],
    *,
    units: TableUnits,
    top: int,
    leaders: bool,
) -> _Tabulated:
    wanted = Ranking(
        table=place.table,
        response=place.response,
        top=top,
        units=units,
        holdings=spec.holding is not None,
        flags=bool(spec.waiver or spec.request),
        plain=spec.weight is None and spec.shadow is None,
    )
    leaves = read_leaves(session, grid, wanted, place.tables)
    grid.check_size(leaves.cells.key.size)
    coordinates = grid.coordinates(leaves.cells.key)
    check_structural(spec, grid, coordinates, leaves.cells.records)
    levels = levels_above(grid, leaves, wanted)
    unions = [Level.above(leaves, np.where(leaves_inside(grid, each, coordinates), 0, -1), wanted) for each in sets]
    if wanted.holdings:
        rank_parts([*levels, *unions], contribution_parts(session, wanted, leaves.cells))
    return _Tabulated(
        positions=joined_levels(levels, wanted),
        sets=sets,
        unions=[union.sums(wanted) for union in unions],
        leaders=find_leaders(levels, contribution_parts(session, wanted, leaves.cells)) if leaders else None,
        response=place.response,
    )


def _assemble(
    specs: Sequence[TableSpec],
    grids: Sequence[Grid],
    tables: Sequence[_Tabulated],
    units: TableUnits,
    columns: CheckedColumns,
    equations: Sequence[Equation],
) -> Table:
    """One table of distinct cells: those of the views first, then the unions that no view shows."""
    blocks = [(table.positions, table.response) for table in tables]
    blocks += [(union, table.response) for table in tables for union in table.unions]
    everything = join_positions([positions for positions, _ in blocks])
    response = np.repeat([response for _, response in blocks], [positions.key.size for positions, _ in blocks]).astype(np.int64)
    cell, firsts = merge_equal(everything, response)
    cells = everything if firsts.size == cell.size else everything.take(firsts)
    spec, responses = specs[0], responses_of(specs)
    views = tuple(_views(specs, grids, tables, cell))
    shown = np.arange(max(int(view.cell.max(initial=-1)) for view in views) + 1)
    measure_decimals = finest_measure(responses, columns)
    return Table(
        views=views,
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
        leader=frozen_array(cells.leader),
        equations=tuple(equation_rows(each, cells.take(shown), response[firsts][shown], responses) for each in equations),
        unions=tuple(_unions(grids, tables, views, cell)),
        leaders=_leaders(tables, views),
    )


def _views(specs: Sequence[TableSpec], grids: Sequence[Grid], tables: Sequence[_Tabulated], cell: IntArray) -> Iterator[View]:
    sizes = [table.positions.key.size for table in tables]
    for spec, grid, table, size, end in zip(specs, grids, tables, sizes, np.cumsum(sizes), strict=True):
        yield View(
            name=spec.name,
            dimensions=grid.dimensions,
            coordinates=frozen_array(grid.coordinates(table.positions.key)),
            cell=frozen_array(cell[end - size : end]),
            structural=frozen_array(structural_positions(spec, grid)),
        )


def _unions(grids: Sequence[Grid], tables: Sequence[_Tabulated], views: Sequence[View], cell: IntArray) -> Iterator[UnionCell]:
    """Each set with its own cell and its members' cells; the unions come after the positions of all views, in order."""
    number = sum(table.positions.key.size for table in tables)
    for grid, table, view in zip(grids, tables, views, strict=True):
        for asked in table.sets:
            members = view.cell[np.searchsorted(table.positions.key, member_keys(grid, asked))]
            words = asked.words if len(views) == 1 else f"{asked.words} of {view.name}"
            yield UnionCell(words=words, cell=int(cell[number]), members=frozen_array(members), level=asked.level)
            number += 1


def _leaders(tables: Sequence[_Tabulated], views: Sequence[View]) -> IntArray | None:
    found = [
        np.stack([view.cell[np.searchsorted(table.positions.key, table.leaders[:, 0])], table.leaders[:, 1]], axis=1)
        for table, view in zip(tables, views, strict=True)
        if table.leaders is not None
    ]
    return frozen_array(np.unique(np.concatenate(found), axis=0)) if found else None
