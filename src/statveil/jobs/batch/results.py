"""A table, protected or not, as the cells that tau-ARGUS files hold, and the files that WRITETABLE names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.formats.argus.batch_commands import WriteTable
from statveil.formats.argus.cells import Amounts, CellTable, Status
from statveil.formats.argus.outputs import Style, write_code_value, write_csv_grid, write_sbs
from statveil.formats.argus.tab import write_cells
from statveil.jobs.batch.tables import ReadyTable
from statveil.protect.build import build_problem, nearest
from statveil.protect.options import Options
from statveil.protect.system import write_jj
from statveil.publish.formats.frames import GridPositions, all_positions
from statveil.tables.table import ProtectedTable

PIVOT = 2


def cells_of(ready: ReadyTable, released: ProtectedTable | None = None, *, exact: bool = False, holdings: bool = True) -> CellTable:
    """Every position of the table. Values have the published decimals, or all they have (`exact`)."""
    table, positions = ready.table, all_positions(ready.table.views[0])
    unit = 1 if exact else 10 ** (table.scale - table.decimals)
    decimals = table.scale if exact else table.decimals
    empty = frozen_array(~positions.filled)
    value = Amounts(units=frozen_array(positions.pick(nearest(table.value, unit))), decimals=decimals, missing=empty)
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
        adjusted=None if released is None else _amounts(positions, released.value, released.decimals),
    )


def _amounts(positions: GridPositions, units: IntArray, decimals: int) -> Amounts:
    return Amounts.known(positions.pick(units), decimals)


def _statuses(ready: ReadyTable, released: ProtectedTable | None, positions: GridPositions) -> IntArray:
    """A safe cell that was adjusted is secondary, as tau-ARGUS has it."""
    status = ready.statuses
    if released is not None:
        unit = 10 ** (ready.table.scale - ready.table.decimals)
        changed = released.value * unit != ready.table.value
        status = np.where(changed & (status == Status.SAFE), int(Status.SECONDARY), status)
        status = np.where(changed & (status == Status.SAFE_MANUAL), int(Status.SECONDARY_MANUAL), status)
    return np.where(positions.filled, positions.pick(status), int(Status.EMPTY))


def write_result(command: WriteTable, ready: ReadyTable, released: ProtectedTable | None, path: Path, options: Options) -> None:
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
            write_cells(cells_of(ready, exact=True, holdings=given.get("HI", True)), path)
        case _:
            write_jj(build_problem(ready.table, ready.sensitivity, options), path, decimals=ready.table.decimals)
