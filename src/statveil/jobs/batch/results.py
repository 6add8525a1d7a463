"""A table, protected or not, as the cells that tau-ARGUS files hold, and the files that WRITETABLE names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from statveil.core.arrays import AnyArray, IntArray, frozen_array
from statveil.core.errors import RuleError
from statveil.formats.argus.batch_commands import WriteTable
from statveil.formats.argus.cells import ArgusStatus, CellTable, ExactColumn
from statveil.formats.argus.outputs import Style, write_code_value, write_csv_grid, write_sbs
from statveil.formats.argus.tab import write_cells
from statveil.jobs.batch.tables import ReadyTable
from statveil.protect.build import build_problem, nearest
from statveil.protect.options import Options
from statveil.protect.system import system_of, write_jj
from statveil.publish.release import Release
from statveil.risk.sensitivity import UNBOUNDED, Sensitivity
from statveil.tables.shown.positions import GridPositions, all_positions
from statveil.tables.table import ProtectedTable, Table
from statveil.tables.tabulate import tabulate


def link(tables: Sequence[ReadyTable], *, suppressing: bool = False) -> tuple[Table, Sensitivity]:
    """The tables as one, with the strictest of what is said of each cell; a single table as it is."""
    first = tables[0]
    if len(tables) == 1 or first.records is None:
        return first.table, first.for_suppression if suppressing else first.sensitivity
    specs = [replace(each.spec, request=None, holding=None, shadow=None) for each in tables if each.spec]  # judged already, each by its own
    table = tabulate(first.records, specs, top=1)
    return table, _strictest(table, tables, suppressing=suppressing)


def parts_of(release: Release, tables: Sequence[ReadyTable]) -> list[ProtectedTable]:
    """The released numbers of each table, by its own cells."""
    found = []
    for view, ready in zip(release.protected.views, tables, strict=True):
        value = np.zeros(ready.table.size, dtype=np.int64)
        value[ready.table.views[0].cell] = release.protected.value[view.cell]
        found.append(ProtectedTable(views=ready.table.views, value=frozen_array(value), decimals=release.protected.decimals))
    return found


def _strictest(table: Table, tables: Sequence[ReadyTable], *, suppressing: bool) -> Sensitivity:
    joined = _Joined(table)
    for view, ready in zip(table.views, tables, strict=True):
        joined.add(view.cell, ready, ready.for_suppression if suppressing else ready.sensitivity)
    if (joined.sensitive & joined.frozen).any():
        raise RuleError("A cell is frozen in one table and sensitive in another.", hint="Declare it safe, or do not freeze it.")
    return Sensitivity(
        sensitive=frozen_array(joined.sensitive),
        lower_level=frozen_array(joined.lower_level),
        upper_level=frozen_array(joined.upper_level),
        frozen=frozen_array(joined.frozen),
        weight=frozen_array(joined.weight),
        minimum=frozen_array(np.full(table.size, -UNBOUNDED)),
        maximum=frozen_array(np.full(table.size, UNBOUNDED)),
        reasons={words: frozen_array(found) for words, found in joined.reasons.items()},
        spread=tuple(dict.fromkeys(each for ready in tables for each in ready.sensitivity.spread)),
    )


class _Joined:
    """What is said of the cells of linked tables, so far."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.sensitive, self.frozen = np.zeros(table.size, dtype=np.bool_), np.zeros(table.size, dtype=np.bool_)
        self.lower_level, self.upper_level = np.zeros(table.size, dtype=np.int64), np.zeros(table.size, dtype=np.int64)
        self.weight = np.full(table.size, np.nan)
        self.reasons: dict[str, AnyArray] = {}

    def add(self, cell: IntArray, ready: ReadyTable, here: Sensitivity) -> None:
        """A table whose positions stand for these cells; its amounts have decimals of their own."""
        own = ready.table.views[0].cell
        step = 10 ** (self.table.scale - ready.table.scale)
        for together, said in ((self.sensitive, here.sensitive), (self.frozen, here.frozen)):
            np.logical_or.at(together, cell, said[own])
        for level, asked in ((self.lower_level, here.lower_level), (self.upper_level, here.upper_level)):
            np.maximum.at(level, cell, asked[own] * step)
        self.weight[cell] = np.fmax(self.weight[cell], here.weight[own])
        for words, found in here.reasons.items():
            np.logical_or.at(self.reasons.setdefault(words, np.zeros(self.table.size, dtype=np.bool_)), cell, found[own])


