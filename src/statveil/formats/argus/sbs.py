"""SBS files read back: `codes[,level after each],value,frequency,flag[,shares]`, as tau-ARGUS and we write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from statveil.core.arrays import IntArray, frozen_array
from statveil.core.errors import FormatError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.cells import ArgusStatus, CellTable, amounts, read_count, read_number
from statveil.formats.argus.lines import ArgusLine, read_lines
from statveil.formats.argus.outputs import SEPARATOR
from statveil.formats.argus.records import fields_of
from statveil.tables.spec import Dimension

FLAGS = {
    "V": ArgusStatus.SAFE,
    "A": ArgusStatus.UNSAFE_FREQUENCY,
    "B": ArgusStatus.UNSAFE,
    "C": ArgusStatus.UNSAFE,
    "F": ArgusStatus.UNSAFE,
    "D": ArgusStatus.SECONDARY,
    "-": ArgusStatus.EMPTY,
}
_DEEPEST = 10


def read_sbs(path: str | Path) -> CellTable:
    """The cells of an SBS file. Trees are told by its levels (HL+); without levels every code stands right below the total."""
    path = Path(path)
    lines = read_lines(path)
    if not lines:
        raise FormatError(f"{path.name}, line 1: the table has no cells.", hint="Is it cut off?")
    rows = [[field.strip() if at else field.rstrip() for at, field in enumerate(fields_of(line, SEPARATOR))] for line in lines]
    flag = _flag_place(lines, rows)
    levels = _has_levels(rows, flag)
    step = 2 if levels else 1
    dimensions = tuple(_dimension(lines, rows, place, place // step + 1, levels=levels) for place in range(0, flag - 2, step))
    places = [[each.position[row[at * step]] for at, each in enumerate(dimensions)] for row in rows]
    value = amounts(lines, [read_number(line, row[flag - 2], "value") for line, row in zip(lines, rows, strict=True)], "value")
    counts = [read_count(line, row[flag - 1], "frequency") or 0 for line, row in zip(lines, rows, strict=True)]
    return CellTable(
        response="value",
        dimensions=dimensions,
        coordinates=frozen_array(_once(lines, np.array(places, dtype=np.int64))),
        value=value,
        status=frozen_array(np.array([int(FLAGS[row[flag]]) for row in rows], dtype=np.int64)),
        frequency=frozen_array(np.array(counts, dtype=np.int64)),
    )


def _flag_place(lines: Sequence[ArgusLine], rows: Sequence[Sequence[str]]) -> int:
    """Where the flag stands: in the same place on every line, with a value and a frequency before it and two shares at most behind."""
    for place in range(3, max(len(row) for row in rows)):
        if all(place < len(row) <= place + 3 and row[place] in FLAGS for row in rows):
            return place
    wrong = next((line for line, row in zip(lines, rows, strict=True) if len(row) < 4 or not set(row[3:]) & set(FLAGS)), lines[0])
    raise wrong.fault("a line reads: codes, value, frequency, flag, shares", hint=f"Flags: {', '.join(FLAGS)}.")


def _has_levels(rows: Sequence[Sequence[str]], flag: int) -> bool:
    """Whether a level stands after each code: then the first line, the grand total, has zeros there."""
    places = range(1, flag - 2, 2)
    if (flag - 2) % 2 or any(rows[0][place] != "0" for place in places):
        return False
    return all(row[place].isdigit() and int(row[place]) <= _DEEPEST for row in rows for place in places)


def _dimension(lines: Sequence[ArgusLine], rows: Sequence[Sequence[str]], place: int, number: int, *, levels: bool) -> Dimension:
    """Codes in the order of the file, each below the last one of the level above; the first is the total."""
    parent: dict[str, str] = {}
    above: list[str] = [rows[0][place]]
    for line, row in zip(lines, rows, strict=True):
        code = row[place]
        if code in parent or code == above[0]:
            continue
        depth = max(int(row[place + 1]), 1) if levels else 1
        if depth > len(above):
            raise line.fault(f"code {code[:40]!r} is {depth} levels deep, but the code above it is {len(above) - 1}")
        parent[code] = above[depth - 1]
        above = [*above[:depth], code]
    if not parent:
        raise lines[0].fault(f"dimension {number} has one code only")
    return Dimension(name=f"dimension_{number}", trees=(Hierarchy(parent=parent, total=above[0]),))


def _once(lines: Sequence[ArgusLine], places: IntArray) -> IntArray:
    seen: dict[tuple[int, ...], int] = {}
    for line, place in zip(lines, places.tolist(), strict=True):
        if seen.setdefault(tuple(place), line.number) != line.number:
            raise line.fault(f"the cell is there already, on line {seen[tuple(place)]}")
    return places
