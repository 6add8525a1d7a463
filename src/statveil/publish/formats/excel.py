"""Workbooks, by xlsxwriter. Text is written as text, so no label can become a formula."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from statveil.core.errors import BackendMissing
from statveil.publish.formats.frames import Column, Number, Text
from statveil.publish.formats.numbers import grouped

ROWS_PER_SHEET = 1_000_000
EXACT_IN_EXCEL = 10**15
FIXED_DATE = datetime(2000, 1, 1)


def require() -> None:
    if find_spec("xlsxwriter") is None:
        raise BackendMissing("Excel files need xlsxwriter, which is not installed.", hint="Run: pip install 'statveil[excel]'")


def write_workbook(columns: list[Column], path: Path, name: str) -> None:
    """A table longer than a sheet goes on in further sheets."""
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"title": name, "created": FIXED_DATE})
    bold = book.add_format({"bold": True, "bottom": 1})
    formats = [book.add_format({"num_format": _number_format(column)}) if isinstance(column, Number) else None for column in columns]
    for number, (start, stop) in enumerate(_stretches(_length(columns)), start=1):
        sheet = book.add_worksheet(f"Table {number}")
        _write_sheet(sheet, columns, range(start, stop), bold, formats)
    book.close()


def _length(columns: list[Column]) -> int:
    first = columns[0]
    return int(first.index.size if isinstance(first, Text) else first.units.size)


def _stretches(rows: int) -> Iterator[tuple[int, int]]:
    for start in range(0, max(rows, 1), ROWS_PER_SHEET):
        yield start, min(rows, start + ROWS_PER_SHEET)


def _number_format(column: Number) -> str:
    return "#,##0" + ("." + "0" * column.decimals if column.decimals > 0 else "")


def _write_sheet(sheet: Any, columns: list[Column], rows: range, bold: Any, formats: list[Any]) -> None:
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, max(len(rows), 1), len(columns) - 1)
    for place, column in enumerate(columns):
        sheet.set_column(place, place, 24 if isinstance(column, Text) else 16)
        sheet.write_string(0, place, column.name, bold)
    for line, fields in enumerate(zip(*(_fields(column, rows) for column in columns), strict=True), start=1):
        for place, field in enumerate(fields):
            if isinstance(field, str):
                sheet.write_string(line, place, field)
            elif field is not None:
                sheet.write_number(line, place, field, formats[place])


def _fields(column: Column, rows: range) -> Iterator[str | float | None]:
    stretch = slice(rows.start, rows.stop)
    if isinstance(column, Text):
        return (column.words[place] for place in column.index[stretch].tolist())
    numbers = zip(column.units[stretch].tolist(), column.missing[stretch].tolist(), strict=True)
    return (None if missing else _number(units, column.decimals) for units, missing in numbers)


def _number(units: int, decimals: int) -> float | str:
    """A number of more digits than Excel keeps is written as text rather than rounded."""
    if abs(units) * 10 ** max(-decimals, 0) >= EXACT_IN_EXCEL:
        return grouped(units, decimals).replace(",", "")
    return units / 10**decimals if decimals > 0 else units * int(10**-decimals)
