"""A-priori lists from a CSV file: a column per dimension, then what the office says about the cell."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from statveil.errors import FormatError, RuleError
from statveil.risk.manual_cell import ManualCell

WORDS = ("status", "view")
NUMBERS = ("lower", "upper", "level", "cost", "minimum", "maximum")


def read_cells(path: Path) -> tuple[ManualCell, ...]:
    """One cell per line; a fault names its line. Semicolons separate where the header has more of them than commas;
    then a comma is a decimal comma."""
    text = _text(path)
    header_line = text.partition("\n")[0]
    separator = ";" if header_line.count(";") > header_line.count(",") else ","
    reader = csv.reader(text.splitlines(), delimiter=separator)
    header = next(reader, [])
    if not {*WORDS, *NUMBERS} & set(header):
        raise FormatError(f"{path.name} says nothing about its cells.", hint=f"Add a column among {', '.join((*WORDS, *NUMBERS))}.")
    return tuple(_cell(f"{path.name}, line {reader.line_num}", header, line, separator) for line in reader if line)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path.name} cannot be read as UTF-8 text ({type(error).__name__}).") from None


def _cell(place: str, header: list[str], line: list[str], separator: str) -> ManualCell:
    if len(line) != len(header):
        raise FormatError(f"{place}: {len(line)} fields where the header has {len(header)}.")
    given = {name: field for name, field in zip(header, line, strict=True) if field.strip()}
    labels = {name: field for name, field in given.items() if name not in (*WORDS, *NUMBERS)}
    said: dict[str, Any] = {name: given[name].strip() for name in WORDS if name in given}
    said |= {name: _decimal_point(given[name], separator) for name in NUMBERS if name in given}
    try:
        return ManualCell(cell=labels, **said)
    except RuleError as error:
        raise RuleError(f"{place}: {error.message}", hint=error.hint) from None


def _decimal_point(number: str, separator: str) -> str:
    return number.strip().replace(",", ".") if separator == ";" else number.strip()
