"""What tau-ARGUS writes for others: code-value (and pivot), SBS, and CSV. The first two can be read back as lines.

A value is `x` where it is withheld and `-` where the cell is empty. With statuses, or in SBS, originals are shown: internal files.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from statveil.core.arrays import BoolArray, IntArray
from statveil.core.errors import InputError
from statveil.formats.argus.cells import ArgusStatus, CellTable, read_number
from statveil.formats.argus.lines import ArgusLine, fits_line, read_lines
from statveil.formats.argus.records import fields_of

SEPARATOR = ","
WITHHELD, EMPTY = "x", "-"


@dataclass(frozen=True, kw_only=True)
class CodeValue:
    """One line of a code-value file; `value` is None where the cell is empty or withheld."""

    codes: tuple[str, ...]
    value: Decimal | None
    withheld: bool = False
    original: Decimal | None = None
    status: ArgusStatus | None = None


@dataclass(frozen=True, kw_only=True)
class Style:
    """How to write: statuses (and originals), header, quotation marks around codes, and whether empty cells are left out."""

    statuses: bool = False
    header: bool = False
    quotes: bool = True
    skip_empty: bool = False


def write_code_value(cells: CellTable, path: str | Path, *, style: Style | None = None) -> None:
    """`codes,value[,status]`; after an adjustment `codes,adjusted[,original,status]`. Without statuses unsafe values are withheld."""
    style = style or Style()
    nothing = _nothing(cells, style)
    rows = [_code_value(cells, row, style, empty=bool(nothing[row])) for row in _rows(cells, style)]
    _write(path, [_header(cells, style), *rows] if style.header else rows)


def _rows(cells: CellTable, style: Style) -> list[int]:
    nothing = _nothing(cells, style)
    return [row for row in range(cells.size) if not (style.skip_empty and nothing[row])]


def _nothing(cells: CellTable, style: Style) -> BoolArray:
    """Empty cells. In a file for the public, an empty cell and a released zero look alike: who has nothing is not told."""
    if cells.adjusted is None or style.statuses:
        return cells.value.missing
    return np.asarray(cells.value.missing | (cells.adjusted.units == 0))


def _header(cells: CellTable, style: Style) -> list[str]:
    value = f"{cells.response}_{cells.adjusted_by}" if cells.adjusted else cells.response
    shown = [dimension.name for dimension in cells.dimensions] + [value]
    if style.statuses:
        shown += [f"{cells.response}_Orig", "Status"] if cells.adjusted else ["Status"]
    return [_quote(name) if style.quotes else name for name in shown]


def _code_value(cells: CellTable, row: int, style: Style, *, empty: bool) -> list[str]:
    status = ArgusStatus(int(cells.status[row]))
    original = _text(cells, row)
    fields = _codes(cells, row, quotes=style.quotes)
    if cells.adjusted is not None:
        adjusted = EMPTY if empty else cells.adjusted.text_at(row)
        return [*fields, adjusted, *([original, str(int(status))] if style.statuses else [])]
    hidden = (status.unsafe or status.secondary) and not style.statuses
    return [*fields, WITHHELD if hidden else original, *([str(int(status))] if style.statuses else [])]


def _text(cells: CellTable, row: int) -> str:
    return EMPTY if cells.value.missing[row] else cells.value.text_at(row)


def _codes(cells: CellTable, row: int, *, quotes: bool) -> list[str]:
    codes = cells.codes(row)
    for code in codes:
        if not fits_line(code) or '"' in code or (not quotes and SEPARATOR in code):
            raise InputError(f"A code-value file cannot hold the code {code!r}.", hint="Leave quotation marks and separators out of codes.")
    return [_quote(code) for code in codes] if quotes else list(codes)


def _quote(word: str) -> str:
    return f'"{word}"'


def _write(path: str | Path, rows: Sequence[Sequence[str]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(f"{SEPARATOR.join(row)}\n" for row in rows)


def read_code_value(path: str | Path, *, dimensions: int, header: bool = False) -> tuple[CodeValue, ...]:
    """Read a code-value file of so many dimensions, with or without statuses and originals."""
    lines = read_lines(Path(path))
    return tuple(_read(line, fields_of(line, SEPARATOR), dimensions) for line in lines[header:])


def has_value(line: ArgusLine) -> bool:
    """Whether a line holds a value: in the names of columns nothing is a number, withheld or empty."""
    return any(text.strip() in (WITHHELD, EMPTY) or _is_number(text) for text in fields_of(line, SEPARATOR)[1:])


def count_codes(path: Path, *, header: bool) -> int:
    """How many codes a line has: quotation marks stand around codes, and around nothing else."""
    lines = read_lines(path)[header:]
    counts = {len(re.match(r'((\s*"[^"]*",)*)', line.text)[0].split('",')) - 1 for line in lines}  # type: ignore[index]
    if len(counts) != 1 or counts == {0}:
        raise InputError(f"{path.name} does not show how many codes a line has.", hint="Name the dimensions: --dimensions region,trade.")
    return counts.pop()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d+([.,]\d+)?\s*", text) is not None


def _read(line: ArgusLine, fields: list[str], dimensions: int) -> CodeValue:
    after = [text.strip() for text in fields[dimensions:]]
    if not 1 <= len(after) <= 3:
        raise line.fault(f"a line has {dimensions} codes, then value, perhaps original, and perhaps status")
    withheld = after[0] == WITHHELD
    return CodeValue(
        codes=tuple(text.rstrip() for text in fields[:dimensions]),
        value=None if withheld else read_number(line, after[0], "value"),
        withheld=withheld,
        original=read_number(line, after[1], "original value") if len(after) == 3 else None,
        status=_status(line, after[-1]) if len(after) > 1 else None,
    )


def _status(line: ArgusLine, text: str) -> ArgusStatus:
    if not text.isdigit() or len(text) > 2 or not ArgusStatus.SAFE <= int(text) <= ArgusStatus.EMPTY:
        raise line.fault("the status must be a number from 1 to 14")
    return ArgusStatus(int(text))


def write_sbs(cells: CellTable, path: str | Path, *, levels: bool = False, quotes: bool = True, concentration: str = "F") -> None:
    """`codes,value,frequency,flag[,shares]`, empty cells left out.

    Flags: A frequency, B one dominates (also request, zero, manual), C two dominate, D secondary, V safe, F the p% or (p, q) rule.
    `concentration` is the flag of cells unsafe by a rule on contributions: F, B or C.
    """
    if concentration not in ("B", "C", "F"):
        raise InputError(f"Unknown flag {concentration!r}. Known: B, C, F.")
    if cells.frequency is None:
        raise InputError("SBS holds the frequency of every cell, and this table has none.", hint="Write code-value instead.")
    if cells.adjusted is not None:
        raise InputError("SBS has no place for adjusted values.", hint="Write code-value instead.")
    _write(path, [_sbs(cells, row, levels, quotes, concentration) for row in range(cells.size) if not cells.value.missing[row]])


def _sbs(cells: CellTable, row: int, levels: bool, quotes: bool, concentration: str) -> list[str]:
    fields = _codes(cells, row, quotes=quotes)
    if levels:
        depths = [
            dimension.trees[0].depth[dimension.codes[place]] if max(dimension.trees[0].depth.values()) > 1 else 0
            for dimension, place in zip(cells.dimensions, cells.coordinates[row].tolist(), strict=True)
        ]
        fields = [part for field, depth in zip(fields, depths, strict=True) for part in (field, str(depth))]
    frequency = int(cells.frequency[row]) if cells.frequency is not None else 0
    flag = _flag(ArgusStatus(int(cells.status[row])), concentration)
    return [*fields, _text(cells, row), str(frequency), flag, *_shares(cells, row, flag, concentration)]


def _flag(status: ArgusStatus, concentration: str) -> str:
    match status:
        case ArgusStatus.UNSAFE:
            return concentration
        case ArgusStatus.UNSAFE_FREQUENCY:
            return "A"
        case ArgusStatus.SECONDARY | ArgusStatus.SECONDARY_MANUAL:
            return "D"
        case _ if status.unsafe:
            return "B"
        case _:
            return "V"


def _shares(cells: CellTable, row: int, flag: str, concentration: str) -> list[str]:
    """Shares in percent of the largest contributors: the largest and the second for F, both together for C, the largest for B."""
    if flag not in ("B", "C", "F"):
        return []
    tops = [Decimal(int(top.units[row])).scaleb(-top.decimals) for top in cells.top[:2]] + [Decimal(0)] * (2 - len(cells.top[:2]))
    whole = cells.shadow or cells.value
    total = Decimal(int(whole.units[row])).scaleb(-whole.decimals)
    wanted = [tops[0], tops[1]] if concentration == "F" else [tops[0] + tops[1] if flag == "C" else tops[0]]
    return [f"{100 * part / total:.1f}" if total else "0.0" for part in wanted]


def write_csv_grid(cells: CellTable, path: str | Path, *, quotes: bool = True) -> None:
    """Rows and columns are the last two dimensions; the others give layers, each under its codes and closed by an empty line."""
    shape = [len(dimension.codes) for dimension in cells.dimensions]
    if math.prod(shape) != cells.size:
        raise InputError("A CSV grid needs every cell of the table.", hint="Write code-value instead.")
    order = np.lexsort(cells.coordinates.T[::-1])
    _write(path, list(_grid_lines(cells, order, shape, quotes)))


def _grid_lines(cells: CellTable, order: IntArray, shape: list[int], quotes: bool) -> Iterator[list[str]]:
    names = [[_quote(code) if quotes else code for code in dimension.codes] for dimension in cells.dimensions]
    columns = names[-1]
    rows = names[-2] if len(names) > 1 else [""]
    nothing, shown = _nothing(cells, Style()), iter(order.tolist())
    for layer in itertools.product(*names[:-2]):
        if layer:
            yield list(layer)
        yield ["", *columns]
        for row in rows:
            line = [next(shown) for _ in columns]
            yield [row, *(_code_value(cells, each, Style(), empty=bool(nothing[each]))[len(shape)] for each in line)]
        yield [""]