PIVOT = 2


class BatchProtection(NamedTuple):
    """The numbers that take the place of a table's own, and the method that made them: CTA or RND."""

    table: ProtectedTable
    by: str


def cells_of(ready: ReadyTable, released: BatchProtection | None = None, *, exact: bool = False, holdings: bool = True) -> CellTable:
    """Every position of the table. Values have the published decimals, or all they have (`exact`)."""
    table, positions = ready.table, all_positions(ready.table.views[0])
    unit = 1 if exact else 10 ** (table.scale - table.decimals)
    decimals = table.scale if exact else table.decimals
    empty = frozen_array(~positions.filled)
    value = ExactColumn(units=frozen_array(positions.pick(nearest(table.value, unit))), decimals=decimals, missing=empty)
    counts = table.respondents if holdings else table.records
    return CellTable(
        response=ready.plan.spec.response.strip("<>"),
        dimensions=table.views[0].dimensions,
        coordinates=frozen_array(positions.coordinates),
        value=value,
        status=frozen_array(_statuses(ready, released, positions)),
        frequency=None if (counts < 0).any() else frozen_array(positions.pick(counts)),
        shadow=_amounts(positions, table.magnitude, table.rule_scale) if exact else None,
        top=tuple(_amounts(positions, table.top[:, place], table.rule_scale) for place in range(table.top.shape[1])),
        lower=_amounts(positions, ready.sensitivity.lower_level, table.scale),
        upper=_amounts(positions, ready.sensitivity.upper_level, table.scale),
        adjusted=None if released is None else _amounts(positions, released.table.value, released.table.decimals),
        adjusted_by=released.by if released else "",
    )


def _statuses_only(cells: CellTable) -> CellTable:
    return replace(cells, frequency=None, shadow=None, cost=None, top=(), lower=None, upper=None)


def _amounts(positions: GridPositions, units: IntArray, decimals: int) -> ExactColumn:
    return ExactColumn.known(positions.pick(units), decimals)


def _statuses(ready: ReadyTable, released: BatchProtection | None, positions: GridPositions) -> IntArray:
    """A safe cell that was adjusted is secondary, as tau-ARGUS has it; rounding changes no status."""
    status = ready.statuses
    if released is not None and released.by == "CTA":
        unit = 10 ** (ready.table.scale - ready.table.decimals)
        changed = released.table.value * unit != ready.table.value
        status = np.where(changed & (status == ArgusStatus.SAFE), int(ArgusStatus.SECONDARY), status)
        status = np.where(changed & (status == ArgusStatus.SAFE_MANUAL), int(ArgusStatus.SECONDARY_MANUAL), status)
    return np.where(positions.filled, positions.pick(status), int(ArgusStatus.EMPTY))


def write_result(command: WriteTable, ready: ReadyTable, released: BatchProtection | None, path: Path, options: Options) -> None:
    """Write what a WRITETABLE command asks for."""
    given = command.options
    quotes = given.get("QU", True)
    style = Style(
        statuses=given.get("AS", False),
        header=given.get("FL", command.format == PIVOT),
        quotes=quotes,
        skip_empty=given.get("SE", False),
    )
    match command.format:
        case 1:
            write_csv_grid(cells_of(ready, released), path, quotes=quotes)
        case 2 | 3:
            write_code_value(cells_of(ready, released), path, style=style)
        case 4:
            cells = cells_of(ready, exact=False)
            flag = ready.plan.rules.concentration_flag
            write_sbs(cells, path, levels=given.get("HL", False), quotes=quotes, concentration=flag)
        case 5:
            cells = cells_of(ready, exact=True, holdings=given.get("HI", True))
            write_cells(_statuses_only(cells) if given.get("SO") else cells, path)
        case _:
            system = system_of(build_problem(ready.table, ready.sensitivity, options), decimals=ready.table.decimals)
            status = system.status if ready.secondary is None else np.where(ready.secondary, "m", system.status)
            write_jj(replace(system, status=status), path)
